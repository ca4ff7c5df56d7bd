"""Zip bombs: a small file can unpack to more than any memory holds. So compressed content is read
only up to a limit, and a table of few cells that are far apart is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any
from zipfile import ZipInfo

from ..exceptions import MemoryNeedError, SurelabelError
from ..solvers.memory import available_memory

#: Bytes unpacked at a time.
PIECE = 1 << 20
#: A table of more than ``FREE_CELLS`` cells (80 MB) needs a value in one of ``SPARSEST`` or more.
FREE_CELLS, SPARSEST = 10_000_000, 1000


def limit() -> int:
    """The largest size of unpacked content in bytes: a quarter of the free memory, because the
    table made from it takes memory, too.
    """
    return (available_memory() or 16 << 30) // 4


def unpacked(stream: Any, source: str | os.PathLike[str], error: type[SurelabelError]) -> bytes:
    """The whole content of a stream, whose size is checked while it is unpacked."""
    pieces, left = [], limit()
    while piece := stream.read(PIECE):
        left -= len(piece)
        if left < 0:
            raise too_large(source, error)
        pieces.append(piece)
    return b"".join(pieces)


def check_members(
    members: Iterable[ZipInfo], source: str | os.PathLike[str], error: type[SurelabelError]
) -> None:
    """Refuse members of a zip archive that are too large; zipfile never yields more bytes than
    they announce.
    """
    if sum(member.file_size for member in members) > limit():
        raise too_large(source, error)


def too_large(source: str | os.PathLike[str], error: type[SurelabelError]) -> SurelabelError:
    """The error for a file beyond the limit."""
    return error(
        f"{source}: unpacked, the file has more than {limit() / 1e9:.3g} GB, a quarter of the "
        "memory that is free, so it was not read; split it"
    )


def too_sparse(n_rows: int, n_columns: int, n_values: int) -> bool:
    """Whether a table has far more cells than values."""
    return n_rows * n_columns > FREE_CELLS + SPARSEST * n_values


def no_memory(source: str | os.PathLike[str]) -> MemoryNeedError:
    """The error for a file that does not fit into memory."""
    size = f" of {os.path.getsize(source) / 1e6:,.1f} MB" if os.path.isfile(source) else ""
    return MemoryNeedError(
        f"{source}: memory ran out while reading the file{size}; free some memory, or split the "
        "file"
    )
