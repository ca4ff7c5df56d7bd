"""A model as a flat list of parts, and back.

A part is a JSON object with a ``kind``; values are ``null``, truth values, numbers, texts, or
``[i]`` for the part i. A part refers only to parts before it, so there are no cycles and no
nesting. :func:`check` checks every part before :func:`build` builds the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import MemberDescriptorType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.neighbors._base import NeighborsBase
from sklearn.tree._classes import BaseDecisionTree
from sklearn.tree._tree import Tree

from ...data.candidates import CandidateSets
from ...exceptions import ModelFileError
from ._archive import PLAIN, require
from ._consistency import check_consistent, neighbour_tree, tree_of, tree_predictor
from ._types import BIN_MAPPER, LOSSES, MAPPINGS, VALUES, Types, name_of

MOST_PARTS = 1_000_000
MOST_DEPTH = 100
#: Maximum number of values in a part, counting all that it refers to each time: NumPy copies lists
#: that are shared.
MOST_VALUES = 10**7
#: Maximum number of objects, counted in the same way: a small file with one estimator in many
#: places could keep us busy for hours.
MOST_OBJECTS = 30_000
#: Maximum number of array elements, counted in the same way: this many, or this many times those in
#: the file.
MOST_SHARED, MOST_TIMES = 10**6, 4
#: Attributes that may have more than two dimensions, because nothing is computed with them;
#: elsewhere NumPy would broadcast other arrays to fit them.
PATHS = ("coefs_paths_", "cv_results_", "cv_values_", "mse_path_", "n_iter_", "scores_")
#: Maximum number of keys that are not texts, in all mappings and sets together: numbers can be
#: chosen so that looking one up takes as many steps as there are keys.
MOST_KEYS = 10_000
SEQUENCES: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}
SPARSE: dict[str, type] = {
    "csr_array": sparse.csr_array,
    "csc_array": sparse.csc_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_matrix": sparse.csc_matrix,
}
#: Type codes of numbers and texts that JSON stores exactly.
SCALARS = "?bhilqBHILQefdU"
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
#: The fields of each kind of part: "value", "values" (a list of them), "text", "texts", "integer",
#: "integers" (none below 0).
KINDS: dict[str, dict[str, str]] = {
    "float": {"value": "text"},
    **{kind: {"items": "values"} for kind in SEQUENCES},
    "mapping": {"type": "text", "keys": "values", "values": "values"},
    "slice": {"start": "value", "stop": "value", "step": "value"},
    "array": {"member": "integer"},
    "objects": {"shape": "integers", "items": "values"},
    "masked": {"data": "value", "mask": "value"},
    "scalar": {"dtype": "text", "value": "value"},
    "dtype": {"name": "text"},
    "sparse": {
        "type": "text",
        "shape": "integers",
        "data": "value",
        "indices": "value",
        "indptr": "value",
    },
    "type": {"name": "text"},
    "function": {"name": "text"},
    "object": {"type": "text", "names": "texts", "values": "values"},
    "tree": {
        "n_features": "integer",
        "n_classes": "integers",
        "max_depth": "integer",
        "fields": "texts",
        "nodes": "value",
        "values": "value",
    },
    "tree_predictor": {"fields": "texts", "nodes": "value"},
    "loss": {"type": "text", "arguments": "values"},
    "random_state": {
        "key": "value",
        "pos": "integer",
        "has_gauss": "integer",
        "gauss": "value",
    },
    "generator": {
        "state": "integer",
        "inc": "integer",
        "has_uint32": "integer",
        "uinteger": "integer",
    },
}
Part = dict[str, Any]


# -------------------------------------------------------------------- a model into parts


def take_apart(model: Any, types: Types) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The content of ``surelabel.json`` and the arrays beside it.

    Parameters
    ----------
    model : object
        The model.
    types : Types
        What a file may name.
    """
    taking = _TakingApart(types)
    value = taking.value(model, 0)
    return {"parts": taking.parts, "model": value}, taking.arrays


