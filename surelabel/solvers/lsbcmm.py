"""The logistic stick-breaking conditional multinomial mixture, fitted by variational EM (Liu &
Dietterich, 2012).

Component ``k`` takes the instance ``x`` with probability ``φ_k(x) = σ(a_k) Π_{j<k} (1 - σ(a_j))``,
``a_k = w_kᵀx + b_k`` (the last one takes the rest), and draws the label from a multinomial ``θ_k``
with prior Dirichlet(α); the prior of ``w_k`` is Gaussian. With ``q(θ_k) = Dirichlet(α̂_k)`` and ``T
= exp(E[log θ])`` the evidence lower bound, already maximal over the responsibilities ``q_i(k, y) ∝
φ_k(x_i) T_ky`` of the pairs with ``y ∈ S_i``, is::

    Σ_i log Σ_k φ_k(x_i) Σ_{y ∈ S_i} T_ky  -  Σ_k KL(Dirichlet(α̂_k) ‖ Dirichlet(α))  -  λ/2 Σ_k
    ‖w_k‖²

E step: q. M step: ``α̂_ky = α + Σ_i q_i(k, y)``, and a weighted logistic regression for every
stick. No step lowers the bound.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import digamma, gammaln, log_expit
from sklearn.utils import gen_batches

from .canonical_order import canonical_order
from .sparse_rows import entry_rows, row_normalise
from .threads import one_blas_thread

# Ascent steps on the sticks within one M step; more of them are useless, because the
# responsibilities change next.
STICK_STEPS = 5


class Mixture(NamedTuple):
    """A fitted mixture of ``K`` components over ``l`` labels."""

    coef: np.ndarray  # (n, K - 1), the w_k
    intercept: np.ndarray  # (K - 1,), the b_k
    posterior: np.ndarray  # (K, l), the Dirichlet parameters α̂
    confidence: np.ndarray  # q_i(y) at the candidate entries
    lower_bound_path: np.ndarray  # the bound after each round
    converged: bool


class Basis(NamedTuple):
    """Coordinates in which no stick's regression has a curvature above 1 (see
    :func:`stick_basis`).
    """

    features: np.ndarray  # (m, rank + 1)
    ridge: np.ndarray  # (rank + 1,), the Gaussian prior's precision in these coordinates
    mean: np.ndarray  # (n,)
    to_coef: np.ndarray  # (n, rank)

    def coefficients(self, sticks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Back to ``w`` and ``b`` of ``wᵀx + b``."""
        coef = self.to_coef @ sticks[1:]
        return coef, self.features[0, 0] * sticks[0] - self.mean @ coef


def log_stick_weights(scores: np.ndarray) -> np.ndarray:
    """``log φ`` of shape (m, K) from the sticks' scores of shape (m, K - 1)."""
    log_weights = np.zeros((scores.shape[0], scores.shape[1] + 1))
    np.cumsum(log_expit(-scores), axis=1, out=log_weights[:, 1:])
    log_weights[:, :-1] += log_expit(scores)
    return log_weights


def expected_log_labels(posterior: np.ndarray) -> np.ndarray:
    """``E[log θ]`` under Dirichlet(α̂), of shape (K, l)."""
    return digamma(posterior) - digamma(posterior.sum(axis=1, keepdims=True))


def dirichlet_divergence(posterior: np.ndarray, concentration: float) -> float:
    """``Σ_k KL(Dirichlet(α̂_k) ‖ Dirichlet(α))``."""
    n_components, n_classes = posterior.shape
    prior = gammaln(n_classes * concentration) - n_classes * gammaln(concentration)
    own = gammaln(posterior.sum(axis=1)).sum() - gammaln(posterior).sum()
    return (
        own
        - n_components * prior
        + np.sum((posterior - concentration) * expected_log_labels(posterior))
    )


