"""Files that do not fit into memory: compressed content is read up to a limit, because a small file
can hold more than any memory does.
"""

from __future__ import annotations

import os
from typing import Any

from ..exceptions import MemoryNeedError, ParameterError, SurelabelError

#: Size in GB that a file may have unpacked, unless the environment variable says otherwise.
LIMIT, VARIABLE = 4, "SURELABEL_MAX_UNPACKED"
PIECE = 1 << 20


def limit() -> int:
    """The limit in bytes."""
    text = os.environ.get(VARIABLE) or str(LIMIT)
    try:
        size = float(text) * 1e9
    except ValueError:
        size = 0
    if not 1 <= size < 1e18:
        raise ParameterError(
            f"the environment variable {VARIABLE} should be a number of GB, not {text!r}"
        )
    return int(size)


def unpacked(stream: Any, source: str | os.PathLike[str], error: type[SurelabelError]) -> bytes:
    """All that a stream holds, counted while it is unpacked."""
    pieces, left = [], limit()
    while piece := stream.read(PIECE):
        left -= len(piece)
        if left < 0:
            raise too_large(source, error)
        pieces.append(piece)
    return b"".join(pieces)


def too_large(source: str | os.PathLike[str], error: type[SurelabelError]) -> SurelabelError:
    """The error for a file beyond the limit."""
    return error(
        f"{source}: unpacked, the file has more than {limit() / 1e9:g} GB and is read no further; "
        f"if it should be so large, set the environment variable {VARIABLE} to more GB"
    )


def no_memory(source: str | os.PathLike[str]) -> MemoryNeedError:
    """The error for a file that does not fit into memory."""
    size = f" of {os.path.getsize(source) / 1e6:,.1f} MB" if os.path.isfile(source) else ""
    return MemoryNeedError(
        f"{source}: memory ran out while the file{size} was read; free some, or split the file"
    )
