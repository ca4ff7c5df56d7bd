"""Imports go down one list of folders only."""

import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import surelabel

LAYERS = [
    "solvers", "data", "evaluation", "estimators", "distributed", "experiments", "report", "tables",
    "review", "cli",
]  # fmt: skip
ROOT = Path(surelabel.__file__).parent
#: Files beside the folders, and the folder above which each stands; others stand below all.
ROOT_FILES = {"__main__": "cli", "__init__": "cli"}


def imported_layers(file):
    """Our top-level folders that a module imports from, relative imports resolved."""
    package = file.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            path = [*base, *(node.module or "").split(".")]
            yield path[0]
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names = (
                [node.module]
                if isinstance(node, ast.ImportFrom)
                else [alias.name for alias in node.names]
            )
            yield from (name.split(".")[1] for name in names if name.startswith("surelabel."))


def height(name):
    """The place of a folder, or of a file beside the folders."""
    return LAYERS.index(ROOT_FILES.get(name, name)) if name in {*LAYERS, *ROOT_FILES} else -1


def test_imports_go_down():
    files = list(ROOT.rglob("*.py"))
    assert len(files) > 20
    for file in files:
        layer = file.relative_to(ROOT).parts[0].removesuffix(".py")
        for other in imported_layers(file):
            assert height(other) <= height(layer), f"{file} imports from {other}"
            if layer == "solvers":
                assert other in LAYERS, f"{file}: solvers import nothing of ours but {other}"


def test_names_are_imported_when_they_are_used():
    code = "import sys, surelabel; print(sorted({'numpy', 'sklearn', 'scipy'} & set(sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout == "[]\n"
    known = {name for names in surelabel._HOMES.values() for name in names}
    assert known == set(surelabel.__all__) - {"__version__"}
    assert all(getattr(surelabel, name) is not None for name in surelabel.__all__)
    assert surelabel.__version__ == version("surelabel")
    with pytest.raises(AttributeError, match="module 'surelabel' has no attribute 'desk'"):
        _ = surelabel.desk


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from surelabel.cli import app\ntry: app()\nexcept SystemExit: pass\n"
        "print({'numpy', 'sklearn', 'pyarrow', 'matplotlib', 'dask'} & set(sys.modules))"
    )
    for words in (["--version"], ["clean", "--help"], ["clean", "--lables"]):
        output = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
        )
        assert output.stdout.splitlines()[-1] == "set()", words


def test_modules_with_an_underscore_are_used_in_their_folder_only():
    for file in ROOT.rglob("*.py"):
        folder = file.relative_to(ROOT).parent.parts
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level > 1 and node.module:
                home = [*folder[: len(folder) - node.level + 1], *node.module.split(".")]
                hidden = [i for i, part in enumerate(home) if part.startswith("_")]
                inside = all(tuple(home[:i]) == folder[:i] for i in hidden)
                assert inside, f"{file} imports from {node.module}"


def test_names_with_an_underscore_are_used_in_their_module_only():
    for file in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level and node.module:
                private = [alias.name for alias in node.names if alias.name.startswith("_")]
                assert not private, f"{file} imports {private[0]} from {node.module}"
