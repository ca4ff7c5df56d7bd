import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import surelabel
from surelabel import CandidateSets
from surelabel.exceptions import TableError
from surelabel.tables.columns import Feature
from surelabel.tables.inspection import inspect, inspect_labels


def kinds(inspection):
    return [problem.kind for problem in inspection.problems]


def problem(inspection, kind):
    (found,) = [problem for problem in inspection.problems if problem.kind == kind]
    return found


def numbers(m):
    return pa.table({"x": np.arange(m, dtype=float)})


def look(make_labels, candidates, table=None, features=None, **known):
    table = numbers(len(candidates)) if table is None else table
    features = (
        [Feature(name, "number") for name in table.column_names] if features is None else features
    )
    return inspect_labels(make_labels(candidates, table=table, **known), features, table)


def test_a_sound_table_has_no_problem(make_labels):
    sets = CandidateSets.from_lists([["a"], ["b"], ["a", "b"], ["c"], ["b", "c"]] * 10)
    found = look(make_labels, sets)
    assert found.problems == []
    assert found.summary.average_size == pytest.approx(1.4)
    assert (found.certain, found.unlabelled, found.n_gold, found.gold_inside) == (30, 0, 0, None)
    assert [tuple(pair.values()) for pair in found.to_dict()["confused"]] == [
        ("a", "b", 10),
        ("b", "c", 10),
    ]
    assert found.votes_per_row is None


def test_rows_without_labels(make_labels):
    sets = CandidateSets.from_lists([["a"], ["b"], [], ["a", "b"]] * 10, unlabelled="all")
    found = look(make_labels, sets, unlabelled=np.arange(40) % 4 == 2)
    assert found.unlabelled == 10
    assert problem(found, "unlabelled").rows.tolist() == list(range(2, 40, 4))
    assert (
        "10 row(s) have no label (row 3, 7, 11, 15, 19 and 5 more)"
        in problem(found, "unlabelled").message
    )
    assert found.summary.n_rows == 30, "they do not make the table look more ambiguous"


def test_gold_outside_the_candidates(make_labels):
    sets = CandidateSets.from_lists([["a"], ["b"], ["a", "b"]] * 10)
    gold = np.full(30, -1)
    gold[:4] = [0, 0, 1, 1]
    found = look(make_labels, sets, gold=gold)
    assert (found.n_gold, found.gold_inside) == (4, 0.5)
    assert problem(found, "gold outside").rows.tolist() == [1, 3]


def test_duplicates_of_every_kind_of_column(make_labels):
    table = pa.table(
        {
            "number": [1.0, 1.0, 2.0, None, None, 1.0] * 4,
            "word": pa.array(["p", "p", "q", None, None, "p"] * 4).dictionary_encode(),
            "vector": [[0.5, 1.0], [0.5, 1.0], [0.5, 1.0], [2.0, 2.0], [2.0, 2.0], [0.5, 9.0]] * 4,
        }
    )
    table = table.slice(0, 6)
    sets = CandidateSets.from_lists([["a"], ["a", "b"], ["b"], ["b"], ["a", "b"], ["a"]])
    features = [
        Feature("number", "number"),
        Feature("word", "category"),
        Feature("vector", "vector"),
    ]
    found = problem(look(make_labels, sets, table, features), "duplicates")
    assert found.rows.tolist() == [0, 1, 3, 4]
    assert "4 rows have the features of another row, but other candidates" in found.message


def test_classes(make_labels):
    lists = (
        [["a"]] * 20
        + [["b", "a"]] * 20
        + [["c"], ["a", "c"]] * 2
        + [["d", "e"]] * 10
        + [["e"]] * 10
    )
    sets = CandidateSets.from_lists(lists, classes=["a", "b", "c", "d", "e", "f"])
    found = look(make_labels, sets)
    assert kinds(found) == ["rare class", "never apart"]
    assert "class(es) c, f:" in problem(found, "rare class").message
    assert "b with a, d with e;" in problem(found, "never apart").message


def test_annotators(make_labels):
    y = np.random.default_rng(0).integers(0, 3, 60)
    rare = np.where(np.arange(60) < 5, 0, -1)
    votes = np.stack([y, np.zeros(60, int), rare], axis=1)
    counts = np.stack([(votes == k).sum(axis=1) for k in range(3)], axis=1)
    found = look(make_labels, CandidateSets.from_counts(counts), votes=votes, names=["a", "b", "c"])
    assert found.votes_per_row == pytest.approx(np.mean(np.sum(votes >= 0, axis=1)))
    assert found.unanimous == pytest.approx(np.mean(y == 0))


