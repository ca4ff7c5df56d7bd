"""How quickly the command line and the library start, as shares of importing scikit-learn.

CPU time (user and system) of whole processes, the minimum of several runs in turns. Limits: help,
version, completion and a misspelt option at most 0.3 of ``import sklearn.svm``; ``import
surelabel`` at most 1.15 of ``import sklearn``.
"""

import argparse
import os
import resource
import subprocess
import sys

COMMANDS = {
    "surelabel --help": ["--help"],
    "surelabel clean --help": ["clean", "--help"],
    "surelabel --version": ["--version"],
    "surelabel clean --lables x": ["clean", "--lables", "x"],
    "completion of surelabel cl": [],
}
IMPORTS = ("import sklearn.svm", "import sklearn", "import surelabel")
FIRST_USE = "from surelabel import SUREClassifier"


def cpu_seconds(*words, **environment):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *words],
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    completion = {
        "_SURELABEL_COMPLETE": "complete_bash",
        "COMP_WORDS": "surelabel cl",
        "COMP_CWORD": "1",
    }
    seconds: dict[str, list[float]] = {}
    for _ in range(runs):
        for code in (*IMPORTS, FIRST_USE):
            seconds.setdefault(code, []).append(cpu_seconds("-c", code))
        for name, words in COMMANDS.items():
            used = cpu_seconds("-m", "surelabel", *words, **({} if words else completion))
            seconds.setdefault(name, []).append(used)
    least = {name: min(times) for name, times in seconds.items()}
    for name in COMMANDS:
        share = least[name] / least["import sklearn.svm"]
        print(f"{name:36} {least[name]:6.3f} s, {share:.2f} of import sklearn.svm (limit 0.30)")
    for name in ("import surelabel", FIRST_USE):
        share = least[name] / least["import sklearn"]
        limit = " (limit 1.15)" if name in IMPORTS else ""
        print(f"{name:36} {least[name]:6.3f} s, {share:.2f} of import sklearn{limit}")
    print(
        f"{'import sklearn, import sklearn.svm':36} "
        f"{least['import sklearn']:6.3f} s, {least['import sklearn.svm']:.3f} s"
    )


if __name__ == "__main__":
    main()
