"""Candidate labels made from true ones, so that methods can be measured where the truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..exceptions import CandidateError, ParameterError
from .candidates import CandidateSets


def make_partial(
    y: Any,
    p: float = 0.7,
    r: int = 1,
    eps: float | None = None,
    *,
    classes: Any = None,
    random_state: Any = None,
) -> CandidateSets:
    """Add false candidates to true labels by the protocol of the section "Controlled UCI Datasets" of the paper.

    Guarantees: exactly ``round(p · m)`` rows are ambiguous, each with exactly ``r`` false candidates; the true label is always
    inside; no set is empty.

    Parameters
    ----------
    y : array-like of shape (m,)
        True labels.
    p : float, default=0.7
        Proportion of ambiguous rows.
    r : int, default=1
        Number of false candidates of an ambiguous row.
    eps : float, default=None
        With ``eps`` every class has one coupled class (the next one), which is the false candidate with probability ``eps``;
        otherwise it is any other. The paper defines it for ``r = 1``.
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
    if not 0 <= p <= 1:
        raise ParameterError(f"p is a proportion, from 0 to 1; got {p}")
    if not 0 <= r < l:
        raise ParameterError(f"r false candidates must be fewer than the {l} classes; got r={r}")
    if eps is not None and (r != 1 or not 0 <= eps <= 1):
        raise ParameterError(f"eps is a probability and goes with r=1; got eps={eps}, r={r}")
    if eps is not None and l < 3 and eps < 1:
        raise CandidateError("with two classes the only false candidate is the coupled one: eps has no meaning")
    rng = check_random_state(random_state)
    ambiguous = np.sort(rng.permutation(m)[: round(p * m)])
    code = truth.indices[ambiguous].astype(np.int64)
    if eps is None:
        # The r smallest of l - 1 random keys: r different false labels, all equally likely.
        offset = np.argpartition(rng.random_sample((len(code), l - 1)), max(r - 1, 0), axis=1)[:, :r] + 1
    else:
        coupled = rng.random_sample(len(code)) < eps
        offset = np.where(coupled, 1, rng.randint(2, max(l, 3), size=len(code)))[:, None]
    false = (code[:, None] + offset) % l
    rows = np.concatenate([np.arange(m), np.repeat(ambiguous, r)])
    columns = np.concatenate([truth.indices, false.ravel()])
    order = np.lexsort((columns, rows))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=m))])
    return CandidateSets(indptr, columns[order], truth.classes)
