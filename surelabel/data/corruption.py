"""Make candidate labels from true ones, to measure methods where the truth is known.

:func:`make_partial` is the protocol of the paper, :func:`make_partial_instance` a more realistic
process. Both keep the true label among the candidates; :func:`drop_truth` then removes it from some
rows.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from ..exceptions import CandidateError, InputError, ParameterError, first_few, shown
from .candidates import CandidateSets, as_candidates


def make_partial(
    y: Any,
    p: float = 0.7,
    r: int = 1,
    eps: float | None = None,
    *,
    classes: Any = None,
    random_state: Any = None,
) -> CandidateSets:
    """Add false candidates to true labels, as the paper does in its section "Controlled UCI
    Datasets".

    Guarantees: exactly ``round(p · m)`` rows are ambiguous, each with exactly ``r`` false
    candidates; the true label is always inside; no set is empty.

    Parameters
    ----------
    y : array-like of shape (m,)
        True labels.
    p : float, default=0.7
        Proportion of ambiguous rows.
    r : int, default=1
        Number of false candidates of an ambiguous row.
    eps : float, default=None
        If given, the false candidate is the next class with probability ``eps``, and any other
        class otherwise. The paper defines it for ``r = 1``.
    classes : array-like of shape (l,), default=None
        The label space; by default the labels that occur.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    CandidateSets

    Examples
    --------
    >>> from surelabel import make_partial
    >>> make_partial([0, 1, 2, 0, 1, 2], p=0.5, r=1, random_state=0)
    CandidateSets(6 rows, 3 classes, 1.50 candidates on average)
    """
    truth = CandidateSets.from_labels(y, classes=classes)
    m, l = truth.shape
    p = _share("p", p)
    if not isinstance(r, Integral) or not 0 <= r < l:
        raise ParameterError(
            f"r, the number of false candidates, must be a whole number below the {l} classes; got "
            f"r={shown(r)}"
        )
    if eps is not None and (r != 1 or not isinstance(eps, Real) or not 0 <= eps <= 1):
        raise ParameterError(
            f"eps must be a probability, and needs r=1; got eps={shown(eps)}, r={r}"
        )
    if eps is not None and l < 3 and eps < 1:
        raise CandidateError(
            "with two classes the only false candidate is the coupled one: eps has no meaning"
        )
    rng = _generator(random_state)
    ambiguous = np.sort(rng.permutation(m)[: round(p * m)])
    code = truth.indices[ambiguous].astype(np.int64)
    if eps is None:
        # The r smallest of l - 1 random keys: r different false labels, all equally likely.
        offset = (
            np.argpartition(rng.random_sample((len(code), l - 1)), max(r - 1, 0), axis=1)[:, :r] + 1
        )
    else:
        coupled = rng.random_sample(len(code)) < eps
        offset = np.where(coupled, 1, rng.randint(2, max(l, 3), size=len(code)))[:, None]
    false = (code[:, None] + offset) % l
    rows = np.concatenate([np.arange(m), np.repeat(ambiguous, r)])
    columns = np.concatenate([truth.indices, false.ravel()])
    order = np.lexsort((columns, rows))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=m))])
    return CandidateSets(indptr, columns[order], truth.classes)


def make_partial_instance(
    X: Any,
    y: Any,
    rate: float = 0.1,
    *,
    classes: Any = None,
    random_state: Any = None,
) -> CandidateSets:
    """Make false labels candidates if a weak model considers them likely: ambiguity that depends on
    the instance.

    Label ``j ≠ y`` joins with probability ``min(1, rate · (l - 1) · f_j(x) / Σ_{k ≠ y} f_k(x))``,
    where ``f`` are the probabilities of the weak model (a strongly regularised logistic regression
    on standardised features), trained on the true labels: over the false labels the mean is
    ``rate``, before the cut at 1. So instances differ in which labels join them, not in how many do
    on average.

    Guarantees: the true label is always inside; no set is empty.

    Parameters
    ----------
    X : array-like of shape (m, n)
        The instances.
    y : array-like of shape (m,)
        True labels.
    rate : float, default=0.1
        Mean flipping probability of a false label.
    classes : array-like of shape (l,), default=None
        The label space; by default the labels that occur, sorted.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    CandidateSets

    References
    ----------
    Xu, Qiao, Geng and Zhang. Instance-dependent partial label learning. NeurIPS 2021.
    """
    truth = CandidateSets.from_labels(y, classes=classes)
    rate = _share("rate", rate)
    m, l = truth.shape
    try:
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01)).fit(X, truth.indices)
        proba = model.predict_proba(X)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"the weak model cannot be fitted: {' '.join(str(error).split())}"
        ) from None
    weight = np.zeros((m, l))
    weight[:, model.classes_] = proba
    weight[np.arange(m), truth.indices] = 0
    share = weight / weight.sum(axis=1, keepdims=True)
    inside = _generator(random_state).random_sample((m, l)) < rate * (l - 1) * share
    inside[np.arange(m), truth.indices] = True
    return CandidateSets.from_indicator(inside, classes=truth.classes)


def drop_truth(
    candidates: Any, y: Any, rate: float = 0.1, *, random_state: Any = None
) -> CandidateSets:
    """Remove the true label from some candidate sets, as if all annotators were wrong.

    **The assumption of partial-label learning, that one of the candidates is right, does not hold
    for these rows.**

    Guarantees: exactly ``round(rate · m)`` rows lose their true label, and only they change; it is
    replaced by a label outside the set, all equally likely, so that sets keep their size (a set of
    all labels becomes smaller by one); no set is empty.

    Parameters
    ----------
    candidates : CandidateSets or any form of candidates
        Candidate sets that contain the true labels.
    y : array-like of shape (m,)
        True labels.
    rate : float, default=0.1
        Share of the rows that lose their true label.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    CandidateSets
    """
    candidates = as_candidates(candidates)
    truth = CandidateSets.from_labels(y, classes=candidates.classes)
    rate = _share("rate", rate)
    m, l = candidates.shape
    if len(truth) != m:
        raise CandidateError(f"there are {len(truth)} true labels but {m} rows of candidates")
    if l < 2:
        raise CandidateError(
            "with one class there is no other label to put in place of the true one"
        )
    inside = candidates.to_indicator().astype(bool)
    if len(already := np.flatnonzero(~inside[np.arange(m), truth.indices])):
        raise CandidateError(
            f"the true label must be among the candidates; it is not in row {first_few(already)}"
        )
    rng = _generator(random_state)
    noisy = np.sort(rng.permutation(m)[: round(rate * m)])
    # Take the label outside the set with the largest random key: all are equally likely. A full set
    # has no label outside.
    keys = np.where(inside[noisy], -1, rng.random_sample((len(noisy), l)))
    substitute = keys.argmax(axis=1)
    inside[noisy, substitute] |= candidates.sizes[noisy] < l
    inside[noisy, truth.indices[noisy]] = False
    return CandidateSets.from_indicator(inside, classes=candidates.classes)


def _generator(random_state: Any) -> np.random.RandomState:
    try:
        generator: np.random.RandomState = check_random_state(random_state)
    except (ValueError, TypeError):
        raise ParameterError(
            f"random_state must be a whole number from 0 to 2**32 - 1, a RandomState or None; got "
            f"{shown(random_state)}"
        ) from None
    return generator


def _share(name: str, value: float) -> float:
    if not isinstance(value, Real) or not 0 <= value <= 1:
        raise ParameterError(f"{name} must be a number from 0 to 1; got {shown(value)}")
    return float(value)
