"""The library without its extras: everything but tables, reports and commands works."""

import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
#: Run before the code of a test: modules of the extras are not found, as if not installed.
WITHOUT = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {modules}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, NotInstalled())
"""


def modules_of_extras():
    """The modules that only extras install; scikit-learn itself may bring narwhals."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    names = {Requirement(text).name.lower() for extra in extras for text in extra}
    names |= {"click", "polars"}
    owners = packages_distributions()
    return {
        module
        for module, distributions in owners.items()
        if names & {name.lower() for name in distributions}
    } - {"surelabel", "narwhals"}


def run(code, *words):
    without = WITHOUT.format(modules=modules_of_extras())
    command = [sys.executable, "-c", without + code, *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_few_libraries_are_required():
    assert len(PROJECT["project"]["dependencies"]) <= 9
    assert {"pyarrow", "typer", "matplotlib", "dask", "uvicorn"} <= modules_of_extras()


def test_the_library_works_without_extras(tmp_path):
    done = run(
        """
import numpy as np
import surelabel
import surelabel.data, surelabel.estimators.checks, surelabel.evaluation, surelabel.experiments
from surelabel.data import catalog

for part in (surelabel.data, surelabel.estimators, surelabel.evaluation, surelabel.experiments):
    for name in part.__all__:
        getattr(part, name)
X, y = catalog.load("ecoli").X, catalog.load("ecoli").y
candidates = surelabel.make_partial(y, p=0.5, r=1, random_state=0)
assert surelabel.CandidateSets.from_strings(["a|b", "b"]).sizes.tolist() == [2, 1]
for name, method in surelabel.all_methods().items():
    model = method.estimator().fit(X[:60], candidates[:60])
    surelabel.save_model(model, sys.argv[1])
    again = surelabel.load_model(sys.argv[1])
    assert np.array_equal(again.predict(X[60:]), model.predict(X[60:])), name
    surelabel.covering_rate(candidates[60:], model.predict(X[60:]))
surelabel.SURECV(verbose=True).fit(X[:60], candidates[:60])
""",
        str(tmp_path / "a.model"),
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("use", "message"),
    [
        ("surelabel.clean", 'surelabel.tables needs pyarrow: pip install "surelabel[cli]"'),
        ("surelabel.tables", 'surelabel.tables needs pyarrow: pip install "surelabel[cli]"'),
        (
            "import_module('surelabel.distributed')",
            'surelabel.distributed needs dask: pip install "surelabel[dask]"',
        ),
    ],
)
def test_what_needs_an_extra_says_so(use, message, monkeypatch):
    monkeypatch.delenv("SURELABEL_DATA", raising=False)
    done = run(
        f"""
import surelabel, surelabel.data.catalog
from importlib import import_module
try:
    {use}
except ImportError as error:
    print(error)
"""
    )
    assert done.stdout == f"{message}\n", done.stderr


def test_a_command_without_its_extra_says_so_in_one_line():
    done = run("sys.argv = ['surelabel', 'clean']\nfrom surelabel.__main__ import main\nmain()")
    message = 'error: the command line needs typer: pip install "surelabel[cli]"\n'
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)