class _TakingApart:
    def __init__(self, types: Types) -> None:
        self.types = types
        self.parts: list[Part] = []
        self.arrays: list[np.ndarray] = []
        # objects are kept alive, so that no other object gets the same id
        self.done: dict[int, tuple[Any, list[int]]] = {}

    def value(self, thing: Any, depth: int) -> Any:
        if thing is None or type(thing) in (bool, int, str):
            return thing
        if type(thing) is float and math.isfinite(thing):
            return thing
        if id(thing) in self.done:
            return self.done[id(thing)][1]
        if depth > MOST_DEPTH:
            raise ModelFileError(f"it is nested deeper than {MOST_DEPTH} levels, or holds itself")
        part = self.part(thing, lambda inner: self.value(inner, depth + 1))
        self.parts.append(part)
        reference = [len(self.parts) - 1]
        self.done[id(thing)] = (thing, reference)
        return reference

    def part(self, thing: Any, value: Callable[[Any], Any]) -> Part:
        """The part for something that is not a JSON value itself."""
        kind = type(thing)
        if kind is float:
            return {"kind": "float", "value": repr(thing)}
        if kind.__name__ in SEQUENCES and kind is SEQUENCES[kind.__name__]:
            items = sorted(thing, key=repr) if kind in (set, frozenset) else thing
            return {"kind": kind.__name__, "items": [value(item) for item in items]}
        if MAPPINGS.get(kind.__name__) is kind:
            return {
                "kind": "mapping",
                "type": kind.__name__,
                "keys": [value(key) for key in thing],
                "values": [value(item) for item in thing.values()],
            }
        if kind is slice:
            bounds = {name: value(getattr(thing, name)) for name in KINDS["slice"]}
            return {"kind": "slice", **bounds}
        if kind is np.ma.MaskedArray:
            return {"kind": "masked", "data": value(thing.data), "mask": value(thing.mask)}
        if kind in (np.ndarray, np.memmap):
            return self.array(np.asarray(thing), value)
        if isinstance(thing, np.generic) and thing.dtype.char in SCALARS:
            return {"kind": "scalar", "dtype": thing.dtype.str, "value": value(thing.item())}
        if isinstance(thing, np.dtype) and (thing.kind in PLAIN or thing.kind == "O"):
            return {"kind": "dtype", "name": thing.str}
        if SPARSE.get(kind.__name__) is kind:
            arrays = {name: value(getattr(thing, name)) for name in ("data", "indices", "indptr")}
            shape = [int(side) for side in thing.shape]
            return {"kind": "sparse", "type": kind.__name__, "shape": shape, **arrays}
        if isinstance(thing, type):
            names = [name for name, known in VALUES.items() if known is thing]
            name = names[0] if names else name_of(thing)
            self.types.value(name)
            return {"kind": "type", "name": name}
        if kind is Tree:
            return self.tree(thing, value)
        if kind is np.random.RandomState:
            state = thing.get_state(legacy=False)
            state = {**state["state"], "has_gauss": state["has_gauss"], "gauss": state["gauss"]}
            return {"kind": "random_state", **{name: value(of) for name, of in state.items()}}
        if kind is np.random.Generator and type(thing.bit_generator) is np.random.PCG64:
            state = thing.bit_generator.state
            numbers = {**state["state"], **{key: state[key] for key in ("has_uint32", "uinteger")}}
            return {"kind": "generator", **numbers}
        if name_of(kind) in LOSSES:
            _, arguments, *_ = thing.__reduce__()
            if (
                arguments and arguments[0] is kind
            ):  # arguments for unpickling: the type, a checksum, a state
                arguments = arguments[2] or ()
            arguments = [value(argument) for argument in arguments]
            return {"kind": "loss", "type": name_of(kind), "arguments": arguments}
        if name_of(kind) == "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor":
            return {"kind": "tree_predictor", **self.records(thing.nodes, value)}
        if callable(thing) and hasattr(thing, "__qualname__"):
            self.types.function(name_of(thing))
            return {"kind": "function", "name": name_of(thing)}
        return self.object(thing, value)

    def array(self, array: np.ndarray, value: Callable[[Any], Any]) -> Part:
        if array.dtype == object:
            items = [value(item) for item in array.flat]
            return {"kind": "objects", "shape": list(array.shape), "items": items}
        if array.dtype.kind not in PLAIN:
            raise ModelFileError(f"it holds an array of {array.dtype}, which is not plain data")
        self.arrays.append(array)
        return {"kind": "array", "member": len(self.arrays) - 1}

    def records(self, nodes: np.ndarray, value: Callable[[Any], Any]) -> Part:
        """An array of records as an array of bytes, because only plain arrays are written."""
        nodes = np.ascontiguousarray(nodes)
        return {
            "fields": _fields(nodes.dtype),
            "nodes": value(nodes.view(np.uint8).reshape(len(nodes), nodes.dtype.itemsize)),
        }

    def tree(self, tree: Tree, value: Callable[[Any], Any]) -> Part:
        state = tree.__getstate__()
        return {
            "kind": "tree",
            "n_features": int(tree.n_features),
            "n_classes": [int(number) for number in tree.n_classes],
            "max_depth": int(tree.max_depth),
            **self.records(state["nodes"], value),
            "values": value(state["values"]),
        }

    def object(self, thing: Any, value: Callable[[Any], Any]) -> Part:
        kind = type(thing)
        self.types.object(name_of(kind))
        if isinstance(thing, BaseHistGradientBoosting):
            check_consistent(thing)  # its message says best what cannot be written
        state = thing.__getstate__()
        if isinstance(state, tuple):  # attributes in __dict__ and in slots
            state = {**(state[0] or {}), **state[1]}
        state = dict(state or {})
        if isinstance(thing, BaseEstimator):
            forget(state)
        if isinstance(thing, NeighborsBase) and "_tree" in state:
            state["_tree"] = None  # it is rebuilt from the instances
        return {
            "kind": "object",
            "type": name_of(kind),
            "names": list(state),
            "values": [value(of) for of in state.values()],
        }


