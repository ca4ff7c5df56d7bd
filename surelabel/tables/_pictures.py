"""Image paths → columns of X: brightness, edges and colours, without a neural network."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from ..exceptions import TableError

#: Extensions of image files.
ENDINGS = r"(?i)\.(png|jpe?g|gif|webp|bmp|tiff?)$"
#: Pixels per side of the small copy and of the copy for edges, and cells per side of the latter.
SMALL, EDGES, CELLS = 12, 32, 4
#: Directions of edges, and levels of each colour.
DIRECTIONS, LEVELS = 8, 4
WIDTH = SMALL**2 + CELLS**2 * DIRECTIONS + LEVELS**3


def folder_of(source: str) -> Path:
    """Where the images of a table are: beside its file, or where the command runs."""
    return Path(source).resolve().parent if os.path.dirname(source) else Path.cwd()


def are_images(paths: Sequence[str], source: str) -> bool:
    """Whether these are files that can be read as images."""
    images = _images(source)
    return bool(paths) and all(_features(images, path) is not None for path in paths)


def _images(source: str) -> Any:
    from .images import Images  # imports Pillow

    return Images(folder_of(source), 0)


def _features(images: Any, name: str) -> np.ndarray | None:
    """Brightness, edges and colours of an image, each of length 1; None if it cannot be read."""
    from PIL import Image, ImageOps

    from .images import open_image

    path = images.inside(name)
    picture = open_image(path, 256) if path else None
    if picture is None:
        return None
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


class ImageColumn:
    """Images as a small grey copy, edges and colours, minus the mean; an image that is missing or
    cannot be read is replaced by the mean.
    """

    def fit(self, reader: Any, names: Sequence[str]) -> Self:
        """Learn the mean."""
        found = self._read(reader, names[0])
        known = ~np.isnan(found[:, 0])
        if not known.any():
            raise TableError(
                f"{reader.source}: column {names[0]!r}: no image can be read; paths are relative "
                "to "
                f"{folder_of(reader.source)}"
            )
        self.mean = found[known].mean(axis=0)
        return self

    def _read(self, reader: Any, name: str) -> np.ndarray:
        images = _images(reader.source)
        paths = reader.column(name).cast(pa.large_string()).to_pylist()
        found = np.full((len(paths), WIDTH), np.nan, np.float32)
        unread = 0
        for row, path in enumerate(paths):
            if path:
                features = _features(images, path)
                unread += features is None
                found[row] = np.nan if features is None else features
        if unread:
            warnings.warn(
                f"{reader.source}: column {name!r}: {unread} image(s) cannot be read, and are "
                "replaced by the mean of the others",
                stacklevel=5,
            )
        return found

    @property
    def widths(self) -> list[int]:
        """Number of columns of X."""
        return [len(self.mean)]

    def names(self, name: str, _: int) -> list[str]:
        """Names of the columns of X."""
        return [f"{name} {i}" for i in range(1, len(self.mean) + 1)]

    def fill(self, reader: Any, names: Sequence[str], X: np.ndarray, first: np.ndarray) -> None:
        """Write the columns of X."""
        found = self._read(reader, names[0]) - self.mean
        X[:, first[0] : first[0] + len(self.mean)] = np.nan_to_num(found, nan=0.0)
