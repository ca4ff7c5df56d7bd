"""Image files named in a table: small copies for pages, and columns of X (brightness, edges and
colours, without a neural network).
"""

from __future__ import annotations

import base64
import io
import os
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:  # Pillow is imported where an image is opened
    from PIL import Image

#: The formats that are opened: those that hold only pixels, none that can hold a program.
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
#: Their extensions.
ENDINGS = r"(?i)\.(png|jpe?g|gif|webp|bmp|tiff?)$"
#: Larger files (in bytes) and larger images (in pixels) are left out: they may be meant to fill the
#: memory.
LARGEST_FILE, LARGEST_IMAGE = 32 * 2**20, 10**8
#: Number of images opened to see whether a column holds images.
TRIED = 3
#: Pixels per side of the small copy and of the copy for edges, and cells per side of the latter.
SMALL, EDGES, CELLS = 12, 32, 4
#: Directions of edges, and levels of each colour.
DIRECTIONS, LEVELS = 8, 4
WIDTH = SMALL**2 + CELLS**2 * DIRECTIONS + LEVELS**3


def folder_of(source: str) -> Path:
    """Where the images of a table are: beside its file, or where the command runs."""
    return Path(source).resolve().parent if os.path.dirname(source) else Path.cwd()


def find_inside(folder: Path, name: str) -> Path | None:
    """A file's path, if it exists in the folder even after links are followed; otherwise None."""
    # check the text of the path first, so that files outside are never touched
    path = Path(os.path.normpath(folder / name))
    if not path.is_relative_to(folder):
        return None
    try:
        path = path.resolve()
        readable = (
            path.is_relative_to(folder) and path.is_file() and path.stat().st_size <= LARGEST_FILE
        )
    except (OSError, ValueError):  # an impossible name
        return None
    return path if readable else None


def open_image(path: Path, edge: int) -> Image.Image | None:
    """An image, upright, shrunk and on a white background; None if it cannot be read or is too
    large.
    """
    from PIL import Image, ImageOps

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
    # what Pillow raises on damaged files
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    paper = Image.new("RGB", picture.size, "white")
    paper.paste(picture, mask=picture)
    return paper


# -------------------------------------------------------------------- on pages


class Images:
    """Small copies of the images in one folder, up to a total size.

    Parameters
    ----------
    folder : path-like
        Only files in this folder are read, whatever the table says: no path or link that leads out
        of it, and no URL.
    room : int
        Maximum size of all copies together, in characters of the page.

    Attributes
    ----------
    left_out : int
        Number of requested images that are not shown.
    """

    def __init__(self, folder: str | Path, room: int) -> None:
        self.folder = Path(folder).resolve()
        self.room = room
        self.left_out = 0

    def embed(self, name: str | None, edge: int) -> str | None:
        """The image as a data URI, at most ``edge`` pixels wide and high; None if it is
        not shown.
        """
        if not name:
            return None
        path = find_inside(self.folder, name)
        small = _reduce(path, edge) if path else None
        if small is None or len(small) > self.room:
            self.left_out += 1
            return None
        self.room -= len(small)
        return small


@lru_cache(maxsize=1024)
def _reduce(path: Path, edge: int) -> str | None:
    """Decode and encode again, so that only pixels get through."""
    paper = open_image(path, edge)
    if paper is None:
        return None
    data = io.BytesIO()
    paper.save(data, "JPEG", quality=80)
    return f"data:image/jpeg;base64,{base64.b64encode(data.getvalue()).decode()}"


# -------------------------------------------------------------------- as columns of X


def readable_images(paths: pa.Array, source: str) -> list[bool]:
    """Whether each of the first paths leads to a readable image."""
    first = paths.drop_null().slice(0, TRIED).to_pylist()
    return [bool(row) for row in ~np.isnan(describe_images(first, folder_of(source))[:, 0])]


def describe_images(paths: Sequence[str | None], folder: Path) -> np.ndarray:
    """Brightness, edges and colours, one image per row; NaN where it is missing or cannot be
    read.
    """
    found = np.full((len(paths), WIDTH), np.nan, np.float32)
    for row, path in enumerate(paths):
        features = _picture_features(folder, path) if path else None
        if features is not None:
            found[row] = features
    return found


def _picture_features(folder: Path, name: str) -> np.ndarray | None:
    """Brightness, edges and colours of an image, each of length 1; None if it cannot be read."""
    path = find_inside(folder, name)
    picture = open_image(path, 256) if path else None
    if picture is None:
        return None
    from PIL import Image, ImageOps

    colour = picture.convert("RGB")
    gray = ImageOps.autocontrast(colour.convert("L"))
    small = np.asarray(gray.resize((SMALL, SMALL), Image.Resampling.BOX), float) / 255
    large = np.asarray(gray.resize((EDGES, EDGES), Image.Resampling.BILINEAR), float) / 255
    down, right = np.gradient(large)
    strength = np.hypot(down, right)
    direction = np.mod(np.arctan2(down, right) / np.pi * DIRECTIONS, DIRECTIONS).astype(int)
    cell = np.arange(EDGES) * CELLS // EDGES
    place = (cell[:, None] * CELLS + cell) * DIRECTIONS + direction % DIRECTIONS
    edges = np.bincount(place.ravel(), strength.ravel(), CELLS**2 * DIRECTIONS)
    levels = np.asarray(colour.resize((EDGES, EDGES)), int) * LEVELS // 256
    mixed = (levels[..., 0] * LEVELS + levels[..., 1]) * LEVELS + levels[..., 2]
    colours = np.bincount(mixed.ravel(), minlength=LEVELS**3).astype(float)
    parts = (small.ravel() - small.mean(), np.sqrt(edges), np.sqrt(colours))
    return np.concatenate([part / max(np.linalg.norm(part), 1e-9) for part in parts])