def forget(state: dict[str, Any]) -> None:
    """Remove attributes of an estimator that a file must not decide: a folder to write to, and the
    number of processes and threads.
    """
    for name, value in (("memory", None), ("n_jobs", None), ("_n_threads", 1), ("n_threads", 1)):
        if name in state:
            state[name] = value


def _fields(dtype: np.dtype) -> list[str]:
    """The names and types of the fields of a record, and its size."""
    assert dtype.names is not None
    return [*(f"{name} {dtype[name].str}" for name in dtype.names), str(dtype.itemsize)]


# -------------------------------------------------------------------- what a file says


def check(content: dict[str, Any], arrays: Sequence[np.ndarray], types: Types) -> dict[str, Any]:
    """Check every part, so that nothing is built from a file that contains something unknown.

    Parameters
    ----------
    content : dict
        The content of ``surelabel.json``.
    arrays : sequence of ndarray
        The arrays beside it.
    types : Types
        What a file may name.

    Returns
    -------
    dict
        The content.
    """
    parts = content.get("parts")
    require(isinstance(parts, list) and len(parts) <= MOST_PARTS, "its parts are not a list")
    assert isinstance(parts, list)
    depths: list[int] = []
    # the size of what each part stands for
    sizes: list[int] = []
    objects: list[int] = []
    numbers: list[int] = []
    most_numbers = MOST_SHARED + MOST_TIMES * sum(array.size for array in arrays)
    members: list[int] = []
    keys = 0
    for number, part in enumerate(parts):
        require(isinstance(part, dict), f"part {number} is not a part")
        kind = part.get("kind")
        require(isinstance(kind, str) and kind in KINDS, f"part {number} is of no known kind")
        fields = KINDS[kind]
        require(part.keys() == {"kind", *fields}, f"part {number} has other fields than its kind")
        inner: list[Any] = []
        for name, form in fields.items():
            require(_has_form(part[name], form, number), f"part {number} has a wrong {name}")
            if form in ("value", "values"):
                inner += part[name] if form == "values" else [part[name]]
        below = [value[0] for value in inner if isinstance(value, list)]
        depths.append(1 + max((depths[i] for i in below), default=0))
        require(depths[-1] <= MOST_DEPTH + 2, f"it is nested deeper than {MOST_DEPTH} levels")
        _check_kind(part, types)
        if kind == "array":
            members.append(part["member"])
            require(part["member"] < len(arrays), "its parts and its arrays differ")
        sizes.append(1 + len(inner) + sum(sizes[i] for i in below))
        objects.append((kind == "object") + sum(objects[i] for i in below))
        own = arrays[part["member"]].size if kind == "array" else 0
        numbers.append(own + sum(numbers[i] for i in below))
        require(
            sizes[-1] <= MOST_VALUES
            and objects[-1] <= MOST_OBJECTS
            and numbers[-1] <= most_numbers,
            f"part {number} stands for too many values",
        )
        for i in below:
            _check_place(i, part, parts, types)
        if kind in ("mapping", "set", "frozenset"):
            keyed = part["keys" if kind == "mapping" else "items"]
            keys += sum(not isinstance(key, str) for key in keyed)
            for key in keyed:
                require(_can_be_key(key, parts), f"part {number} has a key that cannot be one")
    require(keys <= MOST_KEYS, f"it has more than {MOST_KEYS} keys that are not text")
    require(sorted(members) == list(range(len(arrays))), "its parts and its arrays differ")
    require(
        "model" in content and _has_form(content["model"], "value", len(parts)),
        "it does not say what the model is",
    )
    if isinstance(content["model"], list):
        _check_place(content["model"][0], {"kind": "model"}, parts, types)
    return content


