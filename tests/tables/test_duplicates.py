import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelabel import CandidateSets
from surelabel.solvers.equal_rows import equal_rows
from surelabel.tables.columns import Feature
from surelabel.tables.duplicates import conflicts, equal_cells


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, -0.0, 1.5]), st.sampled_from([0.0, 2.0])),
        min_size=1,
        max_size=20,
    )
)
def test_equal_rows_share_a_number(rows):
    groups = equal_rows([np.array(rows)])
    firsts = {}
    for row, group in zip(rows, groups, strict=True):
        assert firsts.setdefault(tuple(x + 0.0 for x in row), group) == group
    assert len(firsts) == len(set(groups.tolist()))
    assert groups[0] == 0


def test_equal_rows_of_many_blocks_and_orders():
    X = np.asfortranarray(np.repeat(np.arange(5000, dtype=np.float32)[:, None], 3, axis=1))
    groups = equal_rows([np.concatenate([X, X[::-1]])])
    assert np.array_equal(groups, np.concatenate([np.arange(5000), np.arange(5000)[::-1]]))


def test_only_groups_with_different_candidates_conflict():
    sets = CandidateSets.from_lists([["a"], ["a", "b"], ["b"], ["b"], ["c"], ["a"]])
    assert conflicts(np.array([0, 1, 0, 2, 3, 1]), sets).tolist() == [0, 1, 0, -1, -1, 1]
    assert conflicts(np.arange(6), sets).tolist() == [-1] * 6


@pytest.mark.parametrize("n_columns", [3, 16, 40])
def test_cells_of_many_columns_are_compared_some_at_a_time(n_columns):
    rng = np.random.default_rng(0)
    values = rng.choice([0.0, -0.0, np.nan, 1.5], (30, n_columns))
    values[10:20] = values[:10]
    values[25:, :-1] = values[20:25, :-1]  # differ in the last column, if at all
    table = pa.table({f"x{j}": values[:, j] for j in range(n_columns)})
    features = [Feature(name, "number") for name in table.column_names]
    keys = [tuple((values[i] + 0).tolist()) for i in range(30)]
    first = {}
    expected = [first.setdefault(repr(key), len(first)) for key in keys]
    assert equal_cells(features, table).tolist() == expected


def test_rows_are_equal_if_their_texts_are():
    table = pa.table({"text": ["tesseract deu", "tesseract fra", "tesseract deu", None]})
    assert equal_cells([Feature("text", "text")], table).tolist() == [0, 1, 0, 2]
