"""Where our Table 4 differs from the paper's: results of other scalings, parameters, kernels and
ways to break ties, on the same ten folds.

Every variant is run on every data set, with fixed parameters. ``↑`` and ``↓``: outside one printed
standard deviation of the paper. Writes Markdown to standard output; data sets are found in the same
way as by ``surelabel reproduce``. ``--only TEXT`` runs the variants whose description contains the
text, ``--sets lost,msrcv2`` only these sets.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import warnings
from argparse import ArgumentParser
from itertools import combinations

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import KFold
from sklearn.svm import SVC

from surelabel import (
    CLPLClassifier,
    LSBCMMClassifier,
    PALOCClassifier,
    PLKNNClassifier,
    PLSVMClassifier,
)
from surelabel.data import catalog
from surelabel.estimators.paloc import _Machines
from surelabel.evaluation.protocol import fold_scores, grid_search, make_folds
from surelabel.experiments.study import paper_study
from surelabel.experiments.trials import SCALERS, trials_of

STUDY = paper_study("table4")
SETS = ("lost", "msrcv2", "fg-net")
SCORES = {"accuracy": "", "accuracy_within_3": " (MAE3)", "accuracy_within_5": " (MAE5)"}
SCALINGS = ("standard", "none", "minmax", "unit")


class CostlyPALOC(PALOCClassifier):
    """C = 10 in place of libsvm's 1, at the same widths."""

    def _machines(self, X):
        machines = super()._machines(X)
        machines.inner.set_params(C=10)
        return machines


class BalancedPALOC(PALOCClassifier):
    """Weights that make the two sides of every binary problem count the same."""

    def _machines(self, X):
        machines = super()._machines(X)
        machines.inner.set_params(class_weight="balanced")
        return machines


class Signs:
    """Machines that say yes, no or nothing."""

    def __init__(self, machines):
        self.machines = machines

    def fit(self, X, problems, run):
        """As the machines do."""
        return np.sign(self.machines.fit(X, problems, run))

    def outputs(self, X):
        """As the machines do."""
        return np.sign(self.machines.outputs(X))


class SignedPALOC(PALOCClassifier):
    """The second stage sees the votes of the pairs, not their values."""

    def _machines(self, X):
        machines = super()._machines(X)
        return Signs(machines) if X.shape[1] == self.n_features_in_ else machines


class ProbableSVM(ClassifierMixin, BaseEstimator):
    """libsvm with its own probability outputs (Platt 1999)."""

    def fit(self, X, y):
        """Learn."""
        gamma = 1 / (float(X.var(axis=0).sum()) or 1)
        self.machine_ = SVC(gamma=gamma, probability=True, random_state=0).fit(X, y)
        self.classes_ = self.machine_.classes_
        return self

    def predict_proba(self, X):
        """Probabilities of no and yes."""
        return self.machine_.predict_proba(X)


class ProbablePALOC(PALOCClassifier):
    """Probabilities of the pairs are added up, not their votes; the second stage is as ever."""

    def _machines(self, X):
        pairs = X.shape[1] == self.n_features_in_
        return _Machines(ProbableSVM()) if pairs else super()._machines(X)

    def _outputs(self, X):
        outputs = self._pairs.outputs(X)  # 2 p - 1 for the first of the two labels
        yes = self._labels.outputs(np.hstack([X, outputs])) > 0
        scores = np.zeros(yes.shape)
        for (j, k), output in zip(combinations(range(yes.shape[1]), 2), outputs.T, strict=True):
            scores[:, j] += (1 + output) / 2
            scores[:, k] += (1 - output) / 2
        return scores + self.mu * yes


class WidePALOC(PALOCClassifier):
    """C, and the width as a multiple of the default."""

    def __init__(self, C=1.0, width=1.0, mu=10.0):
        super().__init__(mu=mu)
        self.C, self.width = C, width

    def _check_parameters(self):
        pass

    def _machines(self, X):
        machines = super()._machines(X)
        machines.inner.set_params(C=self.C, gamma=machines.inner.gamma * self.width)
        return machines


