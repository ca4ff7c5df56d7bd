"""Made-up results, random numbers in the form of real ones, to try the pages on every kind of them;
and a real browser.
"""

import json
import re
import shutil
from html.parser import HTMLParser
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from surelabel.data.candidates import CandidateSets
from surelabel.data.labelling import Labels
from surelabel.experiments.study import PAPERS, load_toml
from surelabel.report.summary import summarize
from surelabel.tables.annotators import AnnotatorAgreement
from surelabel.tables.cleaning import Cleaned
from surelabel.tables.encoding import Feature

STUDIES = sorted(path.stem for path in PAPERS.glob("*.toml"))
GRID = [0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 1.0]
SIZES = {
    "lost": 1122,
    "msrcv2": 1758,
    "fg-net": 1002,
    "deter": 358,
    "ecoli": 336,
    "glass": 214,
    "usps": 9298,
}


def configurations(study):
    """Every setting of a study: lists of p, r and eps multiplied out."""
    found = []
    for entry in study["configurations"]:
        if entry["kind"] == "real":
            found.append({"kind": "real"})
            continue
        values = [
            entry[key] if isinstance(entry.get(key), list) else [entry.get(key)]
            for key in ("p", "r", "eps")
        ]
        found += [
            {"kind": "controlled", "name": entry["name"], "p": p, "r": r, "eps": eps}
            for p, r, eps in product(*values)
        ]
    return found


def points(study):
    """The parameters that a cell of the study may have."""
    if study.get("kind") == "sensitivity":
        return [{"lam": lam, "beta": beta} for lam, beta in product(GRID, GRID)]
    return [None]


def make_record(rng, study, dataset, configuration, place, method, fold, parameters):
    """One record; the better methods come first, and every score is noisy."""
    difficulty = 0.25 * (configuration.get("eps") or configuration.get("p") or 0.5)
    centre = 0.85 - difficulty - 0.03 * place - 0.004 * len(dataset)
    if parameters:
        centre -= 0.02 * abs(np.log10(parameters["lam"]) + 1) + 0.03 * abs(
            np.log10(parameters["beta"]) + 1.5
        )
    accuracy = float(np.clip(centre + 0.025 * rng.standard_normal(), 0, 1))
    chosen = {"lam": float(rng.choice(GRID[2:5])), "beta": float(rng.choice(GRID[1:3]))}
    fixed = method in ("CLPL", "PALOC") or study.get("kind", "accuracy") != "accuracy"
    rows = SIZES.get(dataset, 500)
    n_train = rows - rows // 10
    scores = {
        "accuracy": accuracy,
        "transductive_accuracy": min(1.0, accuracy + 0.05),
        "covering_rate": min(1.0, accuracy + 0.1),
    }
    if dataset == "fg-net":
        scores |= {
            "accuracy_within_3": min(1.0, accuracy + 0.02),
            "accuracy_within_5": min(1.0, accuracy + 0.05),
        }
    return {
        "study": study["name"],
        "dataset": dataset,
        "configuration": configuration,
        "method": method,
        "fold": fold,
        "n_folds": study["folds"],
        "selection": "none" if fixed else study["selection"],
        "parameters": parameters or ({} if fixed else chosen),
        "scaling": study["scaling"],
        "scores": scores,
        "seconds": {
            "select": 0.0 if fixed else 2.0 * (1 + place) * rng.random(),
            "fit": 0.1 + rng.random(),
            "predict": 0.01,
        },
        "n_train": n_train,
        "n_test": rows // 10,
        "n_select": min(n_train, study.get("max_select") or n_train),
        "curves": {"delta": (8.0 * 0.6 ** np.arange(20 + fold)).tolist()}
        if study.get("kind") == "convergence"
        else {},
        "versions": {"surelabel": "0.1.0", "numpy": "2.1.0", "python": "3.12.1"},
        "machine": {"cpu": "made-up", "cores": 2, "memory_gib": 8},
        "finished": "2026-01-01T00:00:00+00:00",
    }


def make_records(study, seed=0, datasets=SIZES):
    """Records of every cell of the study, on the data sets named."""
    rng = np.random.default_rng(seed)
    found = []
    for dataset in (name for name in study["datasets"] if name in datasets):
        real = dataset in ("lost", "msrcv2", "fg-net")
        for configuration in configurations(study):
            if real != (configuration["kind"] == "real"):
                continue
            for fold, (place, method), parameters in product(
                range(study["folds"]), enumerate(study["methods"]), points(study)
            ):
                record = make_record(
                    rng, study, dataset, configuration, place, method, fold, parameters
                )
                found.append({"cell": f"{len(found):016x}"} | record)
    return found