def _has_form(field: Any, form: str, number: int) -> bool:
    if form == "text":
        return isinstance(field, str)
    if form == "integer":
        return isinstance(field, int) and not isinstance(field, bool) and field >= 0
    if form == "value":
        if isinstance(field, list):
            return len(field) == 1 and _has_form(field[0], "integer", 0) and field[0] < number
        return field is None or isinstance(field, bool | int | float | str)
    return isinstance(field, list) and all(_has_form(item, form[:-1], number) for item in field)


def _can_be_key(value: Any, parts: list[Part]) -> bool:
    if not isinstance(value, list):
        return True
    part = parts[value[0]]
    if part["kind"] in ("tuple", "frozenset"):
        # nested tuples could take forever to hash, so one level must do
        return all(
            not isinstance(item, list) or parts[item[0]]["kind"] in ("float", "scalar")
            for item in part["items"]
        )
    return part["kind"] in ("float", "scalar")


def _check_kind(part: Part, types: Types) -> None:
    kind = part["kind"]
    if kind == "float":
        require(part["value"] in NOT_FINITE, "a number that is not one")
    elif kind == "mapping":
        require(part["type"] in MAPPINGS, "a mapping of an unknown type")
        require(len(part["keys"]) == len(part["values"]), "a mapping of more keys than values")
        if part["type"] == "Bunch":
            require(all(isinstance(key, str) for key in part["keys"]), "a name that is not text")
    elif kind == "objects":
        sides = part["shape"]
        require(len(sides) <= 32 and max(sides, default=0) <= MOST_PARTS, "an array too large")
        require(math.prod(sides) == len(part["items"]), "an array of another shape")
    elif kind == "slice":
        bounds = (part["start"], part["stop"], part["step"])
        require(all(bound is None or isinstance(bound, int | str) for bound in bounds), "a slice")
    elif kind in ("scalar", "dtype"):
        text = part["dtype" if kind == "scalar" else "name"]
        require(text == "|O" or _is_plain(text), "an unknown dtype")
        if kind == "scalar":
            require(np.dtype(text).char in SCALARS, "a scalar of an unknown dtype")
    elif kind == "sparse":
        require(part["type"] in SPARSE and len(part["shape"]) == 2, "a sparse matrix")
    elif kind == "type":
        types.value(part["name"])
    elif kind == "function":
        types.function(part["name"])
    elif kind == "object":
        _check_names(types.object(part["type"]), part)
    elif kind == "loss":
        types.loss(part["type"])
        require(len(part["arguments"]) <= 2, "a loss of too many numbers")
        require(all(isinstance(number, float) for number in part["arguments"]), "a loss")
    elif kind == "generator":
        require(max(part["state"], part["inc"]) < 2**128, "a random generator")
        require(part["has_uint32"] < 2 and part["uinteger"] < 2**32, "a random generator")
    elif kind == "random_state":
        require(part["pos"] <= 624 and part["has_gauss"] < 2, "a random generator")


