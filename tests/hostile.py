"""Values that no argument expects."""

import numpy as np
import pandas as pd
from scipy import sparse

from surelabel.exceptions import SurelabelError

VALUES = (
    *(None, 5, -1, 2.5, float("nan"), float("inf"), "abc", "", b"x", True, object(), 10**400),
    *([], (), {}, set(), [[]], [None], [[None]], [float("nan")], [["a"], ["b", "c"]], ["a", 1]),
    *([{"a": 1}], [[["a"]]], [1, 2.5], [-1, 2**63], [2**70], [10**400], [0.5, 10**400]),
    *([2**53 + 1, 1.0], ["a|b", "b"], [["a", "a"], ["b"]], [True, 2], [[1, 1], [0, 1]]),
    *(np.array(5), np.zeros(0), np.zeros((0, 3)), np.zeros((3, 0)), np.zeros((2, 2, 2))),
    *(np.ones((3, 2)), np.array([["a", "b"]]), np.array([1j]), np.array([np.nan, 1])),
    *(np.array(["2020"], "datetime64[D]"), np.array([b"a"]), np.array([[np.inf, 1]])),
    *(np.array([[-1, 1]]), np.array([[np.nan, 1.0]]), np.array([True, False])),
    *(np.array([3, 4], np.uint64), np.array([[1, 0], [0, 1]], object)),
    *(pd.DataFrame({"a": [1, 0], "b": [0, 1]}), pd.DataFrame({"a": ["x", "y"]}), pd.DataFrame()),
    *(pd.Series(["a", None]), pd.Series(pd.to_datetime(["2020-01-01"])), pd.Series([1, 2])),
    *(pd.DataFrame([[1, 0], [0, 1]], columns=["a", "a"]), pd.Series(pd.Categorical(["a", "b"]))),
    *(sparse.csr_array(np.eye(2)), sparse.csr_array((0, 2)), sparse.coo_array(np.ones(3))),
    *(sparse.csr_array(np.array([[np.nan, 1.0]])), sparse.csr_array(np.array([[1 + 0j]]))),
    *(range(3), type, len),
)


def call(function, arguments, options):
    """Call a function; errors of ours must be one line, and others are not expected."""
    message = ""
    try:
        function(*arguments, **options)
    except SurelabelError as error:
        message = str(error)
    assert "\n" not in message
