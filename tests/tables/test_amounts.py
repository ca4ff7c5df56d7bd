"""Numbers in text, and names of things."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelabel
from surelabel.data.spelling import parse_amounts
from surelabel.exceptions import TableError
from surelabel.tables._kinds import column_kinds


@given(st.integers(-(10**9), 10**9), st.sampled_from([".", ","]), st.sampled_from(["", " €", "kg"]))
def test_marks_between_thousands_and_units_are_read(number, decimal, unit):
    other = "," if decimal == "." else "."
    text = f"{number:,}".replace(",", other) + f"{decimal}5{unit}"
    values, wrong, units = parse_amounts(pa.array([text]), decimal)
    assert not wrong[0]
    assert values[0] == float(f"{number}.5")
    assert units == [unit.strip()] * bool(unit)


@pytest.mark.parametrize("text", ["1,23", "1,2345", "12 34", "abc", "1 2 3", "5 kilometers", "v1"])
def test_other_texts_are_not_numbers(text):
    assert parse_amounts(pa.array([text]))[1][0]


def table(**columns):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    price = [f"{n:,} €" for n in 1000 * y + rng.integers(0, 900, 120) + 500]
    return pd.DataFrame({"price": price, "labels": np.array(["a", "b"])[y], **columns})


def test_numbers_with_units_are_offered_and_read_if_asked():
    found = surelabel.inspect(table(x=np.arange(120) % 7), labels="labels")
    (problem,) = (problem for problem in found.problems if problem.kind == "numbers in text")
    assert "--number price reads them" in problem.message
    fitted = surelabel.fit(table(), labels="labels", number="price", method="PLKNN")
    new = pd.DataFrame({"price": ["700 €", "2,100 €", "2100"]})
    assert list(surelabel.predict(fitted, new)["label"]) == ["a", "b", "b"]
    with pytest.raises(TableError, match="'a lot' where a number is needed"):
        surelabel.predict(fitted, pd.DataFrame({"price": ["a lot"]}))


def test_units_are_not_mixed():
    mixed = table(size=[f"{i} {'kg' if i % 2 else 'g'}" for i in range(120)])
    with pytest.raises(TableError, match=r"different units \(g, kg\)"):
        surelabel.fit(mixed, labels="labels", number="size", exclude="price")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([f"user{i % 80:03}" for i in range(120)], None),
        ([f"{i % 80:08x}" for i in range(120)], None),
        ([f"Town{chr(97 + i % 26)}{chr(97 + i % 3)}" for i in range(120)], "category"),
        ([f"ford {chr(97 + i % 26)}{chr(97 + i % 3)}" for i in range(120)], "text"),
        ([f"ford {chr(97 + i % 26)}{chr(97 + i % 3)}" for i in range(1200)], "category"),
        (["red", "blue", "green"] * 40, "category"),
        ([f"the price was too high by {i % 90}" for i in range(120)], "text"),
    ],
)
def test_identifiers_and_comments_are_told_apart_from_categories(values, kind):
    assert column_kinds(pa.table({"a": values}), ["a"])[0][0] == kind


def test_numbers_that_name_rows_are_not_learned_from():
    numbers = np.random.default_rng(0).permutation(100) * 7
    kinds = column_kinds(pa.table({"user_id": numbers, "size": numbers}), ["user_id", "size"])
    assert kinds[0][0] is None
    assert "names the rows" in kinds[0][1]
    assert kinds[1][0] == "number"
