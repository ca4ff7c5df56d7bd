"""What texts spell, cell by cell."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surelabel.data.text_values import MISSING, canonical, missing, parse_numbers, typed

NUMBERISH = st.text(st.sampled_from("0123456789.,+-eEinfINFatyNA \t"), max_size=8)
WORDS = st.sampled_from(
    [*MISSING, "None", "1", "-0", "1e5", "1e400", "007", "NAN", "nan(1)", "+-1"]
)


@settings(max_examples=300)
@given(st.lists(NUMBERISH | WORDS | st.floats().map(repr), min_size=1, max_size=12))
def test_a_cell_means_the_same_alone_and_among_others(texts):
    values, wrong = parse_numbers(pa.array(texts))
    for text, value, bad in zip(texts, values, wrong, strict=True):
        alone, alone_bad = parse_numbers(pa.array([text]))
        assert (bad, np.isnan(value)) == (alone_bad[0], np.isnan(alone[0]))
        if not np.isnan(value):
            assert value == alone[0] == float(text)
        assert not (bad and text.strip() in MISSING)


@settings(max_examples=100)
@given(st.floats(allow_nan=False))
def test_a_decimal_comma_is_a_decimal_comma(number):
    text = repr(number).replace(".", ",")
    values, wrong = parse_numbers(pa.array([text, "1.5"]), ",")
    assert values[0] == number
    assert wrong.tolist() == [False, True]


def test_missing_is_blank_or_a_word_for_it():
    texts = ["", "  ", "NA", " nan ", "null", None, r"\N", "None", "na", "0", "-"]
    assert missing(pa.array(texts)).to_pylist() == [True] * 7 + [False] * 4


@settings(max_examples=200)
@given(
    st.lists(
        NUMBERISH
        | st.decimals(allow_nan=False, allow_infinity=False).map(str)
        | st.floats(allow_nan=False, allow_infinity=False).map(repr)
        | st.integers().map(str),
        min_size=1,
        max_size=4,
    )
)
def test_types_are_given_only_where_every_value_survives(texts):
    column = pa.array(texts)
    found = typed(column)
    if found.type == pa.string():
        assert found.equals(column)
        return
    for text, value in zip(texts, found.to_pylist(), strict=True):
        if value is None:
            assert text.strip() in MISSING
        else:
            assert Decimal(text.strip()) == Decimal(repr(value))


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "-5", "", "NA"], pa.int64()),
        (["9223372036854775807"], pa.int64()),
        (["9223372036854775808"], pa.string()),
        (["1.10", "2"], pa.float64()),
        (["123456789012345678.5"], pa.string()),
        (["0.1", "0.30000000000000004"], pa.float64()),
        (["1e5", "1e400"], pa.string()),
        (["+1"], pa.string()),
        (["007"], pa.string()),
        (["0x1F"], pa.string()),
        (["inf", "1"], pa.string()),
        (["NA", "NA"], pa.string()),
        (["True"], pa.string()),
        (["2020-01-05", "2020-02-29"], pa.string()),
    ],
)
def test_types(texts, kind):
    assert typed(pa.array(texts)).type == kind


def test_values_that_are_equal_are_the_same_category():
    texts = ["2", "2.0", " 2e0", "True", "TRUE", "x", "9007199254740993", "1e15", "0.10"]
    assert canonical(pa.array(texts)).to_pylist() == [
        *["2"] * 3,
        *["true"] * 2,
        "x",
        "9007199254740993",
        "1000000000000000",
        "0.1",
    ]
    for values in ([2, 10**15], [2.0, 1e15], [Decimal("2.00"), Decimal(10**15)]):
        assert canonical(pa.array(values).cast(pa.string())).to_pylist() == [
            "2",
            "1000000000000000",
        ]
