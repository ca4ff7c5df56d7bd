"""Make candidate labels from true ones, to measure methods where the truth is known."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..exceptions import CandidateError, ParameterError, shown
from ._label_arrays import row_pointers
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
    if not isinstance(p, Real) or not 0 <= p <= 1:
        raise ParameterError(f"p must be a number from 0 to 1; got {shown(p)}")
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
    try:
        rng = check_random_state(random_state)
    except (ValueError, TypeError):
        raise ParameterError(
            f"random_state must be a whole number from 0 to 2**32 - 1, a RandomState or None; got "
            f"{shown(random_state)}"
        ) from None
    ambiguous = np.sort(rng.permutation(m)[: round(float(p) * m)])
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
    order = np.argsort(rows, kind="stable")
    return CandidateSets(row_pointers(rows, m), columns[order], truth.classes)
