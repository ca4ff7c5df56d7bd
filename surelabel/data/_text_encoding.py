"""The bytes of a text file → UTF-8."""

from __future__ import annotations

import codecs

import numpy as np
import pyarrow as pa

from ..exceptions import TableError
from ._delimited import Content

#: First bytes of files that are not text tables, and what to do with them.
SIGNATURES = {
    b"PAR1": "this is a Parquet file; name it .parquet",
    b"ARROW1": "this is an Arrow file; name it .arrow",
    b"PK\x03\x04": "this is an Excel workbook or a zip archive; name it .xlsx or .zip",
    b"\xd0\xcf\x11\xe0": "this is an old Excel workbook; save it as .xlsx",
    b"\x1f\x8b": "this is compressed by gzip; name it .csv.gz",
    b"BZh": "this is compressed by bzip2; name it .csv.bz2",
    b"\xfd7zXZ": "this is compressed by xz; name it .csv.xz",
    b"\x28\xb5\x2f\xfd": "this is compressed by zstd; name it .csv.zst",
}
BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: Special encodings of Python, for names and source code.
NOT_OF_FILES = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")


def as_utf8(content: Content, source: str, encoding: str | None) -> Content:
    if not len(content):
        raise TableError(f"{source}: the file is empty; a table has a header line and rows")
    for signature, advice in SIGNATURES.items():
        if content[: len(signature)] == signature:
            raise TableError(f"{source}: {advice}")
    encoding = encoding or next(
        (name for bom, name in BOMS.items() if content[: len(bom)] == bom), "utf-8"
    )
    name = _text_encoding(encoding, source)
    if name not in ("utf-8", "utf-8-sig"):
        content = _decoded(content, source, name)
    if (nul := content.find(b"\0")) >= 0:
        line = content[:nul].count(b"\n") + 1
        raise TableError(
            f"{source}: line {line} holds a NUL byte, so this is not text (if it is, name its "
            "encoding: utf-16-le?)"
        )
    _check_utf8(content, source)
    return content


def _text_encoding(encoding: str, source: str) -> str:
    """Python's name of an encoding for text files."""
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, ValueError):
        codec = None
    # Python also has codecs that do not produce text (base64, zlib), and some for parts of a text.
    if codec is None or not codec._is_text_encoding or codec.name in NOT_OF_FILES:
        raise TableError(
            f"{source}: there is no text encoding {encoding!r}; common ones are utf-8, latin-1, "
            "cp1252, utf-16"
        )
    return codec.name


def _decoded(content: Content, source: str, encoding: str) -> bytes:
    """The content as UTF-8."""
    try:
        text = content[:].decode(encoding)
    except UnicodeDecodeError as error:
        line, reason = content[: error.start].count(b"\n") + 1, error.reason
    else:
        try:
            return text.encode()
        except UnicodeEncodeError as error:  # utf-7 can write half a character
            line, reason = text[: error.start].count("\n") + 1, "half a character"
    raise TableError(f"{source}: line {line} is not {encoding} ({reason}); name another encoding")


def _check_utf8(content: Content, source: str) -> None:
    offsets = pa.py_buffer(np.array([0, len(content)], np.int64))
    try:  # Arrow checks a gigabyte in a fraction of a second, but does not say where the error is
        pa.Array.from_buffers(
            pa.large_string(), 1, [None, offsets, pa.py_buffer(content)]
        ).validate(full=True)
    except pa.ArrowInvalid:
        try:
            content[:].decode()
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            raise TableError(
                f"{source}: line {line} holds the byte 0x{content[error.start]:02x}, which is not "
                "UTF-8; name the file's "
                "encoding, often latin-1 (--settings encoding=latin-1), or save it as UTF-8"
            ) from None