def test_very_many_columns(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"gene{j}" for j in range(12_000)]
    rows = [",".join(map(str, row)) for row in rng.normal(size=(24, 12_000)).round(2)]
    labels = ["cat", "dog", "cat|dog"] * 8
    lines = [",".join([*names, "labels"]), *map(",".join, zip(rows, labels, strict=True))]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    found = inspect(tmp_path / "wide.csv", labels="labels")
    assert len(found.features) == 12_000
    assert "gene7 and 11,992 more" in str(found)


def test_very_many_columns_of_text(tmp_path):
    """The time grows with the number of columns, not with its square."""
    names = [f"x{j}" for j in range(20_000)]
    rng = np.random.default_rng(0)
    words = rng.choice(["red", "green", "blue"], (12, len(names)))
    labels = ["cat", "dog", "cat|dog"] * 4
    lines = [",".join([*names, "labels"])]
    lines += [",".join([*row, label]) for row, label in zip(words, labels, strict=True)]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    begun = time.process_time()
    found = inspect(tmp_path / "wide.csv", labels="labels")
    assert time.process_time() - begun < 30
    assert len(found.features) + len(found.unused) == len(names)


def test_columns_that_are_not_what_they_are_said_to_be(tmp_path):
    rows = [f"{i * 1.5},{i % 7},{('cat', 'dog')[i % 2]}" for i in range(30)]
    (tmp_path / "a.csv").write_text("\n".join(["when,photo,labels", *rows]))
    found = inspect(tmp_path / "a.csv", labels="labels", as_={"when": "time", "photo": "image"})
    assert {"no time", "no image"} <= set(kinds(found))
    assert "'when' holds text that is not a date or time" in problem(found, "no time").message
    assert "'photo': the first images cannot be read" in problem(found, "no image").message


def test_words_among_numbers_are_listed(tmp_path):
    """As amounts of rain, in which T means a trace; only clean and the like refuse them."""
    rain = ["T" if i % 40 == 3 else f"{i * 0.13:.2f}" for i in range(200)]
    rain[7] = "dry"
    rows = [f"{cell},{i % 9},{('cat', 'dog')[i % 2]}" for i, cell in enumerate(rain)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["rain,wind,labels", *rows]))
    for columns in ({}, {"features": "rain,wind"}, {"features": "rain"}, {"exclude": "wind"}):
        found = inspect(path, labels="labels", **columns)
        told = problem(found, "no number").message
        assert "row 4, column 'rain': 'T', 'dry' in a column of numbers" in told
        assert "(6 such cell(s); --exclude rain, --as rain=category)" in told
        assert found.unused["rain"] == told
        assert all(feature.name != "rain" for feature in found.features)
    assert "no number" not in kinds(inspect(path, labels="labels", as_={"rain": "category"}))
    with pytest.raises(TableError, match="row 4, column 'rain': 'T', 'dry' in a column of numbers"):
        surelabel.clean(path, labels="labels")


@pytest.mark.parametrize("ending", ["frame", "parquet"])
def test_texts_may_have_a_decimal_comma(tmp_path, ending):
    table = pd.DataFrame({"x": [f"{i},5" for i in range(60)], "labels": ["cat", "dog"] * 30})
    table = table.assign(kind=[1.5, 2.0, 3.0] * 20, y=np.random.default_rng(0).normal(size=60))
    if ending == "parquet":
        table.to_parquet(tmp_path / "a.parquet")
        table = tmp_path / "a.parquet"
    found = problem(inspect(table, labels="labels"), "numbers in text").message
    assert "numbers with a comma ('0,5'); --settings decimal=, reads them" in found
    how = {"labels": "labels", "decimal": ",", "as_": {"kind": "category"}}
    found = inspect(table, **how)
    assert {f.name: f.kind for f in found.features} == {
        "x": "number",
        "kind": "category",
        "y": "number",
    }
    fitted = surelabel.fit(table, method="PLKNN", **how)
    first, second = (surelabel.predict(fitted, table, **more) for more in ({}, {"decimal": ","}))
    assert first.equals(second)
    with pytest.raises(TableError, match="must be a point or a comma, not ';'"):
        inspect(table, labels="labels", decimal=";")
