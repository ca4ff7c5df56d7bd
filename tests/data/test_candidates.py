import copy
import pickle
import time
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_validate, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from surelabel import CandidateSets, SUREClassifier, as_candidates, make_partial
from surelabel.exceptions import CandidateError
from tests.hostile import VALUES, call

LISTS = [["cat", "dog"], ["dog"], ["cow", "cat"]]
MATRIX = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0]])
CLASSES = ["cat", "cow", "dog"]


@pytest.mark.parametrize(
    "form",
    [
        LISTS,
        [set(row) for row in LISTS],
        tuple(tuple(row) for row in LISTS),
        pd.Series(LISTS),
        pl.Series(LISTS),
        np.array([["cat", "dog"], ["dog", None], ["cow", "cat"]], dtype=object),
        np.array([["cat", "dog"], ["dog", ""], ["cow", "cat"]]),
        pd.DataFrame({"ann": ["cat", "dog", "cow"], "bob": ["dog", np.nan, "cat"]}),
        pl.DataFrame({"ann": ["cat", "dog", "cow"], "bob": ["dog", None, "cat"]}),
        pd.DataFrame(MATRIX.astype(bool), columns=CLASSES),
        pd.DataFrame(MATRIX, columns=CLASSES),
        pl.DataFrame({"cat": [1, 0, 1], "cow": [0, 0, 1], "dog": [1, 1, 0]}),
        pd.DataFrame(MATRIX, columns=CLASSES).astype("Int64"),
        pd.DataFrame({"cat": [1, 0, 1], "cow": MATRIX[:, 1] == 1, "dog": [True, True, False]}),
    ],
)
def test_every_form_gives_the_same_sets(form):
    sets = as_candidates(form)
    # Votes also carry counts; the sets are the same.
    assert CandidateSets(sets.indptr, sets.indices, sets.classes) == CandidateSets(
        [0, 2, 3, 5], [0, 2, 2, 0, 1], CLASSES
    )


@pytest.mark.parametrize(
    "convert", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_array]
)
@pytest.mark.parametrize("dtype", [bool, np.int8, float])
def test_matrices(convert, dtype):
    sets = as_candidates(convert(MATRIX.astype(dtype)))
    assert sets == CandidateSets([0, 2, 3, 5], [0, 2, 2, 0, 1], [0, 1, 2])
    assert as_candidates(MATRIX.astype(np.float16)) == sets
    assert as_candidates(convert(MATRIX.astype(dtype)), classes=CLASSES).to_lists() == [
        sorted(row) for row in LISTS
    ]


