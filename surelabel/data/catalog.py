"""The published data sets by name: where their files belong, what they should contain, and how to
get them (the facts are in ``catalog.toml``).

Small UCI sets are part of the package. All others are files in the *data home*: the folder in the
environment variable ``SURELABEL_DATA``, or the user's cache folder. They are downloaded only on
request (:func:`fetch`), and only where a public address is known.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

import numpy as np

from ..exceptions import DataFileError, DataMissingError, DownloadError, ParameterError, shown
from ..files import replacing
from ..text import suggest
from .candidates import CandidateSets
from .readers import read_crowd, read_csv, read_mat, read_npz

__all__ = ["Dataset", "data_home", "fetch", "load", "names"]

#: Where the real-world files are downloaded from: one commit, so that the content cannot change.
BASE_URL = "https://raw.githubusercontent.com/pruirui/partial_label_realworld_dataset/a43c823f1cf2575e7fc74bcdfc307463e0bd44bd/"
_EMBEDDED = Path(__file__).parent / "uci"
#: Folders of the data home, for sets of candidates, of certain labels and of votes.
FOLDERS = ("realworld", "uci", "crowds")
_TIMEOUT = 60  # seconds without receiving a byte


class Characteristics(NamedTuple):
    """The size of a data set, as in Tables 1 and 3 of the paper.

    Attributes
    ----------
    examples, features, labels : int
        Number of instances, of columns and of labels in the label space.
    average_candidates : float or None
        Candidates per instance, to two digits; None where every label is certain.
    """

    examples: int
    features: int
    labels: int
    average_candidates: float | None = None


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What the catalog says about a data set."""

    name: str
    title: str  # in print
    file: str  # in the package, or in the data home
    expected: Characteristics  # from the paper's table if there is one, otherwise measured
    table: str | None = None  # of the paper
    task: str
    origin: str
    licence: str
    sha256: str | None = None
    git_blob: str  # the checksum of git hash-object
    embedded: bool = False  # part of the package
    downloadable: bool = False  # a public address of exactly this file is known
    ordered: bool = False  # labels are numbers whose distance has a meaning, such as ages
    columns: tuple[int, int] | tuple[()] = ()  # the first feature used, and the one after the last


def _read_specs() -> dict[str, Spec]:
    facts = tomllib.loads((Path(__file__).parent / "catalog.toml").read_text(encoding="utf-8"))
    return {
        name: Spec(
            name=name,
            **fact
            | {
                "expected": Characteristics(*fact["expected"]),
                "columns": tuple(fact.get("columns", ())),
            },
        )
        for name, fact in facts.items()
    }


SPECS = _read_specs()


@dataclass(frozen=True)
class Dataset:
    """A data set in memory.

    Attributes
    ----------
    name : str
        Its name in the catalog.
    X : ndarray of shape (m, n)
        The instances, as published: not scaled.
    candidates : CandidateSets or None
        The candidate labels; None where every label is certain (see
        :func:`surelabel.make_partial`).
    y : ndarray of shape (m,)
        The true labels.
    classes : ndarray of shape (l,)
        The label space.
    ordered : bool
        Whether labels are numbers whose distance has a meaning, such as ages.
    """

    name: str
    X: np.ndarray
    candidates: CandidateSets | None
    y: np.ndarray
    classes: np.ndarray
    ordered: bool

    def measure(self) -> Characteristics:
        """Its size, as the paper's tables give it."""
        average = None if self.candidates is None else round(float(self.candidates.sizes.mean()), 2)
        m, n = self.X.shape
        return Characteristics(m, n, len(self.classes), average)


@dataclass(frozen=True)
class Status:
    """What :func:`status` found out about one data set."""

    spec: Spec
    state: Literal["embedded", "present", "missing", "differs", "unreadable"]
    path: Path | None = None
    measured: Characteristics | None = None  # to compare with spec.expected
    problem: str = ""  # why it is missing or unreadable


def names() -> list[str]:
    """The names of all data sets: the paper's Table 1, then its Table 3, then the others.

    >>> names()[:4]
    ['deter', 'dermatology', 'ecoli', 'glass']
    """
    return list(SPECS)


def describe(name: str) -> Spec:
    """What the catalog says about a data set.

    >>> describe("lost").expected
    Characteristics(examples=1122, features=108, labels=16, average_candidates=2.23)
    """
    if not isinstance(name, str) or name not in SPECS:
        names = suggest(shown(name).strip("'"), SPECS, "names", len(SPECS))
        raise ParameterError(f"there is no data set {shown(name)}; {names}")
    return SPECS[name]