def _is_plain(text: str) -> bool:
    """Whether a text such as ``<f8`` names a dtype of plain data."""
    return (
        text[:1] in "<>|="
        and text[1:2] in PLAIN
        and (text[2:].isdigit() or text[1] in "mM")
        and len(text) < 20
        and text.isascii()
        and np.dtype(text).fields is None
    )


def _check_names(kind: type, part: Part) -> None:
    """Check the names of attributes: data, never a method or a name that Python itself uses."""
    names = part["names"]
    require(len(names) == len(part["values"]) == len(set(names)), "an object of other attributes")
    for name in names:
        require(name.isidentifier() and not name.startswith("__"), "a name that is not one")
        known = getattr(kind, name, None)
        require(
            known is None or isinstance(known, MemberDescriptorType),
            f"an attribute in the place of {kind.__name__}.{name[:100]}",
        )


def _check_place(number: int, holder: Part, parts: list[Part], types: Types) -> None:
    """Check parts that are allowed only in certain places: trees and binning, whose compiled code
    does not check the width of X, only in estimators that do; functions only where they are called
    with labels.
    """
    part = parts[number]
    names, values = holder.get("names", ()), holder.get("values", ())
    held = {name for name, value in zip(names, values, strict=False) if value == [number]}
    kind = types.object(holder["type"]) if holder["kind"] == "object" else object
    if part["kind"] == "tree":
        owned = issubclass(kind, BaseDecisionTree) and held == {"tree_"}
        require(owned, "a tree outside of an estimator")
    if part.get("type") == BIN_MAPPER:
        owned = issubclass(kind, BaseHistGradientBoosting) and held == {"_bin_mapper"}
        require(owned, "a binning outside of its model")
    if part["kind"] == "function" and part["name"] not in types.trusted:
        require(held and held <= {"score_func", "_score_func"}, "a function in another place")


# -------------------------------------------------------------------- parts into a model


def build(content: dict[str, Any], arrays: Sequence[np.ndarray], types: Types) -> Any:
    """Build the model from checked content.

    Parameters
    ----------
    content : dict
        The result of :func:`check`.
    arrays : sequence of ndarray
        The arrays beside it.
    types : Types
        What a file may name.
    """
    built: list[Any] = []

    def value(of: Any) -> Any:
        return built[of[0]] if isinstance(of, list) else of

    for part in content["parts"]:
        fields = {
            name: [value(item) for item in part[name]]
            if form == "values"
            else value(part[name])
            if form == "value"
            else part[name]
            for name, form in KINDS[part["kind"]].items()
        }
        _check_dimensions(part, fields)
        built.append(_built(part["kind"], fields, arrays, types))
    return value(content["model"])


def _check_dimensions(part: Part, fields: dict[str, Any]) -> None:
    if part["kind"] in ("object", *SEQUENCES, "objects"):
        values = fields["values" if part["kind"] == "object" else "items"]
        for name, value in zip(part.get("names", [""] * len(values)), values, strict=True):
            require(
                name in PATHS or not isinstance(value, np.ndarray) or value.ndim <= 2,
                "an array of more than two dimensions",
            )


