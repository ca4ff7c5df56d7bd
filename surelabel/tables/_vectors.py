"""Cells that are vectors: lists of numbers, text such as ``[0.5, 1.2]``, or paths of .npy files."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.arrow_tables import in_words, is_list, is_number
from ..data.spelling import blanked, flags, missing, parse_numbers
from ..exceptions import TableError
from ._pictures import folder_of

#: Larger numbers usually mean "missing" or "infinite", and their squares overflow.
HUGE = 1e100
#: Extensions of files that hold vectors.
FILE = r"(?i)\.npy$"
#: Lists and tuples.
LISTED = r"^(?:\[[^\[\]()]*[0-9][^\[\]()]*\]|\([^\[\]()]*[0-9][^\[\]()]*\))$"


def checked_vectors(
    column: pa.ChunkedArray, name: str, source: str, length: int | None
) -> pa.ChunkedArray:
    """The vectors, if they all have the same length and only finite numbers."""
    if not is_list(column.type) or not (
        is_number(column.type.value_type) or column.null_count == len(column)
    ):
        raise TableError(
            f"{source}: column {name!r} holds {in_words(column.type)}, not vectors of numbers; "
            "leave the column out"
        )
    lengths = pc.list_value_length(column)
    length = (
        length or pc.max(lengths.slice(0, pc.index(lengths.is_valid(), True).as_py() + 1)).as_py()
    )
    if (row := pc.index(pc.equal(lengths, length), False).as_py()) >= 0:
        raise TableError(
            f"{source}: row {row + 1}, column {name!r}: a vector of {lengths[row].as_py()} numbers "
            f"where {length} are expected; "
            "all vectors must have the same length"
        )
    if not length:
        raise TableError(f"{source}: column {name!r} holds no vector; leave the column out")
    numbers = pc.list_flatten(column)
    good = pc.less(pc.abs(numbers.cast(pa.float64(), safe=False)), HUGE)
    if (position := pc.index(pc.fill_null(good, False), False).as_py()) >= 0:
        row = np.flatnonzero(column.is_valid())[position // length]
        raise TableError(
            f"{source}: row {row + 1}, column {name!r}: a vector with a number missing or "
            "infinite; correct it or empty the cell"
        )
    return column


def _kept_vectors(
    texts: pa.Array, start: int, name: str, source: str
) -> Iterator[np.ndarray | None]:
    """The numbers of each file as one vector; None for a missing cell."""
    from .images import Images  # imports Pillow

    folder = Images(folder_of(source), 0)
    for row, text in enumerate(texts.to_pylist(), start + 1):
        path = None if text is None else folder.inside(text)
        try:
            vector = None if path is None else np.load(path, "r", allow_pickle=False)
            bad = text is not None and (vector is None or vector.dtype.kind not in "biuf")
        except (OSError, ValueError, EOFError):
            bad = True
        if bad:
            raise TableError(
                f"{source}: row {row}, column {name!r}: {text!r} is not a file of numbers written "
                f"by numpy.save below {folder.folder}; correct the path or empty the cell"
            )
        yield None if vector is None else vector.ravel().astype(np.float64)


def _plain_entries(texts: pa.Array) -> pa.Array:
    """``[0.5]`` for ``[np.float64(0.5)]``, as NumPy 2 prints a list of its numbers."""
    if not pc.any(pc.match_substring(texts, "np.")).as_py():
        return texts
    return pc.replace_substring_regex(texts, r"np\.[a-z]+[0-9]+\(([^()]*)\)", r"\1")


def _with_commas(texts: pa.Array) -> pa.Array:
    """``0.5,1.2`` for ``0.5 1.2``, as NumPy prints an array; texts with commas as they are."""
    spaced = pc.invert(pc.match_substring(texts, ","))
    if not pc.any(spaced).as_py():
        return texts
    commas = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"\s+", ",")
    return pc.if_else(spaced, commas, texts)


def written_vectors(column: pa.ChunkedArray, name: str, source: str) -> pa.ChunkedArray:
    """Vectors that are written as lists of numbers or kept in files; any other cell is an error."""
    start, parts = 0, []
    for chunk in column.cast(pa.large_string()).chunks:
        absent = missing(chunk)
        texts = blanked(pc.utf8_trim_whitespace(chunk), absent)
        if pc.all(pc.match_substring_regex(texts, FILE), min_count=1).as_py():
            kept = list(_kept_vectors(texts, start, name, source))
            parts.append(pa.array(kept, pa.list_(pa.float64())))
            start += len(chunk)
            continue
        texts = _plain_entries(texts)
        listed = pc.fill_null(pc.match_substring_regex(texts, LISTED), True)
        cells = pc.split_pattern(_with_commas(pc.utf8_slice_codeunits(texts, 1, -1)), ",")
        values, wrong = parse_numbers(cells.flatten())
        bad = ~flags(listed)
        bad[pc.list_parent_indices(cells).to_numpy()[wrong]] = True
        if bad.any():
            raise TableError(
                f"{source}: row {start + np.argmax(bad) + 1}, column {name!r}: this is not a "
                "vector such as [0.5, 1.2]; correct it or empty the cell"
            )
        parts.append(pa.ListArray.from_arrays(cells.offsets, pa.array(values), mask=absent))
        start += len(chunk)
    return pa.chunked_array(parts, pa.list_(pa.float64()))
