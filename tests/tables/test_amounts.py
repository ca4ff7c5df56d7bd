"""Numbers in text, and names of things."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelabel
from surelabel.data.spelling import find_decimal, parse_amounts
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


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("1\u00a0234 €", 1234, "€"),
        ("1\u202f234\u202f567,5\u00a0€", 1234567.5, "€"),
        ("EUR 1234", 1234, "EUR"),
        ("EUR\u00a01.234,5", 1234.5, "EUR"),
        ("USD1,234.5", 1234.5, "USD"),
        ("US$ 12.50", 12.5, "US$"),
        ("1,234.0 kr.", 1234, "kr"),
        ("\u22125.25", -5.25, ""),
        ("\u22121,234.5 °C", -1234.5, "°C"),
    ],
)
def test_signs_spaces_and_currencies_of_printed_text_are_read(text, value, unit):
    decimal = find_decimal(pa.array([text]))
    values, wrong, units = parse_amounts(pa.array([text, "NA"]), decimal)
    assert values[0] == value
    assert wrong.tolist() == [False, False]
    assert units == [unit] * bool(unit)


@pytest.mark.parametrize(
    "form",
    ["{:,.0f} €", "{:.0f}", "EUR {:.0f}", "USD{:,.1f}", "{:.1f} kr.", "\u2212{:.1f}", "{:,.2f} $"],
)
def test_amounts_of_printed_text_are_offered(form):
    texts = [form.format(value).replace(",", "\u202f") for value in spread(900, 9000)]
    if form == "{:.0f}":
        texts = [f"{text[:-3]}\u00a0{text[-3:]}".strip() for text in texts]
    (problem,) = (
        problem
        for problem in surelabel.inspect(frame(texts), labels="labels").problems
        if problem.kind == "numbers in text"
    )
    assert "--as p=number reads them" in problem.message
    fitted = surelabel.fit(frame(texts), labels="labels", method="PLKNN", as_={"p": "number"})
    assert fitted.features[0].kind == "number"


def test_article_numbers_are_not_amounts():
    kind, reason = column_kinds(pa.table({"a": [f"SKU{i}" for i in range(100, 220)]}), ["a"])[0]
    assert kind is None
    assert reason == "its values look like identifiers"


@pytest.mark.parametrize(
    "text", ["1,23", "1,2345", "12 34", "abc", "1 2 3", "5 kilometers", "v1", "5.€", "ABC 5"]
)
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
    assert "--as price=number with one of the two reads them" in problem.message
    how = {"as_": {"price": "number"}, "decimal": "."}
    fitted = surelabel.fit(table(), labels="labels", method="PLKNN", **how)
    new = pd.DataFrame({"price": ["700 €", "2,100 €", "2100"]})
    assert list(surelabel.predict(fitted, new)["label"]) == ["a", "b", "b"]
    with pytest.raises(TableError, match="'a lot' where a number is needed"):
        surelabel.predict(fitted, pd.DataFrame({"price": ["a lot"]}))


def test_units_are_not_mixed():
    mixed = table(size=[f"{i} {'kg' if i % 2 else 'g'}" for i in range(120)])
    with pytest.raises(TableError, match=r"different units \(g, kg\)"):
        surelabel.fit(mixed, labels="labels", as_={"size": "number"}, exclude="price")


def spread(start=1.0, stop=99.0):
    """Numbers that are larger where the label is b."""
    return np.random.default_rng(1).uniform(start, stop, 120) + np.arange(120) % 2 * stop


def frame(values):
    other = np.random.default_rng(2).normal(size=120)
    return pd.DataFrame({"p": values, "x": other, "labels": ["a", "b"] * 60})


def german(values, form=",.2f"):
    return [f"{value:{form}}".translate(str.maketrans(".,", ",.")) for value in values]


DECIDED = {
    "comma": german(spread(), ".2f"),
    "comma, with a unit": [f"{text} €" for text in german(spread(), ".2f")],
    "comma, with thousands": [f"{text} €" for text in german(spread(900, 9000))],
    "comma, thousands twice": german(1e6 * np.round(spread()), ",.0f"),
    "comma, after a zero": german(spread(0, 0.45), ".3f"),
    "comma, after four digits": german(spread(1000, 9000), ".3f"),
    "comma, rarely": [*german(spread()[:-1], ".0f"), "199,5"],
}


@pytest.mark.parametrize("name", DECIDED)
def test_a_column_tells_its_decimal_separator(name, tmp_path):
    texts = DECIDED[name]
    values = np.array([float(t.strip(" €").replace(".", "").replace(",", ".")) for t in texts])
    plain = surelabel.fit(frame(values), labels="labels", method="PLKNN", as_={"p": "number"})
    for decimal in (None, ".", ","):
        fitted = surelabel.fit(
            frame(texts), labels="labels", method="PLKNN", as_={"p": "number"}, decimal=decimal
        )
        np.testing.assert_array_equal(
            fitted.model.encoder.transform(pa.Table.from_pandas(frame(texts))),
            plain.model.encoder.transform(pa.Table.from_pandas(frame(values))),
        )
        surelabel.save_model(fitted.model, tmp_path / "m.model")
        again = surelabel.load_model(tmp_path / "m.model")
        found = surelabel.predict(again, frame(texts))
        assert found.equals(surelabel.predict(plain, frame(values)).assign(p=texts))
    assert not [
        problem
        for problem in surelabel.inspect(
            frame(texts), labels="labels", as_={"p": "number"}
        ).problems
        if problem.kind in ("no number", "duplicates")
    ]


def test_a_model_reads_new_cells_as_it_learned_to():
    fitted = surelabel.fit(
        frame(DECIDED["comma"]), labels="labels", method="PLKNN", as_={"p": "number"}
    )
    new = pa.table({"p": ["1.234", "1234", "1.234,00"], "x": [0.0, 0.0, 0.0]})
    X = fitted.model.encoder.transform(new)
    assert X[0, 0] == X[1, 0] == X[2, 0]


def test_decimal_commas_not_asked_for_are_left_out_with_a_hint():
    table = frame(DECIDED["comma"])
    found = surelabel.inspect(table, labels="labels")
    assert [feature.name for feature in found.features] == ["x"]
    (problem,) = (problem for problem in found.problems if problem.kind == "numbers in text")
    assert re.search(r"a decimal comma \('.*'\); --as p=number reads them", problem.message)
    with pytest.warns(UserWarning, match="column 'p' is not learned from: .*; --as p=number reads"):
        surelabel.clean(table, labels="labels", method="PLKNN")


@pytest.mark.parametrize(
    ("values", "cell", "point", "comma"),
    [
        ([f"{value:,}" for value in range(3863, 3983)], "3,863", "3863", "3.863"),
        (["999 €", *(f"1.{value} €" for value in range(234, 353))], "1.234 €", "1.234", "1234"),
    ],
)
def test_numbers_with_two_readings_are_refused_until_one_is_chosen(values, cell, point, comma):
    both = f"'{cell}' is {point} with --settings decimal=. and {comma} with --settings decimal=,"
    found = surelabel.inspect(frame(values), labels="labels")
    assert any(
        f"two ways ({both}); --as p=number with one of the two" in problem.message
        for problem in found.problems
    )
    with pytest.raises(TableError, match=re.escape(f"can be read in two ways: {both}; say which")):
        surelabel.fit(frame(values), labels="labels", as_={"p": "number"})
    asked = surelabel.inspect(frame(values), labels="labels", as_={"p": "number"}).problems
    assert any(both in problem.message and problem.kind == "no number" for problem in asked)
    for decimal, value in ((".", point), (",", comma)):
        fitted = surelabel.fit(
            frame(values), labels="labels", as_={"p": "number"}, method="PLKNN", decimal=decimal
        )
        X = fitted.model.encoder.transform(pa.table({"p": [cell], "x": [0.0]}))
        typed = fitted.model.encoder.transform(pa.table({"p": [float(value)], "x": [0.0]}))
        assert X[0, 0] == typed[0, 0]


def test_one_file_may_have_both_decimal_separators(tmp_path):
    path = tmp_path / "both.csv"
    rows = zip(german(spread(), ".2f"), spread(0, 1), "ab" * 60, strict=True)
    path.write_text("p;q;labels\n" + "".join(f"{p};{q:.2f};{label}\n" for p, q, label in rows))
    for decimal, column in ((None, "p"), (".", "p"), (",", "q")):
        with pytest.warns(UserWarning, match=f"--as {column}=number reads them"):
            surelabel.fit(path, labels="labels", method="PLKNN", decimal=decimal)
        how = {"decimal": decimal}
        fitted = surelabel.fit(path, labels="labels", method="PLKNN", as_={column: "number"}, **how)
        assert [feature.kind for feature in fitted.features] == ["number", "number"]
        assert surelabel.predict(fitted, path, **how).equals(surelabel.predict(fitted, path))


def test_a_frame_may_say_its_decimal_separator():
    table = frame(DECIDED["comma"]).assign(kind=[1.5, 2.0, 3.0] * 40)
    how = {"labels": "labels", "decimal": ",", "as_": {"kind": "category"}}
    found = surelabel.inspect(table, **how)
    assert [feature.kind for feature in found.features] == ["number", "number", "category"]
    fitted = surelabel.fit(table, method="PLKNN", **how)
    assert surelabel.predict(fitted, table).equals(surelabel.predict(fitted, table, decimal=","))
    with pytest.raises(TableError, match="must be a point or a comma, not ';'"):
        surelabel.inspect(table, labels="labels", decimal=";")


def test_text_of_files_with_types_may_have_a_decimal_comma(tmp_path):
    path = tmp_path / "a.parquet"
    frame(DECIDED["comma"]).to_parquet(path)
    found = surelabel.inspect(path, labels="labels", decimal=",")
    assert [feature.name for feature in found.features] == ["p", "x"]


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