def test_explicit_zeros_of_a_sparse_matrix_are_no_candidates():
    matrix = sparse.csr_array(
        (np.array([1, 0, 1]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    assert as_candidates(matrix).to_lists() == [[0], [1]]


@pytest.mark.parametrize(
    "labels",
    [[3, 1, 3], np.array([3, 1, 3]), [3.0, 1.0, 3.0], pd.Series([3, 1, 3]), pl.Series([3, 1, 3])],
)
def test_labels_are_singletons(labels):
    sets = as_candidates(labels)
    assert sets.to_lists() == [[3], [1], [3]]
    assert sets.classes.tolist() == [1, 3]


def test_strings_with_a_separator():
    sets = CandidateSets.from_strings(np.array([" cat | dog", "dog", "cow|cat||cat"]))
    assert sets.to_lists() == [["cat", "dog"], ["dog"], ["cat", "cow"]]
    sets = CandidateSets.from_strings(["a;b", None], separator=";", unlabelled="all")
    assert sets.to_lists() == [["a", "b"], ["a", "b"]]
    # of several characters, which stays within its cell
    sets = CandidateSets.from_strings(["x-", "a--b"], separator="--")
    assert sets.to_lists() == [["x-"], ["a", "b"]]


def test_missing_values_of_every_kind():
    expected = [["a"], ["a", "b"], ["b"]]
    rows = [["a"], None, ["b"]]
    for labels in (
        *(["a", missing, "b"] for missing in (pd.NA, None, np.nan, "")),
        pd.Series(["a", None, "b"]),
        *(rows, pd.Series(rows), pl.Series(rows), [["a"], [], ["b"]], [["a"], [None], ["b", ""]]),
    ):
        assert as_candidates(labels, unlabelled="all").to_lists() == expected
    first = as_candidates([None, ["a"], ["b"]], unlabelled="all")
    assert first.to_lists() == [["a", "b"], ["a"], ["b"]]


def test_counts():
    counts = pd.DataFrame({"cat": [2, 0], "dog": [1, 3]})
    for form in (counts, counts.astype("Int64")):
        assert CandidateSets.from_counts(form).to_lists() == [["cat", "dog"], ["dog"]]


def test_a_column_vector_is_labels_with_a_warning():
    with pytest.warns(match="column-vector"):
        assert as_candidates(np.array([[1], [2]])).to_lists() == [[1], [2]]


def test_unlabelled_rows():
    with pytest.raises(CandidateError, match=r"2 row\(s\) have no candidate label: row 1, 3"):
        as_candidates([["a"], [], ["b"], []])


@given(st.lists(st.sets(st.integers(0, 9), min_size=1), min_size=1, max_size=30), st.data())
@settings(max_examples=60)
def test_round_trips_and_indexing(rows, data):
    sets = as_candidates(rows, classes=range(10))
    assert [set(row) for row in sets.to_lists()] == rows
    assert sets.shape == (len(rows), 10)
    assert len(sets) == len(rows)
    assert as_candidates(sets.to_indicator()) == sets
    assert as_candidates(sets.to_sparse()) == sets
    assert [set(row) for row in np.asarray(sets)] == rows
    assert [set(row.tolist()) for row in sets] == rows
    for survivor in (
        pickle.loads(pickle.dumps(sets)),
        copy.deepcopy(sets),
        clone(sets, safe=False),
        sets[:],
        sets[:, ...],
    ):
        assert survivor == sets
    index = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1), max_size=20))
    assert [set(row) for row in sets[np.array(index, int)].to_lists()] == [rows[i] for i in index]
    assert [set(row) for row in sets[index].to_lists()] == [rows[i] for i in index]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    assert [set(row) for row in sets[mask].to_lists()] == [
        row for row, kept in zip(rows, mask, strict=True) if kept
    ]
    part = data.draw(st.slices(len(rows)))
    assert [set(row) for row in sets[part].to_lists()] == rows[part]
    assert set(sets[np.int64(len(rows) - 1)].tolist()) == rows[-1]


def test_bad_indices():
    sets = as_candidates(LISTS)
    for key in (3, -4, [3], np.array([True]), (0, 0), [0.5]):
        with pytest.raises(IndexError):
            sets[key]


def test_immutable_and_independent_of_its_input():
    indptr, indices = np.array([0, 1, 2], np.int32), np.array([0, 1], np.int32)
    sets = CandidateSets(indptr, indices, ["a", "b"])
    indices[0] = 1
    assert sets.to_lists() == [["a"], ["b"]]
    for array in (sets.indices, sets.indptr, sets.classes, sets.to_sparse().data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        sets.classes = ["x", "y"]


def test_equality_and_repr():
    sets = as_candidates(LISTS)
    assert sets != sets[:2]
    assert sets != sets.with_classes(["dog", "cow", "cat"])
    assert sets != LISTS
    assert repr(sets) == "CandidateSets(3 rows, 3 classes, 1.67 candidates on average)"


def test_describe():
    summary = as_candidates(LISTS).describe()
    assert summary.set_sizes == {1: 1, 2: 2}
    assert summary.class_frequency.tolist() == [2, 1, 2]
    assert np.array_equal(summary.co_occurrence, MATRIX.T @ MATRIX)
    assert summary.most_confused() == [("cat", "cow", 1), ("cat", "dog", 1)]


@pytest.mark.parametrize(
    ("form", "options", "message"),
    [
        (None, {}, "got None"),
        ("cat", {}, "got 'cat'"),
        (3, {}, "got 3"),
        ([["a"], "b"], {}, "row 1 is not"),
        ([["a"], ["b", 1]], {}, "labels mix strings and numbers; the rarer kind is in row 1"),
        ([["a"], ["b"]], {"classes": ["a", "c"]}, "unknown class b in row 1; the classes are a, c"),
        ([["a"], ["b"]], {"classes": ["a", "b", "a"]}, "given more than once: a"),
        ([[1], [2]], {"classes": ["1", "2"]}, "use one type for both"),
        ([[0, 1, 1], [1, 0, 0]], {}, "look like a 0/1 matrix"),
        ([[1, 0], [0, 1], [1, 1]], {}, "look like a 0/1 matrix"),
        (np.array([[0, 1], [2, 1]]), {}, r"1 other value\(s\) at \(row, column\) \(1, 0\)"),
        (sparse.csr_array([[0.5, 1], [0, 1]]), {}, r"at \(row, column\) \(0, 0\)"),
        (np.array([[0, 1], [0, 0]]), {}, "no candidate label: row 1"),
        (np.eye(3), {"classes": ["a", "b"]}, "3 columns but 2 classes"),
        (np.zeros((2, 2, 2)), {}, r"shape \(2, 2, 2\)"),
        (np.array([0.5, 1.0]), {}, "Unknown label type: continuous"),
        (np.array([np.inf, 1.0]), {}, "infinity"),
        ([object(), object()], {}, "labels must be strings or numbers, not object"),
        (pd.DataFrame([[1, 0], [0, 1]], columns=["a", "a"]), {}, "given more than once: a"),
        ([], {}, "there are no classes"),
        (["a"], {"unlabelled": "some"}, "unlabelled must be 'error' or 'all'"),
    ],
)
def test_bad_input_is_one_clear_sentence(form, options, message):
    with pytest.raises(CandidateError, match=message):
        as_candidates(form, **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1, 3], [0, 1, 2], ["a", "b"]), r"within 0..1 \(2 classes\); see row 1"),
        (([0, 1], [0, 1], ["a", "b"]), "must rise from 0 to the number of entries"),
        (([0, 1], [0.7], ["a", "b"]), "whole numbers, not float64"),
        (([0, 1, 3], [0, 0, 1], ["a", "b"], [1, 1]), r"counts has shape \(2,\) but there are 3"),
        *(
            (([0, 1, 3], [0, 0, 1], ["a", "b"], counts), "finite numbers, at least 0; see row")
            for counts in ([1, -1, 1], [1, np.nan, 1], [1, np.inf, 1], ["1", "x", "1"])
        ),
    ],
)
def test_bad_positions_and_counts(arguments, message):
    with pytest.raises(CandidateError, match=message):
        CandidateSets(*arguments)
    with pytest.raises(CandidateError, match="at least 0"):
        CandidateSets.from_counts(np.array([[-1, 1]]))
    with pytest.raises(CandidateError, match="separator"):
        CandidateSets.from_strings(["a"], separator="")


