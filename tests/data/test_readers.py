"""Files of published data sets are read as they are, and damaged ones are refused in one
sentence.
"""

import struct
import tracemalloc

import numpy as np
import pytest
from scipy import io, sparse

from surelabel.data import readers, unpacking
from surelabel.data._mat import load_mat
from surelabel.data.readers import read_crowd, read_csv, read_mat, read_npz
from surelabel.exceptions import DataFileError, MemoryNeedError

X = np.array([[0.5, -1.0], [2.0, 3.0], [4.0, 5.0], [0.0, 1.0]])
CANDIDATES = [[0, 2], [1], [0, 1, 2], [2]]
TRUTH = [2, 1, 0, 2]
PARTIAL = np.array([[1, 0, 1, 0], [0, 1, 1, 0], [1, 0, 1, 1]])
TARGET = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 1]])


def write_mat(path, **changes):
    content = {"data": X, "partial_target": PARTIAL, "target": TARGET} | changes
    io.savemat(path, content, do_compression=True)
    return path


@pytest.mark.parametrize(
    "make", [sparse.csc_matrix, sparse.csr_matrix, np.asarray], ids=["csc", "csr", "dense"]
)
@pytest.mark.parametrize("dtype", [np.float64, np.uint8, bool, np.int32])
def test_label_matrices_may_be_sparse_or_dense_and_of_any_number(tmp_path, make, dtype):
    partial, target = make(PARTIAL.astype(dtype)), make(TARGET.astype(dtype))
    data = read_mat(write_mat(tmp_path / "a.mat", partial_target=partial, target=target))
    np.testing.assert_array_equal(data.X, X)
    assert data.candidates.to_lists() == CANDIDATES
    assert data.candidates.classes.tolist() == [0, 1, 2]
    assert data.y.tolist() == TRUTH


@pytest.mark.parametrize(
    "data",
    [X.astype(np.float32), sparse.csc_matrix(X), X.astype(np.int16)],
    ids=["float32", "sparse", "int"],
)
def test_instances_become_float64_whatever_they_were(tmp_path, data):
    read = read_mat(write_mat(tmp_path / "a.mat", data=data)).X
    assert read.dtype == np.float64
    np.testing.assert_array_equal(read, data.toarray() if sparse.issparse(data) else data)


def test_a_label_that_is_never_a_candidate_stays_in_the_label_space(tmp_path):
    partial, target = (np.vstack([matrix, np.zeros((1, 4))]) for matrix in (PARTIAL, TARGET))
    path = write_mat(tmp_path / "a.mat", partial_target=partial, target=target)
    assert read_mat(path).candidates.shape == (4, 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": np.array([["a", "b"]], dtype=object)}, "'data' should be a matrix of numbers"),
        ({"data": np.array(["ab", "cd"])}, "'data' should be a matrix of numbers"),
        ({"data": np.zeros((0, 2))}, "'data' should be a matrix of numbers"),
        ({"data": np.where(X == 3, np.nan, X)}, "'data' holds NaN or infinity in row 1$"),
        ({"data": X[:3]}, "'partial_target' is 3 × 4, but it should be 3 × 3"),
        ({"target": TARGET[:2]}, "'target' is 2 × 4, but it should be 3 × 4"),
        ({"partial_target": PARTIAL.T}, "'partial_target' is 4 × 3, but"),
        ({"partial_target": PARTIAL * 2}, "must hold only 0 and 1"),
        ({"partial_target": PARTIAL * [[1, 1, 1, 0]]}, r"1 row\(s\) have no candidate .*: row 3"),
        ({"target": PARTIAL}, "'target' names more than one true label for instance 0, 2"),
        ({"target": TARGET * [[0, 1, 1, 1]]}, "no candidate label: row 0"),
    ],
)
def test_a_wrong_variable_is_named(tmp_path, changes, message):
    path = write_mat(tmp_path / "a.mat", **changes)
    with pytest.raises(DataFileError, match=message) as caught:
        read_mat(path)
    assert str(path) in str(caught.value)


def test_a_missing_variable_is_named_with_those_that_are_there(tmp_path):
    io.savemat(tmp_path / "a.mat", {"data": X, "labels": TARGET})
    with pytest.raises(
        DataFileError, match="has no variable partial_target, target; it holds data, labels"
    ):
        read_mat(tmp_path / "a.mat")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9])
