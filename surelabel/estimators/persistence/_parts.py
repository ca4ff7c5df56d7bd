"""The parts of a model file: their kinds, their fields and their limits.

A part is a JSON object with a ``kind``; values are ``null``, truth values, numbers, texts, or
``[i]`` for the part i. A part refers only to parts before it, so there are no cycles and no
nesting.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from scipy import sparse

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


def forget(state: dict[str, Any]) -> None:
    """Remove attributes of an estimator that a file must not decide: a folder to write to, and the
    number of processes and threads.
    """
    for name, value in (("memory", None), ("n_jobs", None), ("_n_threads", 1), ("n_threads", 1)):
        if name in state:
            state[name] = value