def test_a_million_rows_from_csr():
    m, l = 10**6, 100
    indices = (np.arange(m)[:, None] * 7 + np.array([0, 31, 62])) % l
    matrix = sparse.csr_array(
        (np.ones(3 * m, np.int8), np.sort(indices, axis=1).ravel(), np.arange(0, 3 * m + 1, 3)),
        shape=(m, l),
    )
    started = time.perf_counter()
    sets = as_candidates(matrix)
    seconds = time.perf_counter() - started
    assert sets.indptr.nbytes + sets.indices.nbytes + sets.to_sparse().data.nbytes < 30e6
    assert seconds < 5  # measured: 0.06; a dense matrix or a loop over rows would take far longer
    tracemalloc.start()
    as_candidates(matrix)[::2]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 90e6  # a dense 10⁶ × 100 matrix alone is 100 MB


def _shape(sets):
    return sets.shape, sets.to_lists()


def test_scikit_learn_carries_candidates():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = np.array(["a", "b", "c"])[X[:, :3].argmax(axis=1)]
    sets = make_partial(y, p=0.5, r=1, random_state=0)
    X_train, X_test, train, test = train_test_split(X, sets, test_size=0.25, random_state=0)
    assert isinstance(train, CandidateSets)
    assert (len(train), len(test)) == (len(X_train), len(X_test)) == (45, 15)
    for part, _ in KFold(3).split(X, sets):
        assert isinstance(sets[part], CandidateSets)
    model = make_pipeline(StandardScaler(), SUREClassifier(lam=0.3))
    scores = cross_validate(model, X, sets, cv=3, n_jobs=2, return_estimator=True)
    assert scores["test_score"].min() > 0.5
    search = GridSearchCV(model, {"sureclassifier__lam": [0.1, 0.3]}, cv=3, n_jobs=2).fit(X, sets)
    assert search.best_estimator_.score(X, y) > 0.8
    assert Parallel(n_jobs=2)(delayed(_shape)(sets) for _ in range(2)) == [_shape(sets)] * 2


# ---------------------------------------------------------------- votes


VOTES = np.array([["b", "a", "b"], ["a", "", ""], ["c", "c", "a"], ["", "", ""]])


def test_votes_are_counted():
    sets = CandidateSets.from_votes(VOTES, unlabelled="all")
    assert sets.to_lists() == [["a", "b"], ["a"], ["a", "c"], ["a", "b", "c"]]
    assert sets.counts.tolist() == [1, 2, 1, 1, 2, 0, 0, 0]
    assert sets.counts.dtype == np.int64
    assert not sets.counts.flags.writeable


