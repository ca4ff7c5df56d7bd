"""Values of a model file: how they are written, and how each kind is read and checked."""

from __future__ import annotations

import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from ...exceptions import ModelFileError, shown
from ...solvers.sparse_rows import row_argmax
from .._base import PartialLabelClassifier
from .._search import search_results
from ..stored import DICTS, KNOWN, Declared, Known, values_of
from ._file import Damaged, Reader, foreign, require

#: Longest class name, in characters: a prediction repeats it for every row of a table.
LONGEST_NAME = 1000
#: Parameters that only say how to work; a loaded model has their defaults.
FORGOTTEN = ("callback", "n_jobs", "verbose")
#: The types of single values; a share is a number or NaN, which is stored as None.
SINGLE: dict[str, tuple[type, ...]] = {
    **{"flag": (bool,), "count": (int,), "number": (int, float), "text": (str,)},
    **dict.fromkeys(("share", "gamma"), (int, float, type(None))),
    "label": (str, bool, int, float),
}
#: NumPy's kinds of arrays: finite numbers, all numbers, positions, truth values.
ARRAYS = {"f": "f", "F": "f", "i": "i", "b": "b", "any": "biuf"}


def name_of(kind: type) -> str:
    """The name of a class in files."""
    distributed = kind.__module__ == "surelabel.distributed"
    return f"distributed.{kind.__qualname__}" if distributed else kind.__qualname__


def known_as(name: str) -> Known | None:
    """The class with this name in files."""
    tables = {} if name in KNOWN else import_module("surelabel.tables.stored").KNOWN
    return KNOWN.get(name) or tables.get(name)


# -------------------------------------------------------------------- write


def written(thing: Any, arrays: list[np.ndarray]) -> Any:
    """A value in JSON; its arrays are appended to ``arrays``."""
    if isinstance(thing, np.generic):
        thing = thing.item()
    if isinstance(thing, np.ndarray) and thing.dtype.kind not in "OU":
        array = thing.astype(thing.dtype.newbyteorder("<"), order="A", copy=False)
        arrays.append(array if array.flags.forc else np.ascontiguousarray(array))
        in_columns = array.flags.f_contiguous and not array.flags.c_contiguous
        return [array.dtype.str, list(array.shape), "F" if in_columns else "C"]
    if sparse.issparse(thing):
        return [written(part, arrays) for part in (thing.indptr, thing.indices, thing.data)]
    if isinstance(thing, dict):
        return {name: written(part, arrays) for name, part in sorted(thing.items())}
    if isinstance(thing, list | tuple | range | np.ndarray):
        return [written(part, arrays) for part in thing]
    if isinstance(thing, str | int | float | None):
        return None if thing != thing else thing
    return write_object(thing, arrays)


def write_object(thing: Any, arrays: list[np.ndarray]) -> dict[str, Any]:
    """An object of a known class in JSON."""
    module, name = type(thing).__module__, name_of(type(thing))
    known = known_as(name) if module.startswith("surelabel.") else None
    if known is None or known.module != module:
        raise foreign(f"{module}.{name}")
    node: dict[str, Any] = {"class": name}
    if known.role == "classifier":
        node["parameters"] = _parameters(thing)
        if not hasattr(thing, "classes_"):
            raise ModelFileError("it is not fitted; fit it first")
    found = node["values"] = {}
    for value in values_of(known.values, thing):
        if value.word == "results":
            results = thing.cv_results_
            scores = np.array([results[name] for name in results if name.startswith("split")]).T
            found[value.name] = written({"points": results["params"], "scores": scores}, arrays)
        elif hasattr(thing, value.name) or not value.may:
            found[value.name] = written(getattr(thing, value.name), arrays)
    return node


def _parameters(model: Any) -> dict[str, Any]:
    found = {}
    for name, value in model.get_params(deep=False).items():
        plain = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        parts = plain if isinstance(plain, list | tuple | range) else [plain]
        if all(isinstance(part, str | int | float | None) for part in parts):
            found[name] = plain if parts == [plain] else list(parts)
        elif name not in (*FORGOTTEN, "cv", "random_state"):
            raise foreign(f"{type(model).__name__} with {name}={shown(value)}")
    return {name: value for name, value in found.items() if name not in FORGOTTEN}


# -------------------------------------------------------------------- read


class Sizes(dict[str, int]):
    """The sizes known so far, by name."""

    def total(self, name: str) -> int:
        """A size, or a sum of sizes."""
        return sum(int(part) if part.isdigit() else self[part] for part in name.split("+"))

    def check(self, name: str, size: int) -> None:
        """Fix a size, or compare it."""
        if name != "*":
            known = self.total(name) if name in self or name.isdigit() else size
            require(size == known and size > 0, f"size {name} is {size}, not {known}")
            self[name] = size


def read_object(node: Any, source: Reader, allowed: set[str], sizes: Sizes) -> Any:
    """An object whose class or role is allowed."""
    name = str(node.get("class")) if isinstance(node, dict) else ""
    known = known_as(name)
    if known is None or not {name, known.role} & allowed:
        raise Damaged(f"{name[:100]!r} is not a {min(allowed)}")
    if known.module == "surelabel.distributed" and known.module not in sys.modules:
        raise ModelFileError("it was fitted on a cluster: import surelabel.distributed first")
    kind: Any = getattr(import_module(known.module), name.rpartition(".")[2])
    made: Any = SimpleNamespace()
    if known.role == "classifier":
        require(not {*FORGOTTEN} & {*node.get("parameters")}, "it says how to work")
        made = kind(**node["parameters"])
        PartialLabelClassifier._check_parameters(made)
    _read_values(known.values, node.get("values"), source, sizes, made)
    if known.role != "classifier" and hasattr(kind, "__dataclass_fields__"):
        parts = vars(made).items()
        made = kind(**{key: tuple(part) if type(part) is list else part for key, part in parts})
    elif known.role != "classifier":
        found, made = vars(made), kind()
        vars(made).update(found)
    require(known.agrees(made), f"the values of {name} do not agree")
    return made


