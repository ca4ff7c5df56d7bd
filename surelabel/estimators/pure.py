"""PURE, peer-guided retraining: SURE's model, but each row is judged by the model without it."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, asdict, dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..data.candidates import CandidateSets
from ..data.label_order import label_positions
from ..data.rows import Rows
from ..exceptions import InputError, ParameterError
from ..solvers.confidence import SortedSets
from ..solvers.equal_rows import equal_rows
from ..solvers.features import FeatureMap
from ..solvers.groups import GroupPosterior
from ..solvers.kernels import KERNELS, learn_scaling, rescale
from ..solvers.leave_one_out import LeftOut, PeerTrajectory, solve_peers
from ..solvers.ordered_labels import smoothing_matrix
from ..solvers.out_of_core import LowRankFit, PeerFit, alternate_peer_passes
from ..solvers.ridge import KernelRidge, LinearRidge
from ..solvers.temperature import ROWS, softmax_scale
from ..solvers.threads import blas_threads
from ._base import check_learnable
from ._kernel_bank import SAMPLE, ChosenKernel, choose_kernels
from ._lowrank import draw_rows, generator
from ._registry import Method
from .kernel import WEIGHTS, KernelClassifier, smooth


@dataclass(eq=False, repr=False)
class PUREClassifier(KernelClassifier):
    """Peer-guided retraining: like SURE, but each row is judged by the model without that row.

    The model is the same as in :class:`SUREClassifier`. The outputs without the row are exact and
    in closed form, ``(q_i - h_i p_i) / (1 - h_i)`` with the leverage ``h_i``, for all rows at once.
    Rows with equal features are left out together, whatever their candidates, because a copy of a
    row would confirm it. So a row of weight 2 counts as two rows. If rows are read in blocks,
    finding equal ones takes one more pass; a cluster does not look for them.

    The confidence step is ``p_ij ∝ q_ij² / π_j^(g/2)`` over the candidates, with ``π`` the mean of
    the confidences; ``g`` between 0 and 1 says how false candidates arise; it maximises the
    likelihood of the candidates.

    Parameters
    ----------
    beta : float, default=0.1
        The regularisation β, for a kernel given by name.
    kernel : "auto", or as in :class:`SUREClassifier`, default="auto"
        "auto" chooses kernel (rbf or laplacian), scaling of the features (standardised, as they
        are, signed roots, ranks) and β on a sample of 800 rows, by the candidates' share of the
        softmax of the leave-one-out outputs. The default is standardised features, rbf and β = 0.1.
        If others are better by two standard errors, the best three of them are averaged, each with
        its best β. A kernel given by name uses the features as they are. Only "linear" takes a
        sparse ``X``.
    gamma, bandwidth, solver, n_components, ordered
        As in :class:`SUREClassifier`. With "auto", ``gamma`` and ``bandwidth`` apply to the kernels
        chosen.
    prior_shift : "auto" or float, default="auto"
        ``g`` between 0 and 1, if it is known how false candidates arise (see ``prior_shift_``).
        "auto" takes the most likely value if its log-likelihood exceeds that of 0 by more than 3,
        and 0 otherwise.
    same_set_groups : bool, default=False
        Treat rows with the same candidate set as a group, unless ``fit`` is given ``groups``.
    prior : float, default=1.0
        The weight κ of the votes: if candidates come with votes, ``q_ij`` is multiplied by ``exp(κ
        π_ij)``, with ``π_ij`` the share of row i's votes that candidate j has.
    max_iter : int, default=30
        Maximum number of iterations. 0 leaves the model at ``P = Y / |S|``, as does the guard.
    tol : float, default=2e-3
        Stop when ``‖ΔP‖_F / √m`` falls to this.
    callback : callable, default=None
        Called with an :class:`~surelabel.solvers.alternate.Iteration` after each iteration of each
        kernel; if it returns True, the fit stops. The objective is the negative log-likelihood of
        the candidates.
    verbose : bool or int, default=0
        Print the kernels chosen, and a line per iteration.
    random_state : int, RandomState instance or None, default=0
        Seed of the sample for the choice, and of landmarks.
    n_jobs : int, default=None
        Number of threads for blocks of rows, in prediction and low-rank fits.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The label space.
    confidence_ : csr_array of shape (m, l)
        Confidence of each candidate of the training rows; every row sums to 1.
    transduction_ : ndarray of shape (m,)
        The most confident candidate of each training row.
    loo_decision_ : ndarray of shape (m, l)
        Outputs of the training rows by the model without the row and its equals (a row of weight 0
        was left out anyway). Set by exact solvers; with the others, call :meth:`leave_one_out`.
    leverage_ : ndarray of shape (m,)
        How much the output of a training row depends on its own confidence, for a kernel given by
        name.
    scale_ : float
        ``predict_proba`` is the softmax of ``scale_`` times the outputs. With this factor,
        ``loo_decision_`` makes the candidates most likely.
    width_ : float
        With ``ordered``, the width of the smoothing; 0 if there is none.
    fitted_confidence_ : csr_array of shape (m, l)
        With ``ordered`` and a kernel given by name: the confidences before the smoothing, to which
        the model was fitted.
    prior_shift_ : float
        ``g`` (the mean over the kernels). 0: false candidates are drawn at random. 1: all
        candidates of a set are equally likely, however frequent their classes.
    kernels_ : list of dict
        The kernels that are averaged: ``scaling``, ``kernel``, ``beta`` and, if it was chosen, its
        ``criterion``.
    members_ : list of PUREClassifier
        With "auto", the fitted models behind ``kernels_``.
    scalings_ : list of ndarray
        With "auto", what the scaling of each kernel learned from the training rows.
    guarded_ : bool
        Whether the guard fired and the model stays at ``P = Y / |S|``: the covering rate of
        held-out rows was lower by 0.2 or more, because peers confirmed each other's mistakes.
    solver_, X_fit_, dual_coef_, coef_, intercept_, gamma_
        As in :class:`SUREClassifier`, for a kernel given by name.
    support_ : ndarray
        The training rows that were learned from: those with a weight above 0.
    n_iter_, converged_
        Number of iterations, and whether the change fell to ``tol`` (of all kernels).

    See Also
    --------
    SUREClassifier : The method of the paper, in which a row judges itself.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from surelabel import PUREClassifier, make_partial
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PUREClassifier().fit(X, make_partial(y, p=0.8, r=1, random_state=0))
    >>> bool((model.transduction_ == y).mean() > 0.95)
    True
    """

    beta: float = 0.1
    _: KW_ONLY
    kernel: str = "auto"
    prior_shift: str | float = "auto"
    same_set_groups: bool = False
    max_iter: int = 30
    tol: float = 2e-3

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        "kernel": [StrOptions({"auto", *KERNELS})],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "prior_shift": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        "same_set_groups": ["boolean"],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from instances and their candidate labels.

        Parameters
        ----------
        X : array-like of shape (m, n)
            The instances.
        y : CandidateSets or any form that :func:`surelabel.as_candidates` accepts
            The candidate labels of each instance.
        sample_weight : array-like of shape (m,), default=None
            Weights of the instances, 0 or more.
        groups : array-like of shape (m,), default=None
            The group of each row, such as the picture that a face comes from. Every candidate of a
            group is assumed to be the label of one of its rows, with probability 0.9. Groups with
            more than 8 labels are not used.

        Returns
        -------
        self
        """
        X, candidates = self._validate_fit(X, y)
        numbers = self._group_numbers(groups, candidates)
        self._learn(X, candidates, sample_weight, numbers, self._equal_rows(X))
        if hasattr(self, "loo_decision_"):
            self.loo_decision_ = self._with_unused(X, self.loo_decision_)
        return self

    def refit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from other candidates with the kernels of this model, without choosing again.

        Parameters
        ----------
        X, y, sample_weight, groups
            As in :meth:`fit`.

        Returns
        -------
        PUREClassifier
            A new model; this one stays as it is.
        """
        check_is_fitted(self)
        other: Self = clone(self)
        if self.kernel == "auto":
            other._chosen = ([ChosenKernel(**kernel) for kernel in self.kernels_], self.guarded_)
        return other.fit(X, y, sample_weight, groups)

    def _with_unused(self, X: Any, decisions: np.ndarray) -> np.ndarray:
        """Outputs of all rows, given those of the rows that were learned from."""
        m = X.shape[0]
        if len(decisions) == m:
            return decisions
        unused = np.setdiff1d(np.arange(m), self.support_)
        rest = X.take(unused) if isinstance(X, Rows) else X[unused]
        every = np.empty((m, decisions.shape[1]), decisions.dtype)
        every[self.support_], every[unused] = decisions, self._scores(rest)
        return every

    def leave_one_out(self, X: Any, equal: np.ndarray | None = None) -> np.ndarray:
        """Outputs of the training rows by the model without the row and its equals, as in
        ``loo_decision_``; the training rows must be passed again.

        Parameters
        ----------
        X : array-like of shape (m, n)
            The training instances, as in ``fit``; may be larger than memory.
        equal : ndarray of int of shape (m,), default=None
            Equal numbers for rows with equal features, where these are known; None looks for them.

        Returns
        -------
        ndarray of shape (m, l)
        """
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        if X.shape[0] != len(self.transduction_):
            raise InputError(
                f"X has {X.shape[0]} rows, but {len(self.transduction_)} were learned from: pass "
                "the training rows"
            )
        known, used = X, self.support_
        if len(used) < X.shape[0] and not isinstance(X, Rows):  # without rows of weight 0
            known = X[used]
            equal = None if equal is None else equal[used]
        equal = self._equal_rows(known, equal)
        return self._with_unused(X, self._left_out(known, equal))

    def _left_out(
        self, X: Any, equal: np.ndarray | None, G: np.ndarray | None = None
    ) -> np.ndarray:
        """Outputs of the training rows by the model without them and their equals; ``X`` may hold
        only those that were learned from. ``G`` smooths the weights of the members of a model.
        """
        if vars(self).get("width_"):
            G = smoothing_matrix(label_positions(self.ordered, self.classes_), self.width_)
        if self.kernel == "auto":
            return _mean(
                member._left_out(self._rescaled(X, k), equal, G)
                for k, member in enumerate(self.members_)
            )
        fitted, leverage = vars(self).get("fitted_confidence_", self.confidence_), self.leverage_
        used = self.support_
        if not self.max_iter:  # fitted to even shares
            sizes, fitted = np.diff(fitted.indptr), fitted.copy()
            fitted.data = np.repeat(1 / sizes, sizes).astype(fitted.dtype)
        if fitted.shape[0] > X.shape[0]:  # with rows of weight 0
            fitted = fitted[used]
        if len(leverage) > X.shape[0]:
            leverage = leverage[used]
        P = fitted.toarray()
        P = P if G is None else P @ G.astype(P.dtype)
        return LeftOut(leverage, equal).outputs(P, self._scores(X))

    def at_even_shares(self) -> Self:
        """The model at ``P = Y / |S|``, where the iterations began: the same as ``max_iter=0``,
        without another fit.
        """
        check_is_fitted(self)
        first = copy(self)
        first.__dict__.pop("loo_decision_", None)
        first.max_iter = 0
        if self.kernel == "auto":
            first.members_ = [member.at_even_shares() for member in self.members_]
            first.scale_ = float(np.mean([member.scale_ for member in first.members_]))
        else:
            first.__dict__.update(self._first)
        return first

    def _group_numbers(self, groups: Any, candidates: CandidateSets) -> np.ndarray | None:
        """The number of each row's group, counted from 0; None without groups."""
        if groups is not None:
            names = np.asarray(groups)
            if names.shape != (len(candidates),):
                raise InputError(
                    f"groups has shape {names.shape}, expected {(len(candidates),)}: one name per "
                    "row of X"
                )
            return np.unique(names, return_inverse=True)[1]
        return equal_rows([candidates.to_sparse()]) if self.same_set_groups else None

    def _fit_model(
        self, X: Any, candidates: CandidateSets, weight: np.ndarray | None
    ) -> np.ndarray:
        if self.kernel == "auto":
            return self._fit_bank(X, candidates, weight)
        confidence = super()._fit_model(X, candidates, weight)
        self.kernels_ = [{"scaling": "none", "kernel": self.kernel, "beta": self.beta}]
        self.guarded_ = False
        if hasattr(self, "loo_decision_"):
            even = self.__dict__.pop("_even_outputs")
            self._first["scale_"] = self._scale_of(even, candidates, weight)
            self.scale_ = self._scale_of(self.loo_decision_, candidates, weight)
        else:
            self._set_scales_on_sample(X, candidates, weight, confidence)
        return confidence

    def _smooth_labels(
        self, X: Any, candidates: CandidateSets, weight: np.ndarray | None, confidence: np.ndarray
    ) -> np.ndarray:
        smoothed = super()._smooth_labels(X, candidates, weight, confidence)
        if self.width_:
            if self.kernel != "auto":
                self.fitted_confidence_ = self.confidence_
            first = self.at_even_shares()
            scale = self._scale_of(first._left_out(X, self._equal), candidates, weight)
            for model in self.members_ if self.kernel == "auto" else [self]:
                model._first["scale_"] = scale
        return smoothed

    def _smooth_weights(self, G: np.ndarray) -> None:
        for model in self.members_ if self.kernel == "auto" else [self]:
            for weights in (model.__dict__, model._first):
                smooth(weights, G)

    def _scale_of(
        self, outputs: np.ndarray, candidates: CandidateSets, weight: np.ndarray | None
    ) -> float:
        """The ``scale_`` of a model with these outputs."""
        return softmax_scale(
            outputs, candidates.indptr, candidates.indices, weight, generator(self.random_state)
        )

    def _set_scales_on_sample(
        self, X: Any, candidates: CandidateSets, weight: np.ndarray | None, confidence: np.ndarray
    ) -> None:
        """Set the scales of the final model and of the first one, by the outputs of a sample."""
        sample, drawn = draw_rows(X, ROWS, weight, generator(self.random_state))
        known = candidates[drawn]
        own = None if weight is None else weight[drawn]
        # the confidences before the first step
        even = (1 / candidates.sizes[candidates.rows]).astype(confidence.dtype)
        first, left_out = self.at_even_shares(), LeftOut(self.leverage_, self._equal)
        for model, p in ((self, confidence if self.max_iter else even), (first, even)):
            P = sparse.csr_array((p, candidates.indices, candidates.indptr), shape=candidates.shape)
            outputs = left_out.outputs(P, model._scores(sample), drawn)
            model.scale_ = self._scale_of(outputs, known, own)
        self._first["scale_"] = first.scale_

    # ---------------------------------------------------------------- one kernel

    def _known_shift(self) -> float | None:
        return None if isinstance(self.prior_shift, str) else float(self.prior_shift)

    def _alternate(
        self, model: LinearRidge | KernelRidge, sets: SortedSets, X: Any
    ) -> PeerTrajectory:
        order = sets.row_order
        found = solve_peers(
            model,
            sets,
            None if self._equal is None else self._equal[order],
            max_iter=self.max_iter,
            tol=self.tol,
            shift=self._known_shift(),
            refine=None if self._groups is None else GroupPosterior(sets, self._groups),
            callback=self._report,
        )
        place = np.argsort(order)
        self.prior_shift_, self.leverage_ = found.path.shift, found.leverage[place]
        self.loo_decision_, self._even_outputs = found.outputs[:, place]
        (A, even_A), (b, even_b) = found.coefficients, found.intercepts
        self._set_coefficients(even_A, even_b, X, order)
        self._keep_first()
        self._set_coefficients(A, b, X, order)
        return found.path

    def _keep_first(self) -> None:
        """Keep the current weights, those at even shares, for :meth:`at_even_shares`."""
        self._first = {name: getattr(self, name) for name in WEIGHTS if hasattr(self, name)}

    def _set_low_rank(self, features: FeatureMap, fit: Any, dtype: Any) -> None:
        W, b = fit.first
        super()._set_low_rank(features, LowRankFit(W=W, b=b), dtype)
        self._keep_first()
        super()._set_low_rank(features, fit, dtype)

    def _alternate_passes(self, passes: Any, candidates: CandidateSets) -> PeerFit:
        if self._groups is not None:
            raise ParameterError(
                "groups need an exact solver, but there are too many rows for one: leave groups "
                "out, or use solver='dual'"
            )
        fit = alternate_peer_passes(
            passes,
            self.beta,
            max_iter=self.max_iter,
            tol=self.tol,
            shift=self._known_shift(),
            equal=None if self._equal is None else (self._equal, candidates.indices),
            callback=self._report,
        )
        self.prior_shift_, self.leverage_ = fit.shift, passes.leverage
        return fit

    # ---------------------------------------------------------------- the bank

    def _fit_bank(self, X: Any, candidates: CandidateSets, weight: np.ndarray | None) -> np.ndarray:
        check_learnable(candidates, votes=self.prior > 0)
        sample, drawn = draw_rows(X, SAMPLE, weight, generator(self.random_state))
        own = None if weight is None else weight[drawn]
        with blas_threads(len(sample)):
            choices, self.guarded_ = self.__dict__.pop("_chosen", None) or choose_kernels(
                sample,
                candidates[drawn],
                own,
                prior=self.prior,
                max_iter=max(self.max_iter, 1),
                tol=self.tol,
                shift=self._known_shift(),
                equal=None if self._equal is None else self._equal[drawn],
            )
        if self.verbose:
            names = ", ".join(f"{c.scaling} {c.kernel} β={c.beta:g}" for c in choices)
            print(f"kernels: {names}" + ("; guard: no retraining" if self.guarded_ else ""))
        self.kernels_ = [asdict(choice) for choice in choices]
        learned = (sample, own) if isinstance(X, Rows) else (X, weight)
        self.scalings_ = [learn_scaling(choice.scaling, *learned) for choice in choices]
        changed = {"max_iter": 0, "prior_shift": 0.0} if self.guarded_ else {}
        self.members_ = []
        for k, choice in enumerate(choices):
            member = type(self)(
                **self.get_params()
                | {"kernel": choice.kernel, "beta": choice.beta, "ordered": False}
                | changed
            )
            scaled, known = member._validate_fit(self._rescaled(X, k), candidates)
            member._learn(scaled, known, weight, self._groups, self._equal)
            self.members_.append(member)
        self.solver_ = self.members_[0].solver_
        self.n_iter_ = max(member.n_iter_ for member in self.members_)
        self.converged_ = all(member.converged_ for member in self.members_)
        self.prior_shift_ = float(np.mean([member.prior_shift_ for member in self.members_]))
        confidence = _mean(member.confidence_.data for member in self.members_)
        if hasattr(self.members_[0], "loo_decision_"):
            self.loo_decision_ = _mean(member.loo_decision_ for member in self.members_)
            self.scale_ = self._scale_of(self.loo_decision_, candidates, weight)
        else:
            self.scale_ = float(np.mean([member.scale_ for member in self.members_]))
        return confidence

    def _rescaled(self, X: Any, k: int) -> Any:
        """Rows, scaled for the k-th kernel."""
        function = partial(rescale, self.kernels_[k]["scaling"], self.scalings_[k])
        return X.mapped(function) if isinstance(X, Rows) else function(X)

    def _width(self) -> int:
        if self.kernel != "auto":
            return super()._width()
        return max(member._width() for member in self.members_)

    def _outputs(self, X: Any) -> np.ndarray:
        if self.kernel != "auto":
            return super()._outputs(X)
        return _mean(
            member._outputs(self._rescaled(X, k)) for k, member in enumerate(self.members_)
        )


def _mean(parts: Any) -> np.ndarray:
    """Mean of arrays; a single one is returned exactly."""
    parts = list(parts)
    return np.asarray(sum(parts[1:], parts[0]) / len(parts))


METHOD = Method(
    "PURE",
    PUREClassifier,
    {},
    reference="This project: docs/evidence/pure.md.",
    idea="kernel ridge on confidences, each decided by the model without its row",
    cost="one m × m Cholesky factor and its inverse for each of up to 3 kernels; linear: n × n",
    many_rows={"solver": "nystroem", "kernel": "rbf"},
)