def e_step(
    weights: np.ndarray,
    candidates: sparse.csr_array,
    posterior: np.ndarray,
    sample_weight: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Responsibilities of the pairs (component, candidate), summed as the M step needs them: ``Σ_y
    q_i(k, y)`` (m × K), ``Σ_i q_i(k, y)`` (K × l, rows weighted), and the evidence ``Σ_k φ_k(x_i)
    Σ_{y ∈ S_i} T_ky`` of every row.
    """
    labels = np.exp(expected_log_labels(posterior))
    by_component = weights * (candidates @ labels.T)
    evidence = by_component.sum(axis=1)
    by_component /= evidence[:, None]
    counts = labels * (candidates.T @ (weights * (sample_weight / evidence)[:, None])).T
    return by_component, counts, evidence


def stick_basis(X: np.ndarray, sample_weight: np.ndarray, precision: float) -> Basis:
    """Centre, rotate and scale the features so that ``X̃ᵀX̃/4 + λ``, a bound on every stick's
    curvature, is the identity.

    As ``σ(1 - σ) ≤ 1/4`` and responsibilities sum to at most 1, this bounds the logistic
    regressions of all sticks at once (Böhning, 1992); the constant first column carries the
    intercept, which has no prior.
    """
    total = sample_weight.sum()
    mean = sample_weight @ X / total
    centred = X - mean
    _, singular, rotation = np.linalg.svd(
        np.sqrt(sample_weight)[:, None] * centred, full_matrices=False
    )
    kept = singular > singular[0] * max(X.shape) * np.finfo(float).eps
    singular, rotation = singular[kept], rotation[kept]
    scale = 1 / np.sqrt(singular**2 / 4 + precision)
    to_coef = rotation.T * scale
    features = np.column_stack([np.full(len(X), 2 / np.sqrt(total)), centred @ to_coef])
    return Basis(features, np.concatenate([[0.0], precision * scale**2]), mean, to_coef)


def ascend_sticks(
    basis: Basis,
    sticks: np.ndarray,
    scores: np.ndarray,
    take: np.ndarray,
    reach: np.ndarray,
    n_steps: int = STICK_STEPS,
) -> tuple[np.ndarray, np.ndarray]:
    """Raise ``Σ_i [take_ik log σ(a_ik) + (reach_ik - take_ik) log σ(-a_ik)] - ridge/2 ‖v_k‖²``, all
    sticks ``k`` at once.

    ``take`` is the mass that component ``k`` takes, ``reach`` what the components before it leave.
    The method is conjugate gradients (Polak-Ribière, never below 0). The step along a direction
    ``D`` is Newton's if it gains at least what the curvature bound of :func:`stick_basis`
    guarantees for the step ``slope / ‖D‖²``, otherwise the latter, so the objective of no stick
    ever falls.
    """
    features, ridge = basis.features, basis.ridge[:, None]
    direction, old_gradient = np.zeros_like(sticks), np.zeros_like(sticks)
    for _ in range(n_steps):
        tail, sigmoid = _softplus_and_sigmoid(scores)
        gradient = features.T @ (take - reach * sigmoid) - ridge * sticks
        conjugate = _column_dot(gradient, gradient - old_gradient)
        direction = gradient + direction * np.maximum(
            _ratio(conjugate, _column_dot(old_gradient, old_gradient)), 0
        )
        downhill = _column_dot(gradient, direction) <= 0
        direction[:, downhill] = gradient[:, downhill]
        slope, square = _column_dot(gradient, direction), _column_dot(direction, direction)
        change = features @ direction
        curvature = _column_dot(reach * sigmoid * (1 - sigmoid), change**2) + _column_dot(
            ridge * direction, direction
        )
        value = _column_dot(reach, tail)
        linear = _column_dot(take, change) - _column_dot(ridge * sticks, direction)
        step, safe = _ratio(slope, curvature), _ratio(slope, square)
        fallen = _column_dot(reach, _softplus_and_sigmoid(scores + step * change)[0]) - value
        gain = step * linear - step**2 / 2 * _column_dot(ridge * direction, direction) - fallen
        step = np.where(gain >= slope * safe / 2, step, safe)
        sticks = sticks + step * direction
        scores = scores + step * change
        old_gradient = gradient
    return sticks, scores


@one_blas_thread()
def fit_mixture(
    X: np.ndarray,
    candidates: sparse.csr_array,
    sample_weight: np.ndarray,
    *,
    n_components: int,
    concentration: float,
    precision: float,
    max_iter: int,
    tol: float,
) -> Mixture:
    """Variational EM, with components initialised on the classes, until a round raises the bound by
    no more than ``tol`` per instance.
    """
    # The rounds amplify rounding errors, so even the order of a sum would change the result.
    # Therefore one thread computes all sums, in one order.
    rows, classes = canonical_order(X, candidates, sample_weight)
    given = candidates
    X, sample_weight = X[rows], sample_weight[rows]
    candidates = candidates[rows][:, classes].sorted_indices()
    basis = stick_basis(X, sample_weight, precision)
    sticks = np.zeros((basis.features.shape[1], n_components - 1))
    scores = np.zeros((len(X), n_components - 1))
    # Components are initialised on the classes in turn. Each expects an equal share of the rows,
    # all of its class; at first, every row may belong to any of them.
    posterior = np.full((n_components, candidates.shape[1]), float(concentration))
    posterior[np.arange(n_components), np.arange(n_components) % len(classes)] += (
        sample_weight.sum() / n_components
    )
    weights = np.full((len(X), n_components), 1 / n_components)
    by_component, counts, _ = e_step(weights, candidates, posterior, sample_weight)
    path: list[float] = []
    converged = False
    while len(path) < max_iter and not converged:
        posterior = concentration + counts
        taken = sample_weight[:, None] * by_component
        reach = np.cumsum(taken[:, ::-1], axis=1)[:, ::-1]
        sticks, scores = ascend_sticks(basis, sticks, scores, taken[:, :-1], reach[:, :-1])
        weights = np.exp(log_stick_weights(scores))
        by_component, counts, evidence = e_step(weights, candidates, posterior, sample_weight)
        bound = sample_weight @ np.log(evidence) - dirichlet_divergence(posterior, concentration)
        bound -= np.sum(basis.ridge[:, None] * sticks**2) / 2
        path.append(float(bound))
        converged = len(path) > 1 and path[-1] - path[-2] <= tol * sample_weight.sum()
    coef, intercept = basis.coefficients(sticks)
    posterior, weights = posterior[:, np.argsort(classes)], weights[np.argsort(rows)]
    return Mixture(
        coef,
        intercept,
        posterior,
        candidate_confidence(weights, given, posterior),
        np.array(path),
        converged,
    )


def candidate_confidence(
    weights: np.ndarray, candidates: sparse.csr_array, posterior: np.ndarray
) -> np.ndarray:
    """``q_i(y) = Σ_k q_i(k, y)`` at the candidate entries."""
    labels = np.exp(expected_log_labels(posterior))
    rows = entry_rows(candidates.indptr)
    joint = np.empty(len(rows))
    step = max(1, 2**20 // len(labels))  # entries × components take memory
    for part in gen_batches(len(rows), step):
        joint[part] = np.einsum("ek,ek->e", weights[rows[part]], labels.T[candidates.indices[part]])
    return row_normalise(joint, candidates.indptr)


def mixture_proba(
    X: np.ndarray, coef: np.ndarray, intercept: np.ndarray, posterior: np.ndarray
) -> np.ndarray:
    """``p(y | x) = Σ_k φ_k(x) E[θ_ky]``."""
    weights = np.exp(log_stick_weights(X @ coef + intercept))
    return weights @ (posterior / posterior.sum(axis=1, keepdims=True))


def _softplus_and_sigmoid(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``-log σ(-a)`` and ``σ(a)`` from one exponential, which never overflows."""
    small = np.exp(-np.abs(scores))
    return np.maximum(scores, 0) + np.log(1 + small), np.where(scores >= 0, 1, small) / (1 + small)


def _column_dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", a, b)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient, 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(denominator), where=denominator > 0)
