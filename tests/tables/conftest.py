import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris

from surelabel import CandidateSets, make_partial
from surelabel.data.labelling import Labels
from surelabel.tables import Cleaned, Feature
from surelabel.tables.annotators import AnnotatorAgreement
from surelabel.tables.calibration import VOTES, log_odds


def as_labels(
    candidates, gold=None, votes=None, names=(), table=None, unlabelled=None, complete=False
):
    m = len(candidates)
    if votes is not None:
        candidates = CandidateSets.from_ballots(votes, candidates.classes, annotators=names or None)
    return Labels(
        candidates=candidates,
        gold=np.full(m, -1) if gold is None else np.asarray(gold),
        unlabelled=np.zeros(m, bool) if unlabelled is None else unlabelled,
        ids=None,
        table=pa.table({"row": np.arange(m)}) if table is None else table,
        complete=complete,
    )


@pytest.fixture(scope="session")
def make_labels():
    """Labels as read from a table, from candidates and what else is known."""
    return as_labels


@pytest.fixture(scope="session")
def iris():
    """Flowers whose true names are known, with false candidates: X, truth, candidates."""
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    names = np.array(["setosa", "versicolor", "virginica"])
    return X, y, make_partial(names[y], p=0.7, r=1, random_state=0)


@pytest.fixture(scope="session")
def crowd():
    """Three annotators, the last of whom is often wrong: X, truth, votes, candidates."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    votes = np.stack(
        [
            np.where(rng.random(len(y)) < right, y, rng.integers(0, 3, len(y)))
            for right in (0.95, 0.8, 0.2)
        ],
        axis=1,
    )
    votes[rng.random(votes.shape) < 0.1] = -1
    votes[(votes < 0).all(axis=1), 0] = 0
    counts = np.stack([(votes == k).sum(axis=1) for k in range(3)], axis=1)
    return (
        (X - X.mean(axis=0)) / X.std(axis=0),
        y,
        votes,
        CandidateSets.from_counts(counts, classes=["a", "b", "c"]),
    )


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
    """A made-up table, cleaned."""
    rng = np.random.default_rng(seed)
    n = len(classes)
    classes = np.array(sorted(map(str, classes)))
    truth = rng.integers(n, size=m)
    X = 1.1 * rng.standard_normal((n, columns))[truth] + rng.standard_normal((m, columns))
    votes = make_votes(rng, truth, n, annotators)
    names = tuple(f"annotator {a + 1}" for a in range(annotators))
    known = np.full(m, -1)
    known[rng.permutation(m)[:gold]] = 1
    known = np.where(known > 0, truth, -1)
    table = pa.table(
        {f"x{j}": X[:, j] for j in range(columns)}
        | {"text": [f"text of row {i}" for i in range(m)]}
    )
    candidates = CandidateSets.from_ballots(votes, classes, annotators=names)
    counts = candidates.to_counts()
    labels = Labels(candidates, known, counts.sum(axis=1) == 0, None, table)
    features = [Feature(f"x{j}", "number") for j in range(columns)]
    return make_cleaned(rng, labels, X, truth, counts, features)


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
        labels.annotators[a], int(given.sum()), agreement, int(known.sum()), right, most
    )


def make_cleaned(rng, labels, X, truth, counts, features):
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
    status = np.where(
        kept, "certified", np.where((confidence > 0.6) & ~outside, "probable", "look")
    )
    shares = inside.copy()
    shares[rows, label] = confidence
    return Cleaned(
        classes=labels.candidates.classes,
        label=label,
        confidence=confidence,
        second=second,
        status=status,
        outside=np.where(outside, np.cumsum(outside), 0),
        best=np.where(outside, proba.argmax(axis=1), label),
        outside_probability=np.full(m, np.nan),
        shares=shares,
        score=log_odds(best),
        prior=VOTES,
        features_role=None,
        max_error=0.02,
        gold_error=float(np.mean(choice[known] != labels.gold[known])) if known.any() else None,
        n_gold=int(known.sum()),
        gold_confidence=best[known],
        gold_right=choice[known] == labels.gold[known],
        annotators=[make_agreement(labels, label, a) for a in range(len(labels.annotators))],
        classifier=None,
        model=None,
        frame=None,
        labels=labels,
        features=features,
        X=X,
        source="animals.csv",
        prefix="",
        audit=None,
        method="SURE",
        parameters={"lam": 0.05, "beta": 0.01},
        cv_score=0.93,
    )


@pytest.fixture(scope="session")
def cleaned_table():
    """Make a cleaned table."""
    return make_cleaned_table
