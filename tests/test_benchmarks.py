"""Benchmarks run seldom: at least everything that they import must exist."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "benchmarks"


def test_imports():
    names = sorted(path.stem for path in FOLDER.glob("*.py"))
    assert len(names) > 20
    # in a process of its own, because some of them set environment variables
    code = f"import importlib\nfor name in {names}: importlib.import_module(name)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