def write_results(folder, study, records):
    """A results folder as a run leaves it."""
    folder.mkdir(parents=True)
    (folder / "records.jsonl").write_text(
        "".join(json.dumps(record) + "\n" for record in records), encoding="utf-8"
    )
    # JSON of a flat value is also TOML; only the tables need their names
    plain = {key: value for key, value in study.items() if isinstance(value, str | int)}
    lines = [f"{key} = {json.dumps(value)}" for key, value in plain.items()]
    lines += [f"{key} = {json.dumps(list(study[key]))}" for key in ("datasets", "methods")]
    for dataset, numbers in study.get("published", {}).items():
        lines.append(f"[published.{json.dumps(dataset)}]")
        lines += [
            f"{json.dumps(method)} = {inline_table(number)}" for method, number in numbers.items()
        ]
    (folder / "study.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def inline_table(value):
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(
                f"{json.dumps(key)} = {inline_table(entry)}" for key, entry in value.items()
            )
            + " }"
        )
    return json.dumps(value)


@pytest.fixture(scope="session")
def study_of():
    """The tables of a study of the package by name."""
    return lambda name: {"selection": "none", **load_toml(PAPERS / f"{name}.toml")}


@pytest.fixture(scope="session")
def made_up(study_of):
    """(study, made-up records) of a study of the package by name."""

    def make(name, **changes):
        study = study_of(name) | changes
        return study, make_records(study)

    return make


@pytest.fixture(scope="session")
def section_of(made_up):
    """The only section of the summary of a made-up run."""
    return lambda name, **changes: summarize([made_up(name, **changes)])["sections"][0]


@pytest.fixture
def results(tmp_path, made_up):
    """Write a made-up results folder."""

    def make(name, **changes):
        study, records = made_up(name, **changes)
        return write_results(tmp_path / "results" / study["name"], study, records)

    return make


# ---------------------------------------------------------------- a cleaned table


def make_votes(rng, truth, n_classes, annotators):
    """Votes of annotators of falling quality, some of them missing."""
    m = len(truth)
    quality = np.linspace(0.85, 0.45, annotators)
    wrong = rng.integers(n_classes, size=(m, annotators))
    votes = np.where(rng.random((m, annotators)) < quality, truth[:, None], wrong)
    votes[rng.random((m, annotators)) < 0.1] = -1
    votes[rng.random(m) < 0.02] = -1
    return votes


def make_cleaned_table(
    m=600, classes=("ant", "bee", "cow", "dog"), *, columns=5, annotators=4, gold=60, seed=0
):
    """(cleaned, labels, table, X, features) of a made-up table."""
    rng = np.random.default_rng(seed)
    n = len(classes)
    classes = np.array(sorted(map(str, classes)))
    truth = rng.integers(n, size=m)
    X = 1.1 * rng.standard_normal((n, columns))[truth] + rng.standard_normal((m, columns))
    votes = make_votes(rng, truth, n, annotators)
    names = tuple(f"annotator {a + 1}" for a in range(annotators))
    counts = np.zeros((m, n), int)
    for a in range(annotators):
        given = votes[:, a] >= 0
        counts[given, votes[given, a]] += 1
    known = np.full(m, -1)
    known[rng.permutation(m)[:gold]] = 1
    known = np.where(known > 0, truth, -1)
    table = pa.table(
        {f"x{j}": X[:, j] for j in range(columns)}
        | {"text": [f"text of row {i}" for i in range(m)]}
    )
    unlabelled = counts.sum(axis=1) == 0
    candidates = CandidateSets.from_counts(counts, classes=classes, unlabelled="all")
    labels = Labels(candidates, known, votes, names, unlabelled, None, table)
    features = [Feature(f"x{j}", "number") for j in range(columns)]
    return make_cleaned(rng, labels, X, truth, counts), labels, table, X, features


def make_agreement(labels, label, a):
    """How one annotator's votes compare with the labels chosen."""
    vote, n = labels.votes[:, a], labels.candidates.shape[1]
    given, known = vote >= 0, (vote >= 0) & (labels.gold >= 0)
    confusion = np.zeros((n, n), int)
    np.add.at(confusion, (label[given], vote[given]), 1)
    wrong = confusion - np.diag(confusion.diagonal())
    chosen, voted = divmod(int(wrong.argmax()), n)
    right = float(np.mean(vote[known] == labels.gold[known])) if known.any() else None
    agreement = float(np.mean(vote[given] == label[given]))
    most = (chosen, voted, int(wrong.max())) if wrong.max() else None
    return AnnotatorAgreement(
        labels.annotators[a], int(given.sum()), agreement, int(known.sum()), right, confusion, most
    )


