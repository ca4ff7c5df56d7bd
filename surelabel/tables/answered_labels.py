"""Labels with answers: what a model learns from, and what becomes of the labels that it chose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ..data.candidates import CandidateSets
from ..data.labelling import Labels
from ..exceptions import TableError, first_few
from .answers import LABEL, NONE
from .auditing import Audit
from .placed_answers import PlacedAnswers
from .status import CERTIFIED, LOOK, PROBABLE

#: Has the attributes ``classes``, ``label``, ``status`` and ``n_kept`` of ChosenLabels.
Found = TypeVar("Found")


def labels_with(labels: Labels, placed: PlacedAnswers) -> Labels:
    """The labels of a table, updated by the answers.

    An answer is gold: it is learned from, and it shows how far confidences can be trusted. Where
    none of the candidates is right, all other labels become candidates. A new label becomes a
    class.

    Parameters
    ----------
    labels : Labels
        As the table has them.
    placed : PlacedAnswers
        The answers.

    Returns
    -------
    Labels
    """
    labels = with_classes(labels, [a.label for a in placed.rows.values() if a.label is not None])
    known, gold = known_labels(labels, placed), labels.gold.copy()
    changed: dict[int, np.ndarray] = {}
    for row, answer in placed.rows.items():
        if answer.verdict == LABEL:
            gold[row] = known[row]
        elif answer.verdict == NONE:
            start, stop = labels.candidates.indptr[row : row + 2]
            every = np.arange(labels.candidates.shape[1])
            others = np.setdiff1d(every, labels.candidates.indices[start:stop])
            changed |= {row: others} if len(others) else {}
    unlabelled = labels.unlabelled & (known < 0)
    candidates = labels.candidates if labels.votes is not None else _with_sets(labels, changed)
    return replace(labels, candidates=candidates, gold=gold, unlabelled=unlabelled)


def known_labels(labels: Labels, placed: PlacedAnswers) -> np.ndarray:
    """Position of the label that is gold or was answered, -1 where there is neither."""
    code_of = {str(label): code for code, label in enumerate(labels.candidates.classes.tolist())}
    known = labels.gold.copy()
    for row, answer in placed.rows.items():
        known[row] = code_of[str(answer.label)] if answer.verdict == LABEL else -1
    return known


def _with_sets(labels: Labels, changed: dict[int, np.ndarray]) -> CandidateSets:
    """The candidates, with those of some rows replaced."""
    given = labels.candidates
    if not changed:
        return given
    kept = ~np.isin(given.rows, list(changed))
    rows = np.concatenate([given.rows[kept], *(np.full(len(s), r) for r, s in changed.items())])
    order = np.argsort(rows, kind="stable")
    indices = np.concatenate([given.indices[kept], *changed.values()])[order]
    counts = None
    if given.counts is not None:
        n_new = len(rows) - int(kept.sum())
        counts = np.concatenate([given.counts[kept], np.ones(n_new, given.counts.dtype)])[order]
    return CandidateSets(
        np.concatenate([[0], np.cumsum(np.bincount(rows))]), indices, given.classes, counts
    )


def with_classes(labels: Labels, names: Iterable[str]) -> Labels:
    """Labels with these classes added at the end; they are possible in rows without labels."""
    given = labels.candidates
    known = set(map(str, given.classes.tolist()))
    new = [name for name in dict.fromkeys(names) if name not in known]
    if not new:
        return labels
    numbers = given.classes.dtype.kind in "iu"
    if numbers and not all(_is_whole(name) for name in new):
        raise TableError(
            f"the answer {first_few(map(repr, new), 1)} is not a number, but the labels of the "
            "table are whole numbers; correct the answer"
        )
    classes = np.array([*given.classes.tolist(), *map(int if numbers else str, new)])
    empty = labels.unlabelled[given.rows]  # these get every class
    sizes = np.where(labels.unlabelled, 0, given.sizes)
    candidates = CandidateSets(
        np.concatenate([[0], np.cumsum(sizes)]),
        given.indices[~empty],
        classes,
        None if given.counts is None else given.counts[~empty],
        unlabelled="all",
        votes=given.votes,
        annotators=given.annotators if given.votes is not None else None,
    )
    return replace(labels, candidates=candidates)


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and len(text) < 18


def checked(given: Found, labels: Labels, placed: PlacedAnswers) -> tuple[Found, Audit | None]:
    """Put the answers into the labels chosen, and compute the bound that the checks give.

    A row that was drawn keeps its status only with the label it was drawn with, because the bound
    is about that label. Where the label has changed since, a person should look. A check that was
    passed over counts as a mistake until it is answered.

    Parameters
    ----------
    given : ChosenLabels
        The labels chosen by a model that learned from the answers.
    labels : Labels
        The labels that it learned from.
    placed : PlacedAnswers
        The answers.

    Returns
    -------
    found : ChosenLabels
    audit : Audit or None
        None before the first check.
    """
    found: Any = _with_answers_certain(given, labels, placed)
    status = found.status.copy()
    labelled = {row for row, answer in placed.rows.items() if answer.verdict == LABEL}
    status[list(labelled)] = CERTIFIED
    status[list(placed.rows.keys() - labelled)] = LOOK
    audit = None
    if placed.draw is not None and placed.checks:
        code_of = {str(name): code for code, name in enumerate(found.classes.tolist())}
        n_drawn, n_checked = len(placed.draw.rows), len(placed.checks)
        wrong = sum(
            answer is None or answer.label != label
            for answer, label in zip(placed.checks, placed.draw.labels, strict=False)
        )
        label = np.array([code_of.get(name, -1) for name in placed.draw.labels])
        answered = np.isin(placed.drawn, list(placed.rows))
        passed_over = np.arange(n_drawn) < n_checked
        unchanged = (found.label[placed.drawn] == label) & ~answered & ~passed_over
        kept = (placed.drawn >= 0) & (np.isin(placed.drawn, list(labelled)) | unchanged)
        audit = Audit(n_drawn, n_checked, wrong, n_changed=int(np.sum(~kept)))
        status[placed.drawn[kept & ~answered]] = PROBABLE if audit.level is None else CERTIFIED
        status[placed.drawn[~kept & (placed.drawn >= 0)]] = LOOK
    return replace(found, status=status, n_kept=int(np.sum(status != LOOK))), audit


def _with_answers_certain(found: Any, labels: Labels, placed: PlacedAnswers) -> Any:
    """The labels chosen, with answered rows set to certainty."""
    code = known_labels(labels, placed)
    rows = np.array([row for row, a in placed.rows.items() if a.verdict == LABEL], np.int64)
    known: dict[str, Any] = dict.fromkeys(("confidence", "margin"), 1.0)
    known |= {"label": code[rows], "best": code[rows], "second": -1, "outside": 0, "gain": 0.0}
    changed = {}
    for name, values in known.items():
        if hasattr(found, name):
            changed[name] = getattr(found, name).copy()
            changed[name][rows] = values
    return replace(found, **changed)