class Chosen(ClassifierMixin, BaseEstimator):
    """Parameters by the covering rate of three inner folds, then a fit on all rows."""

    def __init__(self, estimator, grid):
        self.estimator, self.grid = estimator, grid

    def fit(self, X, y):
        """Choose, then learn."""
        search = grid_search(self.estimator, self.grid, "covering_rate")
        search.set_params(cv=KFold(3, shuffle=True, random_state=0)).fit(X, y)
        self.best_ = clone(self.estimator).set_params(**search.best_params_).fit(X, y)
        self.transduction_ = self.best_.transduction_
        return self

    def predict(self, X):
        """By the model chosen."""
        return self.best_.predict(X)


class Pegasos(PLSVMClassifier):
    """The subgradient steps of Nguyen and Caruana, as Pegasos (Shalev-Shwartz et al. 2007) has
    them: step ``1/(λt)`` along a tenth of the rows, back into the ball of radius ``1/√λ``, until
    the weights move by less than ``tol`` of their length or after 1,000 steps.
    """

    def _weights(self, X, candidates, weight):
        rng = np.random.default_rng(0)
        inside = candidates.to_indicator().astype(bool)
        informative = np.flatnonzero(~inside.all(axis=1))
        W, size = np.zeros((X.shape[1], inside.shape[1])), max(1, len(informative) // 10)
        self.converged_ = False
        for t in range(1, 1001):
            rows = rng.choice(informative, size, replace=False)
            scores, mine, each = X[rows] @ W, inside[rows], np.arange(size)
            best = np.where(mine, scores, -np.inf).argmax(axis=1)
            rival = np.where(mine, -np.inf, scores).argmax(axis=1)
            violated = scores[each, best] - scores[each, rival] < 1
            slope = np.zeros_like(scores)
            slope[each, best] -= violated
            slope[each, rival] += violated
            new = (1 - 1 / t) * W - X[rows].T @ slope / (self.lam * t * size)
            new *= min(1, 1 / (np.sqrt(self.lam) * max(np.linalg.norm(new), 1e-300)))
            moved, W = np.linalg.norm(new - W), new
            if moved <= self.tol * np.linalg.norm(W):
                self.converged_ = True
                break
        self.n_iter_, self.objective_ = t, np.zeros(t + 1)
        return W


class ValuedPALOC(PALOCClassifier):
    """The value of the second stage in place of its yes; ``votes`` of the pairs and ``yes`` can be
    left in.
    """

    votes, yes, value = 1, 0, 10

    def _outputs(self, X):
        outputs = self._pairs.outputs(X)
        values = self._labels.outputs(np.hstack([X, outputs]))
        votes = super()._outputs(X) - self.mu * (values > 0)
        return self.votes * votes + self.yes * (values > 0) + self.value * values


class TieBreakingPALOC(ValuedPALOC):
    """The value of the second stage decides between equal scores only."""

    votes, yes, value = 1, 10, 1e-6


class StackedPALOC(ValuedPALOC):
    """The value of the second stage alone."""

    votes, yes, value = 0, 0, 1


def variants():
    """Method, what is different, estimator, scaling."""
    for scaling in SCALINGS:
        for k in (5, 10):
            yield "PLKNN", f"k = {k}", PLKNNClassifier(k), scaling
        yield "CLPL", "", CLPLClassifier(), scaling
        yield "LSBCMM", "", LSBCMMClassifier(), scaling
        yield "PALOC", "", PALOCClassifier(), scaling
        yield "PALOC", "C = 10", CostlyPALOC(), scaling
        for lam in (
            (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
            if scaling == "standard"
            else (0.01, 0.1, 1.0, 100.0)
        ):
            yield "PLSVM", f"λ = {lam:g}", PLSVMClassifier(lam), scaling
    for C in (0.01, 0.1, 10.0):
        yield "CLPL", f"C = {C:g}", CLPLClassifier(C), "standard"
    yield "CLPL", "intercept", CLPLClassifier(fit_intercept=True), "standard"
    yield (
        "PALOC",
        "linear kernel",
        PALOCClassifier(SVC(kernel="linear", max_iter=20_000)),
        "standard",
    )
    yield "PALOC", "libsvm's width in both stages", PALOCClassifier(SVC(gamma="auto")), "standard"
    yield "PALOC", "ties by the value of the second stage", TieBreakingPALOC(), "standard"
    yield "PALOC", "values of the second stage, not its yes", ValuedPALOC(), "standard"
    yield "PALOC", "second stage alone", StackedPALOC(), "standard"
    yield "PALOC", "class weights", BalancedPALOC(), "standard"
    yield "PALOC", "second stage on votes, not values", SignedPALOC(), "standard"
    yield "PALOC", "probabilities of libsvm, added up", ProbablePALOC(), "standard"
    grid = {"C": [1.0, 10.0, 100.0], "width": [1.0, 4.0]}
    yield "PALOC", "C and width by covering rate", Chosen(WidePALOC(), grid), "standard"
    for lam in (0.01, 1.0, 100.0):
        bias = PLSVMClassifier(lam, fit_intercept=True)
        yield "PLSVM", f"λ = {lam:g}, bias term", bias, "standard"
    for lam in (0.001, 0.01, 0.1, 1.0, 10.0):
        yield "PLSVM", f"λ = {lam:g}, steps of Pegasos", Pegasos(lam), "standard"
        yield (
            "PLSVM",
            f"λ = {lam:g}, steps of Pegasos, bias term",
            Pegasos(lam, fit_intercept=True),
            "standard",
        )


def run(dataset, fold, estimator, scaling):
    """Scores of one fold, those of the study."""
    warnings.simplefilter("ignore")
    data = catalog.load(dataset)
    trial = next(trials_of(STUDY, datasets=[dataset]))
    part = make_folds(len(data.X), n_folds=STUDY.folds, seed=trial.seed("folds"))[fold]
    X = (
        data.X
        if scaling == "none"
        else SCALERS[scaling]().fit(data.X[part.train]).transform(data.X)
    )
    model = estimator.fit(X[part.train], data.candidates[part.train])
    predicted = model.predict(X[part.test])
    return fold_scores(
        data.candidates, data.y, part, predicted, model.transduction_, ordered=data.ordered
    )


def published(dataset, method, score):
    entry = STUDY.published[dataset][method]
    return entry if score == "accuracy" else entry[score]


def main() -> None:
    options = ArgumentParser(description=__doc__)
    options.add_argument("--only", default="")
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--workers", type=int, default=2)
    asked = options.parse_args()
    sets = asked.sets.split(",")
    columns = [
        (dataset, score)
        for dataset in SETS
        for score in (SCORES if dataset == "fg-net" else ["accuracy"])
    ]
    print(
        "| Method | Features | | "
        + " | ".join(f"{dataset}{SCORES[score]}" for dataset, score in columns)
        + " |"
    )
    print("| :--- | :--- | :--- |" + " ---: |" * len(columns))
    with Parallel(n_jobs=asked.workers) as parallel:
        for method, difference, estimator, scaling in sorted(
            variants(), key=lambda variant: variant[0]
        ):
            if asked.only not in difference:
                continue
            jobs = [
                (dataset, fold, estimator, scaling)
                for dataset in sets
                for fold in range(STUDY.folds)
            ]
            scores = parallel(delayed(run)(*job) for job in jobs)
            cells = []
            for dataset, score in columns:
                values = [
                    got[score]
                    for (where, *_), got in zip(jobs, scores, strict=True)
                    if where == dataset
                ]
                if not values:
                    cells.append("–")
                    continue
                known = published(dataset, method, score)
                off = np.mean(values) - known["mean"]
                mark = "" if abs(off) <= known["std"] else " ↑" if off > 0 else " ↓"
                cells.append(f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}{mark}")
            print(
                f"| {method} | {scaling} | {difference} | " + " | ".join(cells) + " |", flush=True
            )


if __name__ == "__main__":
    main()