def test_a_truncated_mat_file_is_refused(tmp_path, share):
    path = write_mat(tmp_path / "a.mat")
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DataFileError, match=r"a\.mat"):
        read_mat(path)


def test_another_kind_of_file_is_refused(tmp_path):
    path = tmp_path / "a.mat"
    path.write_text("<html>404 not found</html>" * 100)
    with pytest.raises(DataFileError, match="damaged, or not a MATLAB file"):
        read_mat(path)


def test_the_hdf5_form_of_matlab_is_refused_with_the_way_out(tmp_path):
    path = tmp_path / "a.mat"
    path.write_bytes(
        b"MATLAB 7.3 MAT-file".ljust(124) + struct.pack("<H2s", 0x0200, b"IM") + bytes(512)
    )
    with pytest.raises(DataFileError, match=r"v7.3 file; save it .* with save\(..., '-v7'\)"):
        read_mat(path)


def test_csv_labels_are_numbers_only_if_all_are(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("f,g,class\n1,2.5,3\n-4,1e-2,12\n")
    X, y = read_csv(path)
    assert (y.tolist(), X.tolist()) == ([3, 12], [[1, 2.5], [-4, 0.01]])
    path.write_text("f,class\n1,3\n2,x\n")
    assert read_csv(path)[1].tolist() == ["3", "x"]


def test_npz_round_trip(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=X.astype(np.float32), y=np.array(TRUTH), n_train=3)
    found, y = read_npz(tmp_path / "a.npz")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, X)
    assert y.tolist() == TRUTH


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": X}, "y is not a file in the archive"),
        ({"X": X, "y": np.array(TRUTH[:3])}, r"X has shape \(4, 2\) and y \(3,\)"),
        ({"X": X.ravel(), "y": np.array(TRUTH)}, r"should be \(m, n\) and \(m,\)"),
        ({"X": X, "y": np.array([{1}, {2}, {3}, {4}])}, "not an .npz archive of numbers"),
    ],
)
def test_a_wrong_npz_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataFileError, match=message):
        read_npz(tmp_path / "a.npz")


VOTES = {
    "X": X.astype(np.float32),
    "truth": np.array(TRUTH, np.int16),
    "classes": np.array(["a", "b", "c"]),
    "row": np.array([0, 0, 1, 2, 2, 3]),
    "annotator": np.array([0, 1, 1, 0, 2, 1]),
    "label": np.array([0, 2, 1, 0, 0, 2]),
}


def test_votes_are_read_with_the_sets_they_make(tmp_path):
    np.savez(tmp_path / "a.npz", **VOTES)
    data = read_crowd(tmp_path / "a.npz")
    assert data.X.dtype == np.float64
    assert data.candidates.to_lists() == [["a", "c"], ["b"], ["a"], ["c"]]
    assert data.candidates.votes.tolist() == [[0, 2, -1], [-1, 1, -1], [0, -1, 0], [-1, 2, -1]]
    assert data.y.tolist() == ["c", "b", "a", "c"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"row": np.array([0, 0, 1, 2, 2, 4])}, "not votes: index 4 is out of bounds"),
        ({"row": np.array([0, 0, 1, 2, 2, 2])}, "have no candidate label: row 3"),
        ({"row": np.array([0, 0, 1, 2, 2])}, "not votes: shape mismatch"),
        ({"label": np.array([0, 2, 1, 0, 0, 3])}, "not votes: .*3"),
        ({"label": np.array([0, 2, 1, 0, -2, 2])}, "a row or a label has a number below 0"),
        ({"annotator": np.array([], int)}, "not votes: "),
        ({"truth": np.array([2, 1, 0])}, r"X has shape \(4, 2\) and truth \(3,\)"),
        ({"truth": np.array([2, 1, 0, 3])}, "not votes: index 3 is out of bounds"),
        ({"X": X.ravel()}, r"X has shape \(8,\)"),
    ],
)
def test_wrong_votes_are_refused(tmp_path, changes, message):
    np.savez(tmp_path / "a.npz", **VOTES | changes)
    with pytest.raises(DataFileError, match=message):
        read_crowd(tmp_path / "a.npz")


