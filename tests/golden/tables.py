"""Tables of all forms through :func:`surelabel.clean`, as the command does it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from sklearn.datasets import load_iris, load_wine

import surelabel
from surelabel.data import catalog
from tests.golden.make import codes, number

FLOWERS = np.array(["setosa", "versicolor", "virginica"])
WORDS = {
    "sport": "match goal team player season coach league win score cup",
    "money": "bank market price stock euro trade profit loan tax fund",
    "music": "band song album concert guitar tour singer melody drum chord",
}


# ------------------------------------------------------------------ where rows come from


@cache
def iris() -> tuple[dict[str, Any], np.ndarray]:
    """Columns of numbers, and the true names."""
    X, y = load_iris(return_X_y=True)
    return {f"x{j}": X[:, j] for j in range(4)}, FLOWERS[y]


@cache
def wine() -> tuple[dict[str, Any], np.ndarray]:
    X, y = load_wine(return_X_y=True)
    return {f"x{j}": X[:, j] for j in range(X.shape[1])}, np.array(["red", "rose", "white"])[y]


@cache
def uci(name: str, m: int = 160) -> tuple[dict[str, Any], np.ndarray]:
    """Some rows of a data set of the package."""
    data = catalog.load(name)
    rows = np.random.default_rng(0).permutation(len(data.X))[:m]
    y = np.array([f"class {label}" for label in np.asarray(data.y)[rows]])
    return {f"x{j}": data.X[rows, j] for j in range(data.X.shape[1])}, y


def sets_of(truth: np.ndarray, p: float = 0.7, seed: int = 0) -> list[list[str]]:
    """Candidates: the true label, and a false one in a share p of the rows."""
    rng = np.random.default_rng(seed)
    names = np.unique(truth)
    return [
        sorted({str(label), *map(str, rng.choice(names, 1 if rng.random() < p else 0))})
        for label in truth
    ]


def votes_of(truth: np.ndarray, quality: tuple[float, ...], seed: int = 0) -> dict[str, list[Any]]:
    """A column for each annotator, with some cells missing."""
    rng = np.random.default_rng(seed)
    names, found = np.unique(truth), {}
    for i, right in enumerate(quality):
        given = np.where(rng.random(len(truth)) < right, truth, rng.choice(names, len(truth)))
        missing = rng.random(len(truth)) < 0.15
        found[f"person_{i + 1}"] = [
            None if no else str(a) for a, no in zip(given, missing, strict=True)
        ]
    return found


def texts_of(truth: np.ndarray, seed: int = 0) -> list[str]:
    """Some words of the topic of each row, and some of all topics."""
    rng = np.random.default_rng(seed)
    every = " ".join(WORDS.values()).split()
    return [
        " ".join(rng.permutation([*rng.choice(WORDS[k].split(), 4), *rng.choice(every, 4)]))
        for k in truth
    ]


def topics(m: int = 150, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).choice(sorted(WORDS), m)


def joined(sets: list[list[str]]) -> list[str]:
    return ["|".join(labels) for labels in sets]


def some(truth: np.ndarray, share: float = 0.2) -> list[Any]:
    """The true label of some rows."""
    known = np.random.default_rng(5).random(len(truth)) < share
    return [str(label) if yes else None for label, yes in zip(truth, known, strict=True)]


def written(folder: Path, columns: dict[str, Any]) -> Path:
    """A CSV file."""
    path = folder / "table.csv"
    pyarrow.csv.write_csv(pa.table(columns), path)
    return path


# ------------------------------------------------------------------ what comes out


def outcome(found: Any) -> dict[str, Any]:
    """What is compared of a cleaned table."""
    frame = found.frame
    return {
        **{name: codes(frame[name].to_pylist()) for name in ("label", "second", "best", "status")},
        "confidence": [number(share) for share in found.confidence],
        "margin": [number(share) for share in found.margin],
        "outside": [int(row) for row in np.flatnonzero(pc.is_valid(frame["outside"]))],
        "look": [int(row) for row in np.flatnonzero(pc.is_valid(frame["look"]))],
        "expected error": number(found.expected_error),
        "method": found.method,
        "learned from": {feature.name: feature.kind for feature in found.learned_from},
    }


def cleaned(folder: Path, columns: Callable[[], dict[str, Any]], **options: Any) -> dict[str, Any]:
    """Write the columns to a file, and clean it."""
    return outcome(surelabel.clean(written(folder, columns()), **options))


def strings(p: float = 0.7) -> dict[str, Any]:
    X, truth = iris()
    return X | {"labels": joined(sets_of(truth, p))}


def strings_of(name: str) -> dict[str, Any]:
    X, truth = uci(name)
    return X | {"labels": joined(sets_of(truth))}


def known() -> dict[str, Any]:
    return strings() | {"truth": some(iris()[1])}


def indicator() -> dict[str, Any]:
    X, truth = wine()
    sets = sets_of(truth, 0.8)
    return X | {f"is_{k}": [int(k in s) for s in sets] for k in np.unique(truth).tolist()}


def annotators() -> dict[str, Any]:
    X, truth = iris()
    return X | votes_of(truth, (0.9, 0.8, 0.6, 0.5))


def annotators_and_truth() -> dict[str, Any]:
    return annotators() | {"truth": some(iris()[1])}


def votes_alone() -> dict[str, Any]:
    return votes_of(uci("ecoli")[1], (0.9, 0.8, 0.7, 0.6, 0.4))


def long_votes() -> dict[str, Any]:
    X, truth = wine()
    rows = [
        (i, person, label)
        for person, given in votes_of(truth, (0.9, 0.7, 0.6)).items()
        for i, label in enumerate(given)
        if label is not None
    ]
    rows.sort()
    chosen = np.array([i for i, _, _ in rows])
    return {
        "id": [f"bottle {i}" for i in chosen],
        "who": [person for _, person, _ in rows],
        "given": [label for _, _, label in rows],
    } | {name: column[chosen] for name, column in X.items()}


def counts() -> dict[str, Any]:
    X, truth = iris()
    rng = np.random.default_rng(2)
    votes = [rng.multinomial(5, np.where(label == FLOWERS, 0.6, 0.2)) for label in truth]
    return X | {f"n_{k}": [int(v[i]) for v in votes] for i, k in enumerate(FLOWERS)}


def probabilities() -> dict[str, Any]:
    X, truth = wine()
    rng, names = np.random.default_rng(3), np.unique(truth)
    shares = [np.round(rng.dirichlet(np.where(names == label, 3.0, 1.0)), 3) for label in truth]
    return X | {f"p_{k}": [float(s[i]) for s in shares] for i, k in enumerate(names)}


def noisy() -> dict[str, Any]:
    X, truth = uci("dermatology")
    return X | {"given": votes_of(truth, (0.75,))["person_1"]}


def texts() -> dict[str, Any]:
    truth = topics()
    return {"text": texts_of(truth), "labels": joined(sets_of(truth))}


def categories() -> dict[str, Any]:
    truth, rng = topics(160), np.random.default_rng(4)
    likes = {k: rng.dirichlet(np.full(5, 0.5)) for k in sorted(WORDS)}
    colours = np.array(["blue", "green", "grey", "red", "white"])
    return {
        "colour": [rng.choice(colours, p=likes[k]) for k in truth],
        "shop": [rng.choice(colours[:4], p=likes[k][:4] / likes[k][:4].sum()) for k in truth],
        "price": [round(float(rng.normal(len(k), 1.0)), 2) for k in truth],
        "labels": joined(sets_of(truth)),
    }


def times() -> dict[str, Any]:
    truth, rng = topics(140), np.random.default_rng(6)
    hours = {"money": 10, "music": 21, "sport": 16}
    start = np.datetime64("2024-01-01T00:00")
    when = [
        start
        + np.timedelta64(int(rng.integers(300)) * 24 * 60, "m")
        + np.timedelta64(int(60 * rng.normal(hours[k], 2)), "m")
        for k in truth
    ]
    return {
        "when": [str(t).replace("T", " ") for t in when],
        "length": [round(float(rng.normal(3 + hours[k] / 5, 1.0)), 2) for k in truth],
        "labels": joined(sets_of(truth)),
    }


def missing() -> dict[str, Any]:
    X, truth = iris()
    rng = np.random.default_rng(7)
    cells = {
        name: [None if rng.random() < 0.2 else float(x) for x in column]
        for name, column in X.items()
    }
    labels = [None if rng.random() < 0.1 else text for text in joined(sets_of(truth))]
    return cells | {"labels": labels}


def lists(folder: Path) -> dict[str, Any]:
    """Lists in JSON lines."""
    X, truth = iris()
    path = folder / "table.jsonl"
    rows = [
        json.dumps({name: float(column[i]) for name, column in X.items()} | {"labels": labels})
        for i, labels in enumerate(sets_of(truth))
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return outcome(surelabel.clean(path, labels="labels"))


def excel(folder: Path) -> dict[str, Any]:
    import xlsxwriter

    X, truth = wine()
    columns = X | {"labels": joined(sets_of(truth))}
    book = xlsxwriter.Workbook(folder / "table.xlsx")
    sheet = book.add_worksheet()
    for j, (name, column) in enumerate(columns.items()):
        sheet.write_column(0, j, [name, *column])
    book.close()
    return outcome(surelabel.clean(folder / "table.xlsx", labels="labels"))


def parquet(folder: Path) -> dict[str, Any]:
    """Lists and vectors in typed columns."""
    X, truth = wine()
    vectors = np.stack(list(X.values()), axis=1).tolist()
    path = folder / "table.parquet"
    pyarrow.parquet.write_table(pa.table({"v": vectors, "labels": sets_of(truth)}), path)
    return outcome(surelabel.clean(path, labels="labels"))


def audited(folder: Path) -> dict[str, Any]:
    """Rows drawn for a check, answered and read again."""
    X, truth = uci("ecoli")
    path = written(folder, X | {"labels": joined(sets_of(truth))})
    sheet = surelabel.clean(path, labels="labels").audit_sheet(40, random_state=0)
    rows = sheet["row"].to_pylist()
    answers = [truth[int(row) - 1] if i < 30 else None for i, row in enumerate(rows)]
    place = sheet.column_names.index("answer")
    sheet = sheet.set_column(place, "answer", pa.array(answers, pa.string()))
    found = surelabel.clean(path, labels="labels", audit=sheet)
    return {"rows": [int(row) for row in rows], "audit": found.audit.to_dict()} | outcome(found)


def answered(folder: Path) -> dict[str, Any]:
    """Answers as the review page writes them."""
    X, truth = iris()
    names = [f"r{i}" for i in range(len(truth))]
    path = written(folder, {"name": names} | X | {"labels": joined(sets_of(truth))})
    lines: list[dict[str, Any]] = [
        {"surelabel": "answers 1", "id": "name", "columns": ["name", *X, "labels"]}
    ]
    lines += [{"row": f"r{i}", "label": str(truth[i]), "who": "a"} for i in range(0, 150, 10)]
    lines += [{"row": "r3", "verdict": "none"}, {"row": "r4", "verdict": "unknown"}]
    answers = folder / "answers.jsonl"
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return outcome(surelabel.clean(path, labels="labels", id="name", answers=answers))


def form(columns: Callable[[], dict[str, Any]], **options: Any) -> Callable[[Path], Any]:
    return partial(cleaned, columns=columns, **options)


RESULTS: dict[str, Callable[[Path], Any]] = {
    "strings": form(strings, labels="labels"),
    "strings, complete": form(strings, labels="labels", complete=True),
    "strings, six classes": form(partial(strings_of, "glass"), labels="labels"),
    "strings by SURE": form(partial(strings_of, "ecoli"), labels="labels", method="SURE"),
    "strings, small error": form(strings, labels="labels", max_error=0.02),
    "known labels": form(known, labels="labels", gold="truth"),
    "lists": lists,
    "indicator": form(indicator, indicator="is_*"),
    "annotators": form(annotators, votes="person_*"),
    "annotators and known labels": form(annotators_and_truth, votes="person_*", gold="truth"),
    "annotators alone": form(votes_alone, votes="person_*"),
    "majority": form(annotators, votes="person_*", method="majority"),
    "Dawid-Skene": form(annotators, votes="person_*", method="Dawid-Skene"),
    "long": form(long_votes, labels="given", id="id", long=True, annotator="who"),
    "counts": form(counts, counts="n_*"),
    "probabilities": form(probabilities, counts="p_*"),
    "one noisy label": form(noisy, labels="given", noisy=True),
    "texts": form(texts, labels="labels"),
    "categories": form(categories, labels="labels"),
    "times": form(times, labels="labels"),
    "missing values": form(missing, labels="labels"),
    "excel": excel,
    "parquet": parquet,
    "audit": audited,
    "answers": answered,
}
