"""How sure a label is: ``confidence = 0.99 σ(a + b z)``.

``z`` is what a model says, the log-odds of its best label. Models are too sure, because people make
the same mistakes, and nothing in a table without known labels shows it. But the way in which they
are too sure is much the same on all real data of one kind. So ``(a, log b)`` has a normal prior
that was learned from such data, and the known labels of the table, if there are any, do the rest.
``benchmarks/real.py`` measures how well it holds on data that took no part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize
from scipy.special import expit, logit
from sklearn.model_selection import KFold

#: No label is surer than this, because known labels are wrong now and then, too.
SUREST = 0.99


@dataclass(frozen=True)
class Prior:
    """Where ``a`` and ``b`` lie on real data of one kind: mean and spread of ``(a, log b)``."""

    shift: float
    slope: float
    spread: tuple[float, float]


#: Votes: labelme, cifar10n, sentiment, temp, wsd, weather, popularity, and the first votes alone of
#: labelme and cifar10n.
VOTES = Prior(-0.6, 0.45, (0.6, 0.3))
#: Candidate sets, which may lack the truth: the unions of the votes of labelme, cifar10n and
#: sentiment; Lost, MSRCv2 and italian.
SETS = Prior(0.3, 0.45, (0.7, 0.3))
#: Candidate sets that always hold the truth: Lost, MSRCv2, italian.
COMPLETE = Prior(0.6, 0.57, (0.7, 0.3))
#: New rows, of which nobody said anything, by models of sets: the same sets; and by models of
#: votes: labelme, cifar10n (also with their first votes alone) and sentiment in three folds.
NEW_ROWS, NEW_BESIDE_VOTES = Prior(0.4, 0.8, (0.7, 0.3)), Prior(-0.3, 0.6, (0.7, 0.3))
#: Whether the truth is outside the set: the unions of labelme and cifar10n, and a third crowd. Its
#: ``a`` differs so much between them that nothing can be said without known labels.
OUTSIDE = Prior(-0.9, 1.0, (1.6, 0.3))


@dataclass(frozen=True)
class Calibration:
    """``0.99 σ(a + b z)``.

    Attributes
    ----------
    shift, slope : float
        ``a`` and ``b``.
    """

    shift: float
    slope: float

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Probability that a label is right."""
        return np.asarray(SUREST * expit(self.shift + self.slope * z))


def fit_calibration(z: np.ndarray, right: np.ndarray, prior: Prior) -> Calibration:
    """The most probable ``a`` and ``b``, given known labels.

    Parameters
    ----------
    z : ndarray of shape (n,)
        What the model says about rows of known label, made without knowing it.
    right : ndarray of bool of shape (n,)
        Whether its label was right.
    prior : Prior
        What is known from other data.

    Returns
    -------
    Calibration
    """
    centre = np.array([prior.shift, np.log(prior.slope)])

    def loss(parameters: np.ndarray) -> float:
        sure = Calibration(parameters[0], np.exp(parameters[1]))(z)
        likely = np.log(np.maximum(np.where(right, sure, 1 - sure), np.finfo(float).tiny)).sum()
        return float(0.5 * np.sum(((parameters - centre) / prior.spread) ** 2) - likely)

    found = optimize.minimize(loss, centre, method="BFGS").x if len(right) else centre
    return Calibration(float(found[0]), float(np.exp(found[1])))


def calibrated(
    z: np.ndarray, known: np.ndarray, right: np.ndarray, prior: Prior
) -> tuple[np.ndarray, np.ndarray]:
    """Confidences of all rows; and those of the rows of known label as they would be if that label
    were not known.

    Parameters
    ----------
    z : ndarray of shape (m,)
        What the model says about each row.
    known : ndarray of int
        The rows of known label.
    right : ndarray of bool
        Whether the model's label is right there.
    prior : Prior
        What is known from other data.

    Returns
    -------
    confidence : ndarray of shape (m,)
    blind : ndarray
    """
    confidence = fit_calibration(z[known], right, prior)(z)
    blind = fit_calibration(z[:0], right[:0], prior)(z[known])
    if len(known) > 1:
        folds = KFold(min(5, len(known)), shuffle=True, random_state=0)
        for others, rows in folds.split(known):
            learned = fit_calibration(z[known[others]], right[others], prior)
            blind[rows] = learned(z[known[rows]])
    return confidence, blind


def sure_of_new(model: Any, X: Any, proba: np.ndarray) -> np.ndarray:
    """How sure the most probable label of every new row is.

    Parameters
    ----------
    model : estimator
        A classifier. If it has a model at even shares, as PURE has, a label that this does not
        confirm counts half. One that learned from votes is too sure, and corrected. Of others it is
        what they say.
    X : ndarray of shape (m, n)
        The rows.
    proba : ndarray of shape (m, l)
        What the classifier says about them.

    Returns
    -------
    ndarray of shape (m,)
    """
    rows, label = np.arange(len(proba)), proba.argmax(axis=1)
    said = proba[rows, label]
    if hasattr(model, "votes_alone_"):
        score, prior = log_odds(said), NEW_BESIDE_VOTES
    elif hasattr(model, "at_even_shares"):
        even = model.at_even_shares().predict_proba(X)[rows, label]
        score, prior = log_odds(said * (1 + even) / 2), NEW_ROWS
    else:
        return np.asarray(said)
    sure = Calibration(prior.shift, prior.slope)(score)
    return np.asarray(np.maximum(sure, 1 / proba.shape[1]))


def log_odds(probability: np.ndarray) -> np.ndarray:
    """``log p / (1 - p)``, finite for 0 and 1."""
    least = np.finfo(float).eps
    return np.asarray(logit(np.clip(probability.astype(float), least, 1 - least)))
