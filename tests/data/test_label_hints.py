"""One label in several spellings, several labels in one cell, and names that mean no label."""

import shlex

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surelabel
from surelabel.data.label_hints import spelling_key
from surelabel.data.labelling import Labelling, read_labels
from surelabel.exceptions import ParameterError

MESSY = ["games", "Games", "games", " games.", "GAMES", "films", "films", "“Films”"]


def read(labels, **options):
    return read_labels(pa.table({"labels": labels}), Labelling(labels="labels", **options))


def test_spellings_are_found_and_made_one_if_asked():
    found = read(MESSY)
    assert len(found.candidates.classes) == 6
    (hint,) = found.hints
    assert hint.kind == "spellings"
    assert hint.rows.tolist() == [1, 3, 4, 7]
    assert "'films' and '“Films”', 'games' and 'GAMES' and 'Games' are treated" in hint.message
    assert "--settings map='“Films”'='films'" in hint.message
    found = read(MESSY, normalise=True)
    assert found.candidates.classes.tolist() == ["films", "games"]
    assert not found.hints
    assert found.candidates.to_lists() == [["games"]] * 5 + [["films"]] * 3


def test_spellings_within_a_cell_and_in_votes_and_gold():
    assert read(["a|A|b", "a", "b"], normalise=True).candidates.to_lists() == [
        ["a", "b"],
        ["a"],
        ["b"],
    ]
    table = pa.table({"x": ["a", "a", "B"], "y": ["A.", None, "b"], "gold": [None, "A", "b"]})
    found = read_labels(table, Labelling(votes=("x", "y"), gold="gold", normalise=True))
    assert found.candidates.classes.tolist() == ["a", "b"]
    assert found.votes.tolist() == [[0, 0], [0, -1], [1, 1]]
    assert found.gold.tolist() == [-1, 0, 1]


def test_outer_blanks_are_never_part_of_a_label():
    assert read([" a", "a\xa0", "a", "b"]).candidates.classes.tolist() == ["a", "b"]


def test_labels_are_mapped():
    found = read(["dog", "hound", "cat", "n/a"], map=(("hound", "dog"), ("n/a", "")), missing=())
    assert found.candidates.classes.tolist() == ["cat", "dog"]
    assert found.unlabelled.tolist() == [False, False, False, True]
    found = read(["dog", "Hound!", "cat", "DOG"], map=(("hound", "Dog"),), normalise=True)
    assert found.candidates.to_lists() == [["DOG"], ["DOG"], ["cat"], ["DOG"]]


def test_labels_to_be_renamed_are_found_in_columns_of_classes_and_numbers():
    table = pa.table({"cat": [1, 0, 0], "hound": [0, 1, 1], "dog": [0, 0, 1]})
    for columns in (("cat", "hound"), ("cat", "hound", "dog")):
        found = read_labels(table, Labelling(indicator=columns, map=(("hound", "dog"),)))
        assert found.hints == ()
        assert found.candidates.classes.tolist() == ["cat", "dog"]
        assert found.candidates.to_lists() == [["cat"], ["dog"], ["dog"]]
    for labels in ([1.0, 2.0, 3.0], [1, 2, 3], ["1.0", "2.0", "3.0"]):
        for old in ("1", "1.0"):
            found = read(labels, map=((old, "2"),))
            assert found.hints == ()
            assert len(set(map(tuple, found.candidates.to_lists()))) == 2


def test_a_column_of_counts_can_be_removed():
    table = pa.table({"cat": [0.5, 0.2], "dog": [0.5, 0.5], "none": [0.0, 0.3]})
    found = read_labels(table, Labelling(counts=("cat", "dog", "none"), map=(("none", ""),)))
    assert found.candidates.classes.tolist() == ["cat", "dog"]
    assert found.candidates.to_counts().tolist() == [[0.5, 0.5], [0.2, 0.5]]


def test_numbers_are_mapped_and_keep_their_kind():
    assert read([1, 2, 3], map=(("3", "2"),)).candidates.classes.tolist() == [1, 2]
    assert read([1, 2, 3], normalise=True).candidates.classes.tolist() == [1, 2, 3]


def test_a_label_of_several_asks_for_the_separator():
    (several,) = read(["a", "b", "a, b", "c"]).hints
    assert several.kind == "several labels"
    assert "(--separator ',')" in several.message
    assert read(["a", "b", "a, b", "c"], separator=",").hints == ()
    assert read(["rock", "rock, pop", "pop music"]).hints == ()
    (several,) = read(["a", "b", "a b", "c"]).hints
    assert "(--separator ' ')" in several.message
    assert read(["a", "b", "a b", "c"], separator=" ").hints == ()
    table = pa.table({"x": ["a", "b", "a"], "y": ["a", "b", "a/b"]})
    (several,) = read_labels(table, Labelling(votes=("x", "y"))).hints
    assert "a vote can only be for one label" in several.message


