"""The jobs for tables on data frames: the same kind comes back, and the index with it."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import surelabel
from surelabel.data.table_files import write_table
from surelabel.exceptions import ModelFileError, ParameterError, SurelabelError, TableError
from tests.cli.pets import CLASSES, make_table, without_labels

COLUMNS = {"labels": "candidates", "gold": "truth", "id": "name", "exclude": ["note"]}
TRUTH = [CLASSES[i % 3] for i in range(60)]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.Table])
def test_frames_of_any_kind(kind):
    table, new = make_table(), without_labels(make_table(30, seed=1))
    if kind is pl.DataFrame:
        table, new = pl.from_arrow(table), pl.from_arrow(new)
    elif kind is pd.DataFrame:
        table, new = table.to_pandas(), new.to_pandas()
    found = surelabel.clean(table, method="PLKNN", **COLUMNS)
    assert isinstance(found.frame, kind)
    assert (
        found.frame["label"].to_pylist() == TRUTH
        if kind is pa.Table
        else list(found.frame["label"]) == TRUTH
    )
    predicted = surelabel.predict(found.model, new)
    assert isinstance(predicted, kind)
    labels = predicted["label"].to_pylist() if kind is pa.Table else list(predicted["label"])
    assert labels == TRUTH[:30]


def test_the_index_of_pandas_stays():
    frame = make_table().to_pandas().set_index(np.arange(60) * 2 + 1)
    found = surelabel.clean(frame, method="PLKNN", **COLUMNS)
    assert found.frame.index.tolist() == frame.index.tolist()


def test_the_same_answer_again():
    table = make_table()
    first, second = (surelabel.clean(table, **COLUMNS).frame for _ in range(2))
    assert first.equals(second)


def test_clean_and_fit_give_the_same_kind_of_model(tmp_path):
    fitted = surelabel.fit(make_table(), method="PLKNN", **COLUMNS)
    assert fitted.classes.tolist() == list(CLASSES)
    assert [feature.name for feature in fitted.features] == ["size", "weight", "colour"]
    surelabel.save_model(fitted.model, tmp_path / "m.model")
    loaded = surelabel.load_model(tmp_path / "m.model")
    new = without_labels(make_table(30, seed=1))
    found = surelabel.predict(fitted.model, new)
    assert surelabel.predict(loaded, new).equals(found)
    assert surelabel.predict(tmp_path / "m.model", new).equals(found)  # as the command does


def test_predict_gives_first_and_second_choice():
    fitted = surelabel.fit(make_table(), method="PLKNN", **COLUMNS)
    new = without_labels(make_table(30, seed=1))
    proba = fitted.model.predict_proba(new)
    found = surelabel.predict(fitted.model, new, prefix="p_")
    order = np.argsort(-proba, axis=1, kind="stable")
    assert found["p_label"].to_pylist() == [CLASSES[k] for k in order[:, 0]]
    assert found["p_second"].to_pylist() == [CLASSES[k] for k in order[:, 1]]
    np.testing.assert_allclose(found["p_confidence"].to_numpy(), proba.max(axis=1), atol=1e-4)


def test_gold_is_learned_from():
    # The candidates say nothing: only the gold rows can tell the classes apart.
    table = make_table()
    silent = table.set_column(4, "candidates", pa.array(["cat|cow|dog"] * 60))
    silent = silent.set_column(
        5, "truth", pa.array([label if i % 2 else None for i, label in enumerate(TRUTH)])
    )
    assert (
        surelabel.predict(surelabel.fit(silent, method="PLKNN", **COLUMNS).model, silent)[
            "label"
        ].to_pylist()
        == TRUTH
    )


def test_inspect_says_what_is_not_used():
    found = surelabel.inspect(make_table(), labels="candidates", exclude=["colour"])
    assert found.unused["colour"] == "it was left out"
    assert found.unused["name"] == "nearly all its values differ"


def test_wrong_use():
    with pytest.raises(TableError, match="expected a data frame in memory"):
        surelabel.clean([1, 2, 3], labels="a")
    with pytest.raises(TypeError, match="unexpected keyword argument 'label'"):
        surelabel.clean(make_table(), label="candidates")
    with pytest.raises(ModelFileError, match="did not learn from a table"):
        surelabel.predict(surelabel.PLKNNClassifier(), make_table())
    with pytest.raises(AttributeError, match="no attribute 'claen'"):
        surelabel.claen  # noqa: B018
    assert {"clean", "fit", "SURECV"} <= set(dir(surelabel))


@pytest.fixture(scope="module")
def results():
    """Every kind of result, of one small table."""
    table = make_table()
    return {
        "inspect": surelabel.inspect(table, **COLUMNS),
        "clean": surelabel.clean(table, method="PLKNN", **COLUMNS),
        "fit": surelabel.fit(table, method="PLKNN", **COLUMNS),
        "compare": surelabel.compare(table, methods="PLKNN", folds=3, **COLUMNS),
    }


@pytest.mark.parametrize("name", ["inspect", "clean", "fit", "compare"])
def test_results_print_as_short_text_and_in_notebooks(results, name):
    text, page = repr(results[name]), results[name]._repr_html_()
    assert "60 rows" in text
    assert text.count("\n") < 40
    assert "array(" not in text
    assert page.startswith("<pre>")
    assert "60 rows" in page


def test_what_comes_from_a_table_is_escaped_in_notebooks():
    table = make_table()
    hostile = table.rename_columns(
        ["<img src=x>" if name == "size" else name for name in table.column_names]
    )
    found = surelabel.inspect(hostile, labels="candidates")
    assert "<img src=x>" in repr(found)
    assert "<img" not in found._repr_html_()
    assert "&lt;img src=x&gt;" in found._repr_html_()


def test_a_result_writes_its_page(results, tmp_path):
    path = results["clean"].report(tmp_path / "page.html")
    assert "60" in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


def test_a_comparison_is_a_sequence(results):
    found = results["compare"]
    assert [result.method for result in found] == ["PLKNN"]
    assert found.best is found[0]


def test_columns_by_pattern_list_and_path(tmp_path):
    table = make_table()
    write_table(table, tmp_path / "pets.csv")
    ways = [
        surelabel.inspect(table, labels="candidates", features="si*,weight"),
        surelabel.inspect(table, labels="candidates", features=["size", "weight"]),
        surelabel.inspect(str(tmp_path / "pets.csv"), labels="candidates", features="size,weight"),
    ]
    assert [[feature.name for feature in way.features] for way in ways] == [["size", "weight"]] * 3
    for as_ in ({"weight": "category"}, {"w*": "category"}):
        found = surelabel.inspect(table, labels="candidates", as_=as_)
        assert found.to_dict()["features"]["weight"] == "category"
    with pytest.raises(ParameterError, match=r"no kind of column 'word'; choose from number, "):
        surelabel.inspect(table, labels="candidates", as_={"weight": "word"})


def test_convert_gives_a_frame_of_the_same_kind():
    table = make_table().to_pandas()
    found = surelabel.convert(table, exclude="note")
    pd.testing.assert_frame_equal(found, table.drop(columns="note"))


def test_a_frame_has_the_same_kinds_of_columns_as_its_file(tmp_path):
    rng = np.random.default_rng(1)
    m = 60
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=m).round(2),
            "whole": rng.integers(0, 5, m),
            "truth": rng.random(m) < 0.5,
            "colour": rng.choice(["red", "blue"], m),
            "text": [f"word{k % 7} and some more {k % 5} words" for k in range(m)],
            "name": [f"r{k}" for k in range(m)],
            "day": pd.date_range("2020-01-01", periods=m),
            "gaps": [None if k % 4 == 0 else float(k % 3) for k in range(m)],
            "labels": rng.choice(["a", "b", "a|b"], m),
        }
    )
    frame.to_csv(tmp_path / "frame.csv", index=False)
    first, second = (
        surelabel.inspect(way, labels="labels").to_dict() for way in (frame, tmp_path / "frame.csv")
    )
    assert first["features"] == second["features"]
    assert first["not_used"] == second["not_used"]
    model = surelabel.fit(frame, labels="labels", method="PLKNN").model
    pd.testing.assert_series_equal(
        surelabel.predict(model, frame)["confidence"],
        surelabel.predict(model, tmp_path / "frame.csv")["confidence"].to_pandas(),
        check_names=False,
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_error": "x"},
        {"max_error": np.ones(3)},
        {"labels": ["candidates"]},
        {"labels": 3},
        {"separator": 1},
        {"prefix": 3},
        {"features": 3},
        {"exclude": [["a"]]},
        {"method": []},
        {"gold": 4},
        {"missing": 4},
        {"missing": [[1]]},
        {"id": ["a", "b"]},
    ],
    ids=str,
)
def test_arguments_of_other_kinds_are_refused_in_a_sentence(wrong):
    with pytest.raises(SurelabelError):
        surelabel.clean(make_table(), **{"labels": "candidates", "exclude": "truth"} | wrong)


def test_votes_without_features_are_cleaned_and_two_classes_that_all_rows_have(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    good = [np.where(rng.random(80) < 0.9, y, 1 - y) for _ in range(3)]
    table = pd.DataFrame({"a": good[0], "b": good[1], "c": good[2], "d": 1 - good[0]})
    found = surelabel.clean(table, votes=["a", "b", "c", "d"])
    assert np.mean(np.array(found.frame["label"]) == y) > 0.75
    assert found.model is None
    assert found.report(tmp_path / "page.html").exists()
    with pytest.raises(TableError, match="no column is left to learn from"):
        surelabel.fit(table, votes=["a", "b", "c", "d"])
    table["size"] = y + 0.3 * rng.standard_normal(80)
    fitted = surelabel.fit(table, votes=["a", "b", "c", "d"])
    surelabel.save_model(fitted.model, tmp_path / "votes.model")
    again = surelabel.predict(surelabel.load_model(tmp_path / "votes.model"), table)
    assert np.mean(again["label"] == y) > 0.85


def test_a_model_that_does_not_fit_itself_is_refused_in_a_sentence():
    table = pa.table({"size": [1.0, 1.2, 1.4, 8.0, 8.2, 8.4], "labels": list("aaabbb")})
    model = surelabel.fit(table, labels="labels", method="PLKNN").model
    model.encoder.scales_ = "x"
    with pytest.raises(ModelFileError, match=r"the model cannot be used \(.*\); fit it again"):
        surelabel.predict(model, table)


def test_columns_of_numbers_in_text_are_warned_of_once():
    table = pa.table(
        {
            "size": [i % 4 + i / 99 for i in range(40)],
            "mass": [f"{i},25" for i in range(40)],
            "length": [f"{i},5" for i in range(40)],
            "labels": ["cat", "cat|cow", "cow", "cow"] * 10,
        }
    )
    with pytest.warns(UserWarning, match="not learned from") as warned:
        surelabel.fit(table, labels="labels")
    (message,) = [str(one.message) for one in warned]
    assert "column 'mass' is not learned from" in message
    assert "decimal=," in message
    assert message.endswith("(the same is true of 'length')")