def test_votes_keep_their_annotators():
    sets = CandidateSets.from_votes(VOTES, unlabelled="all")
    assert sets.votes.tolist() == [[1, 0, 1], [0, -1, -1], [2, 2, 0], [-1, -1, -1]]
    assert sets.annotators == ("annotator 1", "annotator 2", "annotator 3")
    assert not sets.votes.flags.writeable
    assert sets[[2, 0]].votes.tolist() == [[2, 2, 0], [1, 0, 1]]
    assert sets[[2, 0]] == CandidateSets.from_votes(VOTES[[2, 0]], classes=["a", "b", "c"])
    wider = sets.with_classes(["c", "x", "b", "a"])
    assert wider.votes.tolist() == [[2, 3, 2], [3, -1, -1], [0, 0, 3], [-1, -1, -1]]
    assert pickle.loads(pickle.dumps(sets)) == sets
    assert sets != CandidateSets.from_votes(VOTES[:, ::-1], unlabelled="all")
    framed = CandidateSets.from_votes(pd.DataFrame(VOTES[:2], columns=["Ann", "Bo", "Cy"]))
    assert framed.annotators == ("Ann", "Bo", "Cy")


@pytest.mark.parametrize(
    ("votes", "names", "message"),
    [
        ([[0], [2]], None, "row 1"),
        ([[0]], None, "a row for each of the 2 rows"),
        ([[0.5], [1.0]], None, "whole numbers"),
        ([[0, 0], [1, 1]], ["a", "a"], "a different name"),
        ([[0, 0], [1, 1]], ["a"], "give each annotator a different name"),
    ],
)
def test_bad_votes_are_refused(votes, names, message):
    with pytest.raises(CandidateError, match=message):
        CandidateSets([0, 1, 2], [0, 1], ["a", "b"], [1, 1], votes=votes, annotators=names)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_counts_are_kept(convert):
    matrix = np.array([[1, 2, 0], [1, 0, 0], [1, 0, 2], [0, 0, 0]])
    voted = CandidateSets.from_votes(VOTES, unlabelled="all")
    expected = CandidateSets(voted.indptr, voted.indices, voted.classes, voted.counts)
    sets = CandidateSets.from_counts(convert(matrix), classes=["a", "b", "c"], unlabelled="all")
    assert sets == expected
    with pytest.raises(CandidateError, match="row 3"):
        CandidateSets.from_counts(convert(matrix))
    parts = CandidateSets.from_counts(
        convert(matrix / 4), classes=["a", "b", "c"], unlabelled="all"
    )
    assert parts.counts.tolist() == [0.25, 0.5, 0.25, 0.25, 0.5, 0, 0, 0]


@pytest.mark.parametrize(
    "key", [[2, 0, 2], slice(None, None, -1), np.array([True, False, False, True]), slice(1, 1)]
)
def test_rows_take_their_counts_along(key):
    sets = CandidateSets.from_votes(VOTES, unlabelled="all")
    dense = np.zeros(sets.shape, int)
    dense[sets.rows, sets.indices] = sets.counts
    picked = sets[key]
    assert picked.counts.tolist() == dense[key][picked.rows, picked.indices].tolist()


def test_counts_follow_their_labels():
    sets = CandidateSets.from_votes(VOTES, unlabelled="all")
    other = sets.with_classes(["c", "x", "b", "a"])
    assert other[0].tolist() == ["b", "a"]
    assert other.counts.tolist() == [2, 1, 1, 2, 1, 0, 0, 0]
    assert CandidateSets([0, 3], [2, 0, 2], ["a", "b", "c"], [1, 5, 3]).counts.tolist() == [5, 4]


def test_counts_are_part_of_what_is_equal_and_copied():
    sets = CandidateSets.from_votes(VOTES, unlabelled="all")
    assert sets != CandidateSets(sets.indptr, sets.indices, sets.classes)
    assert sets != CandidateSets(sets.indptr, sets.indices, sets.classes, sets.counts + 1)
    for twin in (pickle.loads(pickle.dumps(sets)), copy.deepcopy(sets)):
        assert twin == sets


def test_what_are_no_votes_has_no_counts():
    assert CandidateSets.from_labels(["a", "b"]).counts is None
    assert as_candidates(LISTS).counts is None
    assert as_candidates(MATRIX)[[0, 1]].counts is None