def test_a_single_array_is_not_an_archive(tmp_path):
    with (tmp_path / "a.npz").open("wb") as file:
        np.save(file, X)
    with pytest.raises(DataFileError, match=r"not an \.npz archive"):
        read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn", b"not an archive"])
def test_a_damaged_npz_is_refused(tmp_path, content):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(DataFileError, match="damaged"):
        read_npz(tmp_path / "a.npz")


def test_matlab_variables_are_those_that_scipy_reads(tmp_path):
    rng = np.random.default_rng(0)
    variables = {
        **{kind: rng.integers(0, 100, (3, 5)).astype(kind) for kind in ("i1", "u2", "i8", "f4")},
        "cube": rng.normal(size=(2, 3, 4)),
        "scalar": np.array([[7.5]]),
        "empty": np.zeros((0, 3)),
        "truth": np.array([[True, False]]),
        "sparse": sparse.csc_array(np.eye(4)[:, [0, 2, 2]]),
        "nothing": sparse.csc_array((3, 2)),
    }
    for compressed in (False, True):
        io.savemat(tmp_path / "a.mat", variables, do_compression=compressed)
        found = load_mat(tmp_path / "a.mat")
        assert list(found) == list(variables)
        for name, expected in variables.items():
            assert found[name].shape == expected.shape
            difference = found[name] != expected
            assert not (difference.nnz if sparse.issparse(expected) else difference.any())
            assert found[name].dtype == expected.dtype


def test_other_matlab_variables_are_named_in_words(tmp_path):
    content = {
        "text": "naïve 😀",
        "cells": np.array([1, "x"], object),
        "a struct": {"a": 1},
        "complex numbers": np.array([[1 + 2j]]),
    }
    io.savemat(tmp_path / "a.mat", {f"v{i}": part for i, part in enumerate(content.values())})
    assert list(load_mat(tmp_path / "a.mat").values()) == list(content)


def test_unpacking_of_archives_stops_at_the_limit(tmp_path, monkeypatch):
    write_mat(tmp_path / "a.mat", more=np.zeros(4_000_000))
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((10_000, 100)), y=np.zeros(10_000))
    monkeypatch.setattr(unpacking, "available_memory", lambda: 20_000_000)
    tracemalloc.start()
    for read, name in ((read_mat, "a.mat"), (read_npz, "a.npz")):
        with pytest.raises(DataFileError, match=r"unpacked, the file has more than 0\.005 GB"):
            read(tmp_path / name)
    assert tracemalloc.get_traced_memory()[1] < 12e6
    tracemalloc.stop()


@pytest.mark.parametrize(("reader", "name"), [(read_mat, "a.mat"), (read_npz, "a.npz")])
def test_memory_that_runs_out_is_not_called_something_else(tmp_path, monkeypatch, reader, name):
    write_mat(tmp_path / "a.mat")
    np.savez(tmp_path / "a.npz", X=X, y=np.array(TRUTH))

    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(readers, "load_mat", full)
    monkeypatch.setattr(np, "load", full)
    with pytest.raises(MemoryNeedError) as caught:
        reader(tmp_path / name)
    assert "damaged" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([0, 1, 2, 3, 4], [0, 1, 2, 3, 0]),
        ([0, 1, 2, 3, 4], [0, 1, 2, 3, 5]),
        ([0, 1, 2, 3, 4], [0, 3, 2, 3, 4]),
        ([0, 1, 2, 3, 4], [-1, 1, 2, 3, 4]),
        ([2, 1, 0, 2], [2_000_000, 1, 0, 2]),
        ([2, 1, 0, 2], [2, 1, 0, -1]),
    ],
)
def test_sparse_positions_outside_the_matrix_are_refused(tmp_path, old, new):
    path = tmp_path / "a.mat"
    target = sparse.csc_array(TARGET.astype(float))
    io.savemat(path, {"data": X, "partial_target": PARTIAL, "target": target})
    old, new = (np.array(part, "<i4").tobytes() for part in (old, new))
    assert path.read_bytes().count(old) == 1
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(DataFileError, match=r"a\.mat is damaged"):
        read_mat(path)