def data_home() -> Path:
    """The folder of the data files: the environment variable ``SURELABEL_DATA``, or
    ``~/.cache/surelabel``.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "surelabel"
    return Path(os.environ.get("SURELABEL_DATA") or cache).expanduser()


def load(name: str) -> Dataset:
    """Load a data set by name, from the data home or its subfolder ``realworld``, ``uci`` or
    ``crowds``; nothing is downloaded.

    Parameters
    ----------
    name : str
        One of :func:`names`. "deter" is dermatology with the 23 features that the paper's Table 1
        implies (the 22 histopathological ones and age); "dermatology" has all 34.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from surelabel.data import catalog
    >>> catalog.load("ecoli").measure()
    Characteristics(examples=336, features=7, labels=8, average_candidates=None)
    """
    return _read_file(describe(name), locate(name))


def locate(name: str) -> Path:
    """The path of a data set's file; raises :class:`DataMissingError` if the file is missing."""
    spec = describe(name)
    path = _find(spec)
    if path is None:
        raise DataMissingError(_missing_message(spec))
    return path


def load_file(path: Path, truth: str = "", candidates: str = "") -> Dataset:
    """Load your own data set: a ``.mat`` file as :func:`~surelabel.data.readers.read_mat` reads it,
    or a table with a column of true labels and, optionally, one of candidates.
    """
    sets: CandidateSets | None
    if path.suffix.lower() == ".mat":
        X, sets, y = read_mat(path)
    else:
        from .own_tables import read_own_table  # needs pyarrow, which the catalog does not

        X, sets, y = read_own_table(path, truth, candidates)
    return Dataset(path.name, X, sets, y, np.unique(y) if sets is None else sets.classes, False)


def fetch(name: str) -> Path:
    """Download the file of a data set into the data home, and verify it; a verified file is not
    downloaded again.

    By calling this function you accept the data set's ``licence``.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    Path
        The file.
    """
    spec = describe(name)
    path = _find(spec)
    if path is not None and (spec.embedded or _is_published(spec, path.read_bytes())):
        return path
    if not spec.downloadable:
        raise DownloadError(f"no public address of {spec.file} is known. {_missing_message(spec)}")
    path = path or _place(spec)
    url = BASE_URL + quote(spec.file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadError(f"cannot write into {path.parent}: {error}") from None
    try:
        with urlopen(url, timeout=_TIMEOUT) as response:
            content = response.read()
        if not _is_published(spec, content):
            raise DownloadError(
                f"the download from {url} is not {spec.file}: its checksum differs "
                f"({len(content)} bytes), so it was not kept. Try again, or put the right file at "
                f"{path}"
            )
        with replacing(path) as file:
            file.write(content)
    except (OSError, HTTPException) as error:
        if isinstance(error, HTTPError):
            error.close()  # closes the connection
        raise DownloadError(
            f"could not download {url}: {error}; try again, or put {spec.file} at {path}"
        ) from None
    return path


def status() -> list[Status]:
    """Look for every data set, verify its file and measure it."""
    return [_status(spec) for spec in SPECS.values()]


def _status(spec: Spec) -> Status:
    path = _find(spec)
    if path is None:
        return Status(spec, "missing", problem=_missing_message(spec))
    try:
        measured = _read_file(spec, path).measure()
        if not _is_published(spec, path.read_bytes()):
            return Status(spec, "differs", path, measured)
        return Status(spec, "embedded" if spec.embedded else "present", path, measured)
    except (DataFileError, OSError) as error:
        return Status(spec, "unreadable", path, problem=str(error))


def _read_file(spec: Spec, path: Path) -> Dataset:
    candidates = None
    if spec.expected.average_candidates is not None:
        X, candidates, y = (read_mat if path.suffix == ".mat" else read_crowd)(path)
    else:
        X, y = (read_csv if path.suffix == ".csv" else read_npz)(path)
    classes = np.unique(y) if candidates is None else candidates.classes
    columns = slice(*spec.columns or (None,))
    return Dataset(spec.name, X[:, columns], candidates, y, classes, spec.ordered)


def _find(spec: Spec) -> Path | None:
    if spec.embedded:
        return _EMBEDDED / spec.file
    places = (data_home() / folder / spec.file for folder in ("", *FOLDERS))
    return next((place for place in places if place.is_file()), None)


def _place(spec: Spec) -> Path:
    """Where a missing file belongs."""
    real_world, uci, crowds = FOLDERS
    candidates = spec.expected.average_candidates is not None
    folder = uci if not candidates else real_world if spec.file.endswith(".mat") else crowds
    return data_home() / folder / spec.file


def _missing_message(spec: Spec) -> str:
    download = (
        f"download it with surelabel datasets --fetch {spec.name}, or " if spec.downloadable else ""
    )
    return (
        f"The data set {spec.name!r} is not in {data_home()}: {download}put {spec.file} at "
        f"{_place(spec)} "
        f"(origin: {spec.origin}; the environment variable SURELABEL_DATA can name another folder)"
    )


def _is_published(spec: Spec, content: bytes) -> bool:
    """Whether the content of a file has the known checksums."""
    # A git blob id is the SHA-1 of "blob <length>\0" followed by the content.
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    return blob == spec.git_blob and spec.sha256 in (None, hashlib.sha256(content).hexdigest())
