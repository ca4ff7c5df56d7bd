"""The types that users see: a client program passes the strict check, and a wrong one does not."""

import subprocess
import sys
from pathlib import Path

import pytest

CLIENT = Path(__file__).with_name("client.py")
ROOT = Path(__file__).parents[2]


def check(file):
    """Run mypy as a user would, without this project's settings."""
    pytest.importorskip("mypy")
    strict = ("--strict", "--follow-imports=silent", "--config-file=", "--cache-dir")
    return subprocess.run(
        [sys.executable, "-m", "mypy", *strict, ROOT / ".mypy_cache", file],
        env={"MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def test_a_client_program_passes_the_strict_check():
    done = check(CLIENT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_argument_is_found(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import surelabel\n\nsurelabel.fit("a.csv", method=1)\n')
    assert 'Argument "method"' in check(wrong).stdout