def _built(kind: str, of: dict[str, Any], arrays: Sequence[np.ndarray], types: Types) -> Any:
    if kind == "float":
        return NOT_FINITE[of["value"]]
    if kind in SEQUENCES:
        return SEQUENCES[kind](of["items"])
    if kind == "mapping":
        mapping = MAPPINGS[of["type"]]()
        mapping.update(zip(of["keys"], of["values"], strict=True))
        return mapping
    if kind == "slice":
        return slice(of["start"], of["stop"], of["step"])
    if kind == "array":
        return arrays[of["member"]]
    if kind == "objects":
        array = np.empty(len(of["items"]), dtype=object)
        for i, item in enumerate(of["items"]):
            array[i] = item
        return array.reshape(of["shape"])
    if kind == "masked":
        require(isinstance(of["data"], np.ndarray), "a masked array")
        require(isinstance(of["mask"], np.ndarray | np.bool_), "a masked array")
        return np.ma.MaskedArray(of["data"], of["mask"])
    if kind == "scalar":
        dtype = np.dtype(of["dtype"])
        require(isinstance(of["value"], bool | int | float | str), "a scalar")
        return dtype.type(of["value"])
    if kind == "dtype":
        return np.dtype(of["name"])
    if kind == "sparse":
        return _sparse(**of)
    if kind == "type":
        return types.value(of["name"])
    if kind == "function":
        return types.function(of["name"])
    if kind == "tree":
        return tree_of(**of)
    if kind == "tree_predictor":
        return tree_predictor(**of)
    if kind == "loss":
        return types.loss(of["type"])(*of["arguments"])
    if kind == "random_state":
        require(isinstance(of["gauss"], float), "a random generator")
        random_state = np.random.RandomState(0)
        key = {"key": of.pop("key"), "pos": of.pop("pos")}
        random_state.set_state({"bit_generator": "MT19937", "state": key, **of})
        return random_state
    if kind == "generator":
        bits = np.random.PCG64(0)
        bits.state = {
            "bit_generator": "PCG64",
            "state": {"state": of["state"], "inc": of["inc"]},
            "has_uint32": of["has_uint32"],
            "uinteger": of["uinteger"],
        }
        return np.random.Generator(bits)
    return _object(types.object(of["type"]), dict(zip(of["names"], of["values"], strict=True)))


def _sparse(type: str, shape: list[int], data: Any, indices: Any, indptr: Any) -> Any:
    for array in (data, indices, indptr):
        require(isinstance(array, np.ndarray) and array.ndim == 1, "a sparse matrix")
    require(data.dtype.kind in "biuf" and len(data) == len(indices), "a sparse matrix")
    require(indices.dtype.kind == indptr.dtype.kind == "i", "a sparse matrix")
    across, along = shape[:: 1 if type.startswith("csr") else -1]
    require(len(indptr) == across + 1 and indptr[0] == 0, "a sparse matrix")
    require(indptr[-1] == len(data) and not np.any(indptr[1:] < indptr[:-1]), "a sparse matrix")
    require(not np.any((indices < 0) | (indices >= along)), "a sparse matrix")
    # results computed from an empty matrix need not be empty
    require(along <= max(2**20, 64 * len(data)), "a sparse matrix that is nearly empty")
    return SPARSE[type]((data, indices, indptr), shape=tuple(shape))


def _object(kind: type, state: dict[str, Any]) -> Any:
    """An object with these attributes, made without calling its type."""
    if issubclass(kind, BaseEstimator):
        forget(state)
    if issubclass(kind, NeighborsBase) and "_fit_method" in state:
        state["_tree"] = neighbour_tree(state)
    if kind is CandidateSets:  # it checks its arguments itself
        matrix = state["_matrix"]
        return kind(matrix.indptr, matrix.indices, state["_classes"], state["_counts"])
    made: Any = object.__new__(kind)
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
    else:
        made.__dict__.update(state)
    check_consistent(made)
    return made
