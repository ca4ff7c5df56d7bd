"""Windows has no os.sysconf, no resource and fcntl, and opens no folders: the package does without.

The names are taken away in another process, after the libraries that it needs are imported: theirs
is the check of the platform for themselves.
"""

import ast
import subprocess
import sys
from pathlib import Path

import surelabel

ROOT = Path(surelabel.__file__).parent

WITHOUT = """
import os, signal, sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType

import dask.array, dask.dataframe, distributed, joblib, matplotlib.pyplot, narwhals, pyarrow
import pyarrow.csv, pyarrow.dataset, pyarrow.json, pyarrow.parquet, rich.console, scipy
import sklearn.kernel_ridge, sklearn.svm, tempfile, typer

for name in ("sysconf", "fork", "forkpty", "getuid", "geteuid", "getgid", "setsid", "uname", "nice",
             "killpg", "sched_getaffinity", "O_DIRECTORY", "O_NONBLOCK", "statvfs", "mkfifo"):
    delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1", "setitimer"):
    delattr(signal, name)
for name in ("resource", "fcntl", "pwd", "grp", "termios"):
    sys.modules[name] = None
sys.modules["msvcrt"] = ModuleType("msvcrt")
open_file = os.open
def no_folders(path, *rest, **options):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", str(path))
    return open_file(path, *rest, **options)
os.open = no_folders
read_text = Path.read_text
def no_proc(self, *rest, **options):
    if self.parts[1:2] in (("proc",), ("sys",)):
        raise FileNotFoundError(2, "No such file", str(self))
    return read_text(self, *rest, **options)
Path.read_text = no_proc

import surelabel
for module in walk_packages(surelabel.__path__, "surelabel."):
    if not module.name.endswith("__main__"):
        import_module(module.name)

from surelabel.experiments import records, study, trials
from surelabel.solvers import memory
assert memory.available_memory() is None and memory.installed_memory() is None
assert trials._machine()["memory_gib"] is None
made = study.read_study(sys.argv[1])
with records.RecordWriter(sys.argv[2], made) as folder:
    assert folder.finished == {}
surelabel.save_model(surelabel.SUREClassifier().fit([[0.0], [1.0]], ["a", "b"]), sys.argv[3])
"""


def test_without_what_windows_has_not(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(
        'name = "small"\ndatasets = ["glass"]\n[methods.SURE]\n'
        '[[configurations]]\nkind = "controlled"\nname = "I"\np = [0.1]\nr = 1\n'
    )
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, study, tmp_path / "results", tmp_path / "model.surelabel"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results/study.toml").is_file()


def test_text_files_name_their_encoding():
    # Windows would read and write them in the code page of the country otherwise
    for file in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            modes = [part.value for part in node.args if isinstance(part, ast.Constant)]
            opened = isinstance(node.func, ast.Name) and name == "open"
            if name in ("read_text", "write_text") or (
                opened and not any("b" in str(mode) for mode in modes)
            ):
                where = f"{file.relative_to(ROOT)}, line {node.lineno}"
                assert any(word.arg == "encoding" for word in node.keywords), where
