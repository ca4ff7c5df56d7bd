"""How many rows of a set can still be wrong after a random sample of them was checked.

An unknown number ``E`` of ``N`` rows is wrong. The rows are checked in a random order that was
fixed in advance; after ``n`` checks, ``k`` were found wrong. For each ``E₀``, with the
hypergeometric likelihood ``L``,

    ``e(E₀) = mean over E ≤ E₀/2 of L(E) / L(E₀)``

is the wealth of somebody who bets against ``E₀`` at fair odds. If ``E₀`` is true, the probability
that it ever reaches ``1/δ`` is at most ``δ`` (Ville's inequality). So ``U``, the largest ``E₀``
with ``e ≤ 1/δ``, is at least ``E`` with probability ``1 - δ``, whenever the checking stops
(Waudby-Smith & Ramdas 2020). Nothing is assumed about annotators or models, only that the order is
random and the answers are right.
"""

from functools import lru_cache

import numpy as np
from scipy.special import gammaln
from scipy.stats import beta

#: The probability that a bound does not hold.
RISK = 0.1


@lru_cache(maxsize=2**14)
def most_wrong(n_rows: int, n_checked: int, n_wrong: int, risk: float = RISK) -> int:
    """The bound ``U`` on the total number of wrong rows, including those found; ``risk`` is the
    probability ``δ`` that more are wrong.

    >>> most_wrong(1000, 128, 0)
    20
    """
    wrong = np.arange(n_rows + 1)
    factorial = _log_factorials(n_rows)
    # log C(E, k) C(N - E, n - k) up to a constant, for E from k to N - (n - k).
    n_right = n_checked - n_wrong
    likelihood = np.full(n_rows + 1, -np.inf)
    possible = slice(n_wrong, n_rows - n_right + 1)
    likelihood[possible] = (
        factorial[possible]
        - factorial[: n_rows - n_checked + 1]
        + factorial[::-1][possible]
        - factorial[: n_rows - n_checked + 1][::-1]
    )
    likelihood -= likelihood.max()
    with np.errstate(divide="ignore", invalid="ignore"):  # (almost) impossible numbers
        up_to = np.log(np.cumsum(np.exp(likelihood)))
        wealth = up_to[wrong // 2] - np.log(wrong // 2 + 1) - likelihood
    # A tie counts as possible: rounding must not decide, and the larger bound is the safe one.
    excluded = wealth > -np.log(risk) + 1e-9
    return int(np.flatnonzero(np.isfinite(likelihood) & ~excluded)[-1])


def share_still_wrong(n_rows: int, n_checked: int, n_wrong: int, risk: float = RISK) -> float:
    """Upper bound on the share of rows that are still wrong once those found are corrected."""
    return (most_wrong(n_rows, n_checked, n_wrong, risk) - n_wrong) / n_rows


def checks_needed(
    n_rows: int, level: float, n_checked: int = 0, n_wrong: int = 0, risk: float = RISK
) -> int:
    """The total number of checks after which at most a share ``level`` is still wrong, if they find
    no more mistakes than the ``n_wrong`` among the ``n_checked`` rows so far.

    >>> [checks_needed(1000, level) for level in (0.1, 0.05, 0.02)]
    [27, 55, 128]
    """
    low, high = n_checked, n_rows
    while low < high:
        middle = (low + high) // 2
        if share_still_wrong(n_rows, middle, n_wrong, risk) <= level:
            high = middle
        else:
            low = middle + 1
    return low


def out_of_reach(level: float, n_checked: int, n_wrong: int) -> bool:
    """Whether the checks show that the share of wrong rows is above ``level`` (at 95 %, Clopper &
    Pearson 1934).
    """
    return n_wrong > 0 and bool(beta.ppf(0.05, n_wrong, n_checked - n_wrong + 1) > level)


@lru_cache(maxsize=4)
def _log_factorials(n: int) -> np.ndarray:
    return np.asarray(gammaln(np.arange(n + 1) + 1))