def test_all_labels_of_several_are_counted():
    (several,) = read(["a", "b", "a;b", "b; c", "c", "c;a"]).hints
    assert several.rows.tolist() == [2, 3, 5]
    assert "'a;b', 'b; c', 'c;a'" in several.message


def test_a_known_label_that_nobody_gave_is_named():
    table = pa.table({"y": ["apple|pear", "pear", "apple"], "checked": ["appel", None, "apple"]})
    (hint,) = read_labels(table, Labelling(labels="y", gold="checked")).hints
    assert hint.message.startswith("among the known labels only, and nowhere a candidate")
    assert ": 'appel' (1 row(s)" in hint.message
    assert hint.rows.tolist() == [0]
    numbers = pa.table({"a": [1, 2, 3], "b": [1, 2, 3], "checked": [1.0, None, 3.0]})
    assert read_labels(numbers, Labelling(votes=("a", "b"), gold="checked")).hints == ()
    per_class = {"apple": [1, 0, 1], "pear": [1, 1, 0], "checked": ["apple", None, "pear"]}
    columns = Labelling(indicator=("apple", "pear"), gold="checked")
    assert read_labels(pa.table(per_class), columns).hints == ()


@pytest.mark.parametrize("name", ["Unknown", "n/a", "None of these", "?", "Not sure", "NULL"])
def test_names_that_may_mean_no_label_are_told(name):
    (told,) = read(["a", "b", name, "a"]).hints
    said = shlex.quote(f"missing={name}")
    assert f"use --settings {said} (otherwise --settings missing=)" in told.message
    assert read(["a", "b", name, "a"], missing=(name,)).unlabelled.tolist()[2]


def test_all_names_that_may_mean_no_label_are_told_at_once():
    (told,) = read(["a", "NA", "b", "not sure", "don't know", "NA"]).hints
    assert "'NA', 'not sure' and \"don't know\" are treated as labels (4 row(s)" in told.message
    words = shlex.split(told.message.partition("means that there is no label, use ")[2])
    assert words[:2] == ["--settings", "missing=NA,not sure,don't know"]
    missing = tuple(words[1].removeprefix("missing=").split(","))
    assert read(["a", "NA", "b", "not sure", "don't know"], missing=missing).hints == ()


def test_a_column_of_a_class_that_no_row_has_is_not_told():
    table = pa.table({"cat": [1, 0], "dog": [0, 1], "unknown": [0, 0]})
    assert read_labels(table, Labelling(indicator=("cat", "dog", "unknown"))).hints == ()


@given(st.text(max_size=12))
def test_the_key_of_a_key_is_itself_and_ignores_case_and_blanks(text):
    key = spelling_key(text)
    assert spelling_key(f"  {text}\t") == key
    assert spelling_key(text.casefold()) == key
    assert (key == "") == (not text.strip())


def test_new_names_are_a_mapping():
    frame = pd.DataFrame(
        {"x": np.r_[np.zeros(10), np.ones(10)], "labels": ["a"] * 9 + ["A"] + ["b"] * 9 + ["bee"]}
    )
    found = surelabel.inspect(frame, labels="labels", map={"A": "a", "bee": "b"})
    assert found.summary.classes.tolist() == ["a", "b"]
    assert not [p for p in found.problems if p.kind == "spellings"]
    kinds = [problem.kind for problem in surelabel.inspect(frame, labels="labels").problems]
    assert "spellings" in kinds
    with pytest.raises(ParameterError, match="map must be a mapping of labels"):
        surelabel.inspect(frame, labels="labels", map="A")


def test_messy_votes_give_the_labels_of_clean_ones():
    rng = np.random.default_rng(0)
    classes = np.array(["games", "films", "live music"])
    y = rng.integers(0, 3, 240)
    votes = {
        f"rater_{i}": classes[np.where(rng.random(240) < 0.7, y, rng.integers(0, 3, 240))]
        for i in range(3)
    }
    clean = pd.DataFrame({"x": y + rng.normal(0, 0.4, 240), **votes})
    ways = (str, str.upper, str.title, lambda t: f" {t}.", lambda t: t.replace(" ", "_"))
    messy = clean.copy()
    for name in votes:
        spelled = [ways[w](t) for t, w in zip(clean[name], rng.integers(0, 5, 240), strict=True)]
        messy[name] = spelled
    expected = surelabel.clean(clean, votes="rater_*").label
    found = surelabel.clean(messy, votes="rater_*", normalise=True)
    assert len(found.classes) == 3
    keys = [spelling_key(name) for name in found.classes]
    names = np.array(sorted(classes))[expected]
    assert np.mean(np.array(keys)[found.label] == names) > 0.99
