"""A column may name .npy files, of one vector each."""

import numpy as np
import pytest

import surelabel
from surelabel.data.table_files import read_table
from surelabel.exceptions import TableError

TRUTH = np.repeat(["cat", "cow"], 30)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["embedding,kind"]
    (tmp_path / "vectors").mkdir()
    for row, truth in enumerate(TRUTH):
        vector = rng.normal(size=(2, 4)) + (3 if truth == "cow" else 0)
        np.save(tmp_path / f"vectors/{row}.npy", vector.astype(np.float32))
        lines.append(f"vectors/{row}.npy,{truth if row % 3 else 'cat|cow'}")
    (tmp_path / "table.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    return tmp_path


def test_the_vectors_are_learned_from(folder):
    path = str(folder / "table.csv")
    cleaned = surelabel.clean(read_table(path), labels="kind", separator="|")
    assert (np.array(cleaned.frame["label"].to_pylist()) == TRUTH).mean() > 0.95
    assert "vector: embedding" in str(surelabel.inspect(path, labels="kind", separator="|"))


@pytest.mark.parametrize(
    "content", [None, b"", b"no array", np.array(["a"]), np.array([{}], object), "outside"]
)
def test_what_is_no_vector_is_named(folder, content):
    path, cell = folder / "vectors/7.npy", "vectors/7.npy"
    path.unlink()
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, np.ndarray):
        np.save(path, content)
    elif content == "outside":
        np.save(folder.parent / "outside.npy", np.ones(8))
        cell = "../outside.npy"
        table = (folder / "table.csv").read_text(encoding="utf-8")
        changed = table.replace("vectors/7.npy", cell)
        (folder / "table.csv").write_text(changed, encoding="utf-8")
    with pytest.raises(TableError, match=f"row 8, column 'embedding': '{cell}' is not a file"):
        surelabel.clean(read_table(str(folder / "table.csv")), labels="kind", separator="|")
