"""Image files named in a table → small copies embedded in the page."""

from __future__ import annotations

import base64
import io
import os
import warnings
from functools import lru_cache
from pathlib import Path

from PIL import Image, ImageOps

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
"""The formats that are opened: those that hold only pixels, none that can hold a program."""
LARGEST_FILE = 32 * 2**20
LARGEST_IMAGE = 10**8
"""Larger files (in bytes) and larger images (in pixels) are left out."""


class Images:
    """Small copies of the images in one folder, up to a total size.

    Parameters
    ----------
    folder : path-like
        Only files in this folder are read, whatever the table says: no path or link that leads out
        of it, and no URL.
    room : int
        Maximum size of all copies together, in characters of the page.
    """

    def __init__(self, folder: str | Path, room: int) -> None:
        self.folder = Path(folder).resolve()
        self.room = room
        self.left_out = 0
        """Number of requested images that are not shown."""

    def embed(self, name: str | None, edge: int) -> str | None:
        """The image as a data URI, at most ``edge`` pixels wide and high; None if it is
        not shown.
        """
        if not name:
            return None
        path = self.inside(name)
        small = _reduce(path, edge) if path else None
        if small is None or len(small) > self.room:
            self.left_out += 1
            return None
        self.room -= len(small)
        return small

    def inside(self, name: str) -> Path | None:
        """The path of a file, if the file exists and lies in the folder even after links are
        followed.
        """
        # the text of the path first, so that files outside are never touched
        path = Path(os.path.normpath(self.folder / name))
        if not path.is_relative_to(self.folder):
            return None
        try:
            path = path.resolve()
            readable = (
                path.is_relative_to(self.folder)
                and path.is_file()
                and path.stat().st_size <= LARGEST_FILE
            )
        except (OSError, ValueError):  # an impossible name
            return None
        return path if readable else None


def open_image(path: Path, edge: int) -> Image.Image | None:
    """An image, upright, shrunk and on a white background; None if it cannot be read or is too
    large.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on damaged metadata
            with Image.open(path, formats=FORMATS) as image:
                if image.width * image.height > LARGEST_IMAGE:
                    return None
                image.draft("RGB", (2 * edge, 2 * edge))
                picture = ImageOps.exif_transpose(image)
                picture.thumbnail((edge, edge))
                picture = picture.convert("RGBA")
    except (
        OSError,
        ValueError,
        SyntaxError,
        Image.DecompressionBombError,
    ):  # what Pillow raises on damaged files
        return None
    paper = Image.new("RGB", picture.size, "white")
    paper.paste(picture, mask=picture)
    return paper


@lru_cache(maxsize=1024)
def _reduce(path: Path, edge: int) -> str | None:
    """Decode and encode again, so that nothing but pixels gets through."""
    paper = open_image(path, edge)
    if paper is None:
        return None
    data = io.BytesIO()
    paper.save(data, "JPEG", quality=80)
    return f"data:image/jpeg;base64,{base64.b64encode(data.getvalue()).decode()}"
