"""Frozen results: what the package answers, so that a change of code that changes an answer shows.

``python -m tests.golden.make`` makes all of them again, with ``tables pages`` some parts, and with
``tables/times`` one result. Make again only what is meant to change, and say in the commit why it
does.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from threadpoolctl import threadpool_limits

HERE = Path(__file__).parent
PARTS = ("tables", "estimators", "studies", "models", "pages")


def results_of(part: str) -> dict[str, Callable[[Path], Any]]:
    """The results of a part by name; each is computed in a folder of its own."""
    return import_module(f"tests.golden.{part}").RESULTS


def compute(part: str, name: str, folder: Path) -> Any:
    """One result as plain values."""
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return json.loads(json.dumps(results_of(part)[name](folder)))


def frozen(part: str) -> dict[str, Any]:
    """The results of a part as they are stored."""
    path = HERE / f"{part}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def number(value: float) -> float:
    """A number with as many digits as are compared, and some more."""
    return float(f"{value:.8g}")


def summary(array: Any) -> dict[str, Any]:
    """A large array: its shape, its norm, and, as parts of the norm, three projections and some
    entries.
    """
    array = np.asarray(array.toarray() if issparse(array) else array, dtype=float)
    flat = array.ravel()
    norm = float(np.linalg.norm(flat))
    unit = flat / (norm or 1.0)
    directions = np.random.default_rng(0).standard_normal((3, len(flat)))
    entries = unit[:: max(1, len(unit) // 5)][:5]
    return {
        "shape": list(array.shape),
        "norm": number(norm),
        "values": [number(value) for value in [*(directions @ unit), *entries]],
    }


def codes(values: Any) -> list[Any]:
    """Texts by their positions among the different ones, which come first: ``[names, "0120…"]``."""
    texts = ["" if value is None else str(value) for value in values]
    names = sorted(set(texts))
    assert len(names) <= 36
    letters = "0123456789abcdefghijklmnopqrstuvwxyz"
    return [names, "".join(letters[names.index(text)] for text in texts)]


def write(part: str, results: dict[str, Any]) -> None:
    """Store a part: a line for each result."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(result, ensure_ascii=False, separators=(',', ':'))}"
        for name, result in results.items()
    )
    (HERE / f"{part}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Make the parts or results named, by default all."""
    from tempfile import TemporaryDirectory
    from time import process_time

    wanted = [argument.partition("/") for argument in arguments or PARTS]
    for part in dict.fromkeys(part for part, _, _ in wanted):
        names = [name for of, _, name in wanted if of == part]
        before = frozen(part)
        results = {}
        for name in results_of(part):
            if name in before and "" not in names and name not in names:
                results[name] = before[name]
                continue
            start = process_time()
            with TemporaryDirectory() as folder:
                results[name] = compute(part, name, Path(folder))
            print(f"{part}/{name}: {process_time() - start:.2f} s")
        write(part, results)


if __name__ == "__main__":
    main(sys.argv[1:])
