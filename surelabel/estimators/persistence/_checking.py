"""Check every part of a file before anything is built from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MemberDescriptorType
from typing import Any

import numpy as np
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.tree._classes import BaseDecisionTree

from ._archive import PLAIN, require
from ._parts import (
    KINDS,
    MOST_DEPTH,
    MOST_KEYS,
    MOST_OBJECTS,
    MOST_PARTS,
    MOST_SHARED,
    MOST_TIMES,
    MOST_VALUES,
    NOT_FINITE,
    SCALARS,
    SPARSE,
    Part,
)
from ._types import BIN_MAPPER, MAPPINGS, Types


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