@pytest.mark.parametrize("form", [list, np.array, pd.Series])
def test_strings_that_look_like_candidates_are_labels_with_a_warning(form):
    with pytest.warns(
        DataConversionWarning,
        match=r"'red \| blue' is read as one label.*pass CandidateSets.from_strings",
    ):
        sets = as_candidates(form(["red", "blue", "red | blue"]))
    assert sets.classes.tolist() == ["blue", "red", "red | blue"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # names that contain the sign, and nothing says otherwise
        as_candidates(form(["a|b", "c|d", "e"]))


# ---------------------------------------------------------------- what cannot be read

MAKERS = (
    as_candidates,
    CandidateSets.from_labels,
    CandidateSets.from_indicator,
    CandidateSets.from_lists,
    CandidateSets.from_strings,
    CandidateSets.from_votes,
    CandidateSets.from_counts,
)
PARTS = {"indptr": [0, 1, 2], "indices": [0, 1], "classes": ["a", "b"], "counts": [1, 2]}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_hostile_values_end_in_one_sentence(value):
    sets = CandidateSets(**PARTS)
    calls = [
        *((make, (value,), {"unlabelled": way}) for make in MAKERS for way in ("error", "all")),
        *(
            (make, (form,), {name: value})
            for make in MAKERS
            for name in ("classes", "unlabelled")
            for form in ([["a"], ["b"]], ["a", "b"], np.eye(2))
        ),
        *((CandidateSets, (), PARTS | {name: value}) for name in (*PARTS, "unlabelled")),
        (CandidateSets.from_strings, (["a|b"],), {"separator": value}),
        (sets.with_classes, (value,), {}),
        (sets.contains, (value,), {}),
        (sets.__eq__, (value,), {}),
    ]
    for function, arguments, options in calls:
        call(function, arguments, options)


@pytest.mark.parametrize(
    "make", [CandidateSets.from_labels, lambda y: as_candidates(np.array(y, object))]
)
def test_large_whole_numbers_are_kept_apart(make):
    pairs = [2**63, 2**63 + 1], [2**53, 2**53 + 1], [1, 2**63 + 1], [-1, 2**62 + 1]
    for labels in (*pairs, [1.0, 2**53 + 1]):
        sets = make(labels)
        assert sets.to_lists() == [[label] for label in labels]
        assert CandidateSets.from_lists([[label] for label in labels]) == sets
        assert sets.with_classes(labels[::-1]).to_lists() == sets.to_lists()
        assert sets.contains(labels).all()
        assert not sets.contains(labels[::-1]).any()
    for labels in ([-1, 2**63 + 1], [2**70, 1], [-1.0, 2**64 - 1]):
        with pytest.raises(
            CandidateError, match=r"no common type .* \(row .*write them as strings"
        ):
            CandidateSets.from_labels(labels)
    with pytest.raises(CandidateError, match="unknown class"):
        CandidateSets.from_labels([2**53 + 1], classes=np.array([2.0**53, 0]))


@settings(max_examples=60)
@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=5), min_size=1, max_size=8))
def test_a_label_named_again_is_a_vote(rows):
    votes = np.array([[row.count(label) for label in "abc"] for row in rows])
    expected = CandidateSets.from_counts(votes, classes=list("abc"))
    if votes.max() == 1:  # sets
        expected = CandidateSets(expected.indptr, expected.indices, expected.classes)
    assert CandidateSets.from_lists(rows, classes=list("abc")) == expected
    assert CandidateSets.from_strings(map("|".join, rows), classes=list("abc")) == expected
    assert CandidateSets.from_lists(map(set, rows), classes=list("abc")).counts is None


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sets(st.integers(0, 4), min_size=1), st.integers(-1, 6)), min_size=1))
def test_contains_is_membership(rows):
    sets = CandidateSets.from_lists([row for row, _ in rows], classes=[3, 1, 0, 4, 2])
    for dtype in (np.int8, np.int64, float, object):
        labels = np.array([label for _, label in rows], dtype)
        assert sets.contains(labels).tolist() == [label in row for row, label in rows]


def test_no_version_of_scikit_learn_takes_candidates_for_a_frame():
    # check_array of 1.6 to 1.8 asks a pandas frame for its dtypes, and knows it by this name.
    assert not hasattr(CandidateSets(**PARTS), "sparse")
    assert CandidateSets(**PARTS).to_sparse().toarray().tolist() == [[1, 0], [0, 1]]
