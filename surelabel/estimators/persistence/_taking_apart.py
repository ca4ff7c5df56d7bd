"""A model → a flat list of parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.neighbors._base import NeighborsBase
from sklearn.tree._tree import Tree

from ...exceptions import ModelFileError
from ._archive import PLAIN
from ._consistency import check_consistent
from ._parts import (
    KINDS,
    MOST_DEPTH,
    SCALARS,
    SEQUENCES,
    SPARSE,
    Part,
    forget,
)
from ._types import LOSSES, MAPPINGS, VALUES, Types, name_of


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


def _fields(dtype: np.dtype) -> list[str]:
    """The names and types of the fields of a record, and its size."""
    assert dtype.names is not None
    return [*(f"{name} {dtype[name].str}" for name in dtype.names), str(dtype.itemsize)]
