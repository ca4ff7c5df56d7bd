"""Labels say the same in every form, there and back."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import io

from surelabel.data.forms import MAT_LABELLING, labels_to_mat, mat_to_table, to_form
from surelabel.data.labelling import Labelling, read_labels
from surelabel.data.readers import read_mat
from surelabel.exceptions import DataFileError, ParameterError, TableError

TABLE = pa.table(
    {
        "id": ["p", "q", "r", "s"],
        "x": [0.5, 1.5, -1.0, 2.0],
        "v": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]],
        "labels": ["cat|dog", "dog", None, "cat|cow"],
        "gold": ["cat", "dog", "cow", "cow"],
    }
)
NOW = Labelling(labels="labels", gold="gold", id="id")
THEN = {
    "labels": NOW,
    "lists": NOW,
    "indicator": Labelling(indicator=("cat", "cow", "dog"), gold="gold", id="id"),
    "long": Labelling(labels="labels", gold="gold", id="id", long=True),
}


@pytest.mark.parametrize("form", THEN)
def test_every_form_says_the_same(form):
    before = read_labels(TABLE, NOW)
    table = to_form(before, NOW, form)
    after = read_labels(table, THEN[form])
    assert after.candidates == before.candidates
    assert after.gold.tolist() == before.gold.tolist()
    assert after.ids.tolist() == before.ids.tolist()
    assert after.table["v"].to_pylist() == TABLE["v"].to_pylist()
    back = to_form(after, THEN[form], "labels")
    assert back["labels"].to_pylist()[:2] == ["cat|dog", "dog"]


def test_rows_without_any_label_stay_so():
    table = TABLE.drop_columns("gold")
    for form, then in THEN.items():
        labelling = Labelling(labels=then.labels, indicator=then.indicator, id="id", long=then.long)
        after = read_labels(
            to_form(read_labels(table, Labelling(labels="labels", id="id")), NOW, form), labelling
        )
        assert after.unlabelled.tolist() == [False, False, True, False], form


VOTES = pa.table(
    {"x": [1.0, 2.0, 3.0], "ann": [3, None, None], "bob": [3, 1, None], "eve": [2, None, None]}
)
BY_COLUMN = Labelling(votes=("ann", "bob", "eve"))


def test_votes_become_rows_and_rows_become_votes():
    before = read_labels(VOTES, BY_COLUMN)
    long = to_form(before, BY_COLUMN, "long")
    assert long.to_pydict() == {
        "x": [1.0, 1.0, 1.0, 2.0, 3.0],
        "id": [1, 1, 1, 2, 3],
        "annotator": ["ann", "bob", "eve", "bob", None],
        "labels": [3, 3, 2, 1, None],
    }
    by_row = Labelling(labels="labels", id="id", annotator="annotator", long=True)
    after = read_labels(long, by_row)
    assert after.candidates == before.candidates
    assert after.annotators == before.annotators
    assert after.votes.tolist() == before.votes.tolist()
    wide = to_form(after, by_row, "votes")
    assert wide.select(["x", "ann", "bob", "eve"]).to_pydict() == VOTES.to_pydict()
    assert to_form(before, BY_COLUMN, "lists")["labels"].to_pylist() == [[2, 3], [1], []]


@pytest.mark.parametrize(
    ("table", "labelling", "form", "message"),
    [
        (
            TABLE,
            NOW,
            "columns",
            "there is no form 'columns'; choose from labels, lists, indicator, votes, long",
        ),
        (TABLE, NOW, "votes", "table: it is not known which annotator gave which label"),
        (
            TABLE.append_column("dog", pa.array([1] * 4)),
            NOW,
            "indicator",
            "table: a column 'dog' already exists",
        ),
        (
            VOTES.append_column("labels", pa.array([1] * 3)),
            BY_COLUMN,
            "lists",
            "table: a column 'labels' already exists",
        ),
        (TABLE, Labelling(labels="labels", separator="g"), "labels", None),
        (
            pa.table({"l": [["a|b"], ["c"]]}),
            Labelling(labels="l"),
            "labels",
            r"table: the label 'a\|b' contains the separator '\|'",
        ),
    ],
)
def test_what_cannot_be_said_is_refused(table, labelling, form, message):
    labels = read_labels(table, labelling)
    if message is None:
        assert to_form(labels, labelling, form)["labels"].to_pylist() == [
            "cat|do",
            "do",
            None,
            "cat|cow",
        ]
        return
    with pytest.raises((TableError, ParameterError), match=message):
        to_form(labels, labelling, form)


def test_mat_files_keep_numbers_candidates_and_names(tmp_path):
    before = read_labels(TABLE, NOW)
    labels_to_mat(before, NOW, tmp_path / "a.mat")
    data = read_mat(tmp_path / "a.mat")
    np.testing.assert_array_equal(data.X, [[0.5, 1, 2], [1.5, 3, 4], [-1, 5, 6], [2, 7, 8]])
    assert data.candidates.to_lists() == [[0, 2], [2], [0, 1, 2], [0, 1]]
    assert data.y.tolist() == [0, 2, 1, 1]
    table = mat_to_table(tmp_path / "a.mat")
    assert table.column_names == ["x", "v 1", "v 2", "labels", "gold"]
    after = read_labels(table, MAT_LABELLING)
    assert after.candidates == before.candidates
    assert after.gold.tolist() == before.gold.tolist()


def test_mat_files_without_names_are_numbered(tmp_path):
    matrix = np.array([[1, 0], [1, 1], [0, 1]])
    content = {
        "data": np.eye(2),
        "partial_target": matrix,
        "target": np.array([[1, 0], [0, 0], [0, 1]]),
    }
    for names in ({}, {"label_names": ["one", "two"], "feature_names": ["a", "a"]}):
        io.savemat(tmp_path / "a.mat", content | names)
        table = mat_to_table(tmp_path / "a.mat")
        assert table.to_pydict() == {
            "x1": [1, 0],
            "x2": [0, 1],
            "labels": [[0, 1], [1, 2]],
            "gold": [0, 2],
        }


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            ["a", "b", "c", "d"],
            "column 'new' holds no numbers, which a .mat file needs; exclude it",
        ),
        ([1.0, None, 2.0, 3.0], "row 2, column 'new': a .mat file needs a number in every cell"),
        ([[1.0], [1.0], [1.0], [1.0, 2.0]], "column 'new' holds no numbers"),
    ],
)
def test_a_mat_file_holds_numbers_only(tmp_path, column, message):
    labels = read_labels(TABLE.append_column("new", pa.array(column)), NOW)
    with pytest.raises(TableError, match=message):
        labels_to_mat(labels, NOW, tmp_path / "a.mat")
    assert not list(tmp_path.iterdir())


def test_a_mat_file_needs_all_true_labels(tmp_path):
    labels = read_labels(TABLE, Labelling(labels="labels", id="id"))
    with pytest.raises(
        TableError,
        match=(
            "the true label of every row, which is not known in row 1, 2, 3, 4; name a gold column"
        ),
    ):
        labels_to_mat(labels, NOW, tmp_path / "a.mat")
    only = pa.table({"l": ["a", "b"], "g": ["a", "b"]})
    with pytest.raises(TableError, match="holds numbers, and there is no column of them"):
        labels_to_mat(
            read_labels(only, Labelling(labels="l", gold="g")),
            Labelling(labels="l", gold="g"),
            tmp_path / "a.mat",
        )


def test_missing_and_damaged_mat_files_are_told_apart(tmp_path):
    with pytest.raises(FileNotFoundError):
        mat_to_table(tmp_path / "none.mat")
    (tmp_path / "a.mat").write_bytes(b"no")
    with pytest.raises(DataFileError):
        mat_to_table(tmp_path / "a.mat")