def _read_values(declared: str, node: Any, source: Reader, sizes: Sizes, owner: Any) -> None:
    require(isinstance(node, dict), "it has no values")
    unread = set(node)
    for value in values_of(declared, owner):
        if value.name not in node and value.may:
            continue
        require(value.name in node, f"{value.name} is missing")
        part = node[value.name]
        try:
            if value.most is None:
                found = _read(value, part, source, sizes, owner)
            else:
                require(isinstance(part, list) and len(part) <= value.most, "it is not such a list")
                found = [_read(value, item, source, sizes, owner) for item in part]
        except Damaged as error:
            raise Damaged(f"{value.name}: {error}") from None
        setattr(owner, value.name, found)
        unread.discard(value.name)
    require(not unread, f"{min(unread, default='')[:100]} is not known")


def _read(value: Declared, node: Any, source: Reader, sizes: Sizes, owner: Any) -> Any:
    word = value.word
    if word in ARRAYS:
        return _array(word, value.sizes, node, source, sizes, value.below)
    if word in SINGLE or "|" in word:
        return _single(value, node, sizes)
    if word in ("texts", "names", "categories"):
        types = {str, type(None)} if word == "categories" else {str}
        require(
            isinstance(node, list) and set(map(type, node)) <= types, "it is not a list of texts"
        )
        sizes.check(value.sizes[0], len(node))
        return np.array(node, object) if word == "names" else node
    if word == "labels":
        return _labels(node, source, sizes)
    if word in ("sparse", "confidence"):
        return _sparse(value, node, source, sizes, owner)
    if word in DICTS:
        found = SimpleNamespace()
        _read_values(DICTS[word], node, source, sizes, found)
        return search_results(found.points, found.scores) if word == "results" else vars(found)
    shared = dict(part.partition("=")[::2] for part in value.sizes if part != "*")
    own = Sizes({name: sizes.total(of or name) for name, of in shared.items()})
    return read_object(node, source, {name_of(type(owner)) if word == "Self" else word}, own)


def _array(
    word: str, shape: list[str], node: Any, source: Reader, sizes: Sizes, below: str = ""
) -> np.ndarray:
    dtype, found = source.declared(node)
    require(dtype.kind in ARRAYS[word] and len(found) == len(shape), f"{dtype} of shape {found}")
    for name, size in zip(shape, found, strict=True):
        sizes.check(name, size)
    array = source.array(node)
    require(word != "f" or np.isfinite(array).all(), "a number is not finite")
    require(word != "i" or not (array < 0).any(), "a position is below 0")
    require(not below or (array < sizes.total(below)).all(), "a position is too large")
    return array


def _single(value: Declared, node: Any, sizes: Sizes) -> Any:
    if "|" in value.word:
        require(node in value.word.split("|"), "it is not such a word")
        return node
    require(type(node) in SINGLE[value.word], f"it is a {type(node).__name__}")
    if isinstance(node, int | float):
        require(abs(node) < 2**63, "it is too large")
        require(value.word not in ("count", "gamma") or node >= 0, "it is below 0")
    if value.sizes[0] != "*":
        require(sizes.setdefault(value.sizes[0], node) == node, "it is of another size")
    return float("nan") if node is None and value.word == "share" else node


def _labels(node: Any, source: Reader, sizes: Sizes) -> np.ndarray:
    require(isinstance(node, list) and node, "there are no labels")
    if set(map(type, node)) == {str}:
        longest = max(map(len, node))
        require(longest <= LONGEST_NAME, f"a label has more than {LONGEST_NAME} characters")
        source.take_room(4 * longest * len(node))
        labels = np.array(node)
    else:
        labels = _array("any", ["*"], node, source, sizes)
        require(
            np.isfinite(labels).all() and not (labels % 1).any(), "a label is not a whole number"
        )
    require(2 <= len(labels) == len(set(labels.tolist())), "labels are equal, or there is only one")
    sizes.check("l", len(labels))
    sizes["pairs"] = len(labels) * (len(labels) - 1) // 2
    return labels


def _sparse(value: Declared, node: Any, source: Reader, sizes: Sizes, owner: Any) -> Any:
    require(isinstance(node, list) and len(node) == 3, "it is not a sparse matrix")
    rows, columns = value.sizes
    indptr = _array("i", ["*"], node[0], source, sizes)
    indices = _array("i", ["*"], node[1], source, sizes, columns)
    data = _array("any", ["*"], node[2], source, sizes)
    sizes.check(rows, len(indptr) - 1)
    require(indptr[0] == 0 and indptr[-1] == len(indices) == len(data), "it has other lengths")
    require((indptr[1:] >= indptr[:-1]).all() and np.isfinite(data).all(), "it has other rows")
    matrix = sparse.csr_array((data, indices, indptr), (len(indptr) - 1, sizes.total(columns)))
    if value.word == "confidence":
        require((indptr[1:] > indptr[:-1]).all(), "a row is empty")
        source.take_room((len(indptr) - 1) * owner.classes_.itemsize)
        owner.transduction_ = owner.classes_[indices[row_argmax(data, indptr)]]
    return matrix
