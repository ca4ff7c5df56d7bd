"""The worked example of CONTRIBUTING.md: one file is a method."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from surelabel import estimators
from surelabel.estimators import all_methods
from surelabel.estimators.checks import CHECKS

ROOT = Path(__file__).parents[1]


def your_solver(X, indptr, indices, n_classes, strength):
    """Means of the classes and shares of the candidates, in turn: near means get larger shares."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    p = 1 / np.diff(indptr)[rows]
    for _ in range(10):
        P = np.zeros((len(X), n_classes))
        P[rows, indices] = p
        total = P.sum(axis=0)
        means = P.T @ X / np.maximum(total, 1e-12)[:, None]
        # ‖x - μ‖² is smallest where 2xᵀμ - ‖μ‖² is largest.
        intercept = np.where(total > 0, -(means**2).sum(axis=1), -np.inf)
        scores = strength * (2 * X @ means.T + intercept)[rows, indices]
        p = np.exp(scores - np.maximum.reduceat(scores, indptr[:-1])[rows])
        p /= np.add.reduceat(p, indptr[:-1])[rows]
    return 2 * means.T, intercept, p


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the example as the one file of a method."""
    (block,) = re.findall(r"( +)```python\n(.+?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.S)
    path = tmp_path_factory.mktemp("estimators")
    (path / "yourmethod.py").write_text(textwrap.dedent(block[1]))
    return path


@pytest.fixture(autouse=True)
def installed(folder, monkeypatch):
    solver = ModuleType("surelabel.solvers.yourmethod")
    solver.your_solver = your_solver
    monkeypatch.setitem(sys.modules, solver.__name__, solver)
    monkeypatch.setattr(estimators, "__path__", [*estimators.__path__, str(folder)])
    yield
    sys.modules.pop("surelabel.estimators.yourmethod", None)


def test_the_file_is_all_that_is_needed():
    method = all_methods()["YOURS"]
    assert method.grid == {"strength": [0.1, 1, 10]}
    assert method.make_search().cv is None


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_passes_the_conformance_suite(check):
    check(all_methods()["YOURS"].estimator())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_it_passes_the_checks_of_scikit_learn():
    check_estimator(all_methods()["YOURS"].estimator())


def test_the_registry_does_not_import_the_conformance_suite():
    code = (
        "import sys; from surelabel import all_methods; all_methods(); "
        "sys.exit('surelabel.estimators.checks' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
