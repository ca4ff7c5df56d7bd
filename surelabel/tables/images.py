"""Image files named in a table → small copies inside the page."""

from __future__ import annotations

import base64
import io
import os
import warnings
from functools import lru_cache
from pathlib import Path

from PIL import Image, ImageOps

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
"""What is opened: formats of pixels only, none that can hold a program."""
LARGEST_FILE = 32 * 2**20
LARGEST_IMAGE = 10**8
"""Bytes of a file and pixels of an image beyond which it is left out."""


class Images:
    """Copies of the images below one folder, until they take up too much room.

    Parameters
    ----------
    folder : path-like
        Only files in it are read, whatever the table says: no path that leads out of it, no link
        that does, no URL.
    room : int
        Characters that all copies together may take up in the page.
    """

    def __init__(self, folder: str | Path, room: int) -> None:
        self.folder = Path(folder).resolve()
        self.room = room
        self.left_out = 0
        """Number of images asked for that are not shown."""

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
        """The file of this name, if it is one and lies in the folder, also when links are
        followed.
        """
        # by the letters first, so that a path that leads out is not even asked for
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
        except (OSError, ValueError):  # a name that cannot be one
            return None
        return path if readable else None


def open_image(path: Path, edge: int) -> Image.Image | None:
    """An image, turned upright, shrunk and on white; None if it cannot be read or is too large."""
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
    """Decode and encode anew: nothing but pixels gets through."""
    paper = open_image(path, edge)
    if paper is None:
        return None
    data = io.BytesIO()
    paper.save(data, "JPEG", quality=80)
    return f"data:image/jpeg;base64,{base64.b64encode(data.getvalue()).decode()}"