def make_cleaned(rng, labels, X, truth, counts):
    """What cleaning might find: the votes and the features weighed, with noise."""
    m, n = counts.shape
    centres = np.array(
        [X[truth == k].mean(axis=0) if (truth == k).any() else X.mean(axis=0) for k in range(n)]
    )
    distance = ((X[:, None, :] - centres) ** 2).sum(axis=2)
    proba = np.exp(-0.4 * (distance - distance.min(axis=1, keepdims=True)))
    proba /= proba.sum(axis=1, keepdims=True)
    inside = proba * (labels.candidates.to_indicator() > 0) * (0.3 + counts) + 1e-12 * (
        labels.candidates.to_indicator() > 0
    )
    inside /= inside.sum(axis=1, keepdims=True)
    order = np.argsort(-inside, axis=1, kind="stable")
    rows = np.arange(m)
    choice, best = order[:, 0], inside[rows, order[:, 0]] * (1 - 0.01 * rng.random(m))
    second = np.where(labels.candidates.sizes > 1, order[:, 1], -1)
    known = labels.gold >= 0
    label, confidence = np.where(known, labels.gold, choice), np.where(known, 1.0, best)
    kept = confidence >= 0.98
    outside = (
        ~kept & (proba.argmax(axis=1) != label) & (proba.max(axis=1) > 0.9) & (rng.random(m) < 0.3)
    )
    status = np.where(kept, "certain", np.where((confidence > 0.6) & ~outside, "likely", "look"))
    duplicate = np.full(m, -1)
    look = np.flatnonzero(status == "look")
    duplicate[look[:2]] = 0
    return Cleaned(
        classes=labels.candidates.classes,
        label=label,
        confidence=confidence,
        second=second,
        margin=confidence - np.where(second >= 0, inside[rows, order[:, 1]], 0),
        status=status,
        outside=outside,
        suggestion=np.where(outside, proba.argmax(axis=1), -1),
        duplicate=duplicate,
        gain=1 - confidence + outside,
        proba=proba.astype(np.float32),
        max_error=0.02,
        expected_error=float(np.mean(1 - confidence[kept])) if kept.any() else float("nan"),
        n_kept=int(kept.sum()),
        gold_error=float(np.mean(choice[known] != labels.gold[known])) if known.any() else None,
        gold_ece=0.03 if known.any() else None,
        n_gold=int(known.sum()),
        gold_confidence=best[known],
        gold_right=choice[known] == labels.gold[known],
        annotators=[make_agreement(labels, label, a) for a in range(len(labels.annotators))],
        objective_path=10 + 5 * 0.5 ** np.arange(12),
        delta_path=8 * 0.5 ** np.arange(12),
        seconds={"choose": 1.25, "folds": 3.5, "fit": 0.5},
        model=None,
        method="SURE",
        parameters={"lam": 0.05, "beta": 0.01},
        cv_score=0.93,
    )


@pytest.fixture(scope="session")
def cleaned_table():
    """Make a cleaned table: the arguments of the page but for its path."""
    return make_cleaned_table


# ---------------------------------------------------------------- in the browser


CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


class Tags(HTMLParser):
    """Every tag of a page with its attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


@pytest.fixture(scope="session")
def tags_of():
    """Every tag of a page with its attributes."""
    return lambda path: Tags(path.read_text(encoding="utf-8")).found


@pytest.fixture(scope="session")
def browser():
    driver = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("needs a Chromium on the path")
    switches = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with driver.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=switches)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser):
    """Open a page; at the end of the test, fail on anything that went wrong on it or was fetched by
    it.
    """
    contexts, wrong = [], []

    def go(path, **options):
        context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "request",
            lambda request: wrong.append(request.url) if request.url != path.as_uri() else None,
        )
        page.goto(path.as_uri())
        return page

    yield go
    for context in contexts:
        context.close()
    assert wrong == []


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.fixture(scope="session")
def contrast():
    """Contrast of a text, or of the text of a figure, to the background of its page, as WCAG
    reckons it.
    """

    def ratio(page, selector):
        attribute = "fill" if "svg" in selector else "color"
        ink = luminance(
            page.locator(selector).first.evaluate(
                f"element => getComputedStyle(element).{attribute}"
            )
        )
        paper = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        return (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05), paper

    return ratio
