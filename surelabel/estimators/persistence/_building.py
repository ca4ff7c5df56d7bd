"""Checked parts → a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neighbors._base import NeighborsBase

from ...data.candidates import CandidateSets
from ._archive import require
from ._consistency import check_consistent, neighbour_tree, tree_of, tree_predictor
from ._parts import (
    KINDS,
    NOT_FINITE,
    PATHS,
    SEQUENCES,
    SPARSE,
    Part,
    forget,
)
from ._types import MAPPINGS, Types


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
