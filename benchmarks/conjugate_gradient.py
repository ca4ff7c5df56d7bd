"""Would an exact kernel without its matrix be worthwhile? Preconditioned conjugate gradients
compared with landmarks, at equal time.

``(HKH + βI) A = HP`` is solved for all classes at once by conjugate gradients; products with ``K``
are computed block by block and never stored; a Nyström approximation is the preconditioner (as in
Falkon), and each iteration of SURE starts from the last ``A``. The accuracy reached after every
iteration is printed beside that of landmarks, with the seconds each took.
"""

import sys
import time

import numpy as np
from sklearn.preprocessing import StandardScaler

from surelabel import SUREClassifier, make_partial
from surelabel.data import catalog
from surelabel.evaluation.protocol import make_folds
from surelabel.solvers.confidence import SortedSets
from surelabel.solvers.features import Landmarks
from surelabel.solvers.kernels import kernel_matrix
from surelabel.solvers.out_of_core import ordered_map

STEP = 1000


class ConjugateGradients:
    """Solves with ``HKH + βI``, which is never formed."""

    def __init__(self, X, gamma, beta, n_landmarks=1000):
        self.X, self.gamma, self.beta = X, gamma, beta
        rng = np.random.default_rng(0)
        landmarks = Landmarks(X[rng.choice(len(X), n_landmarks, replace=False)], self._kernel)
        Z = np.concatenate(list(ordered_map(landmarks, self._blocks())))
        self.Z = Z - Z.mean(axis=0)
        self.inner = np.linalg.inv(self.Z.T @ self.Z + beta * np.eye(n_landmarks))
        self.products = 0

    def _kernel(self, X, Z):
        return kernel_matrix("rbf", X, Z, gamma=self.gamma)

    def _blocks(self):
        return (self.X[start : start + STEP] for start in range(0, len(self.X), STEP))

    def kernel_times(self, V):
        """``KV``."""
        self.products += 1
        return np.concatenate(
            list(ordered_map(lambda rows: self._kernel(rows, self.X) @ V, self._blocks()))
        )

    def _matrix(self, V):
        V = V - V.mean(axis=0)
        product = self.kernel_times(V)
        return product - product.mean(axis=0) + self.beta * V

    def _precondition(self, R):
        return (R - self.Z @ (self.inner @ (self.Z.T @ R))) / self.beta

    def solve(self, P, A, tol):
        """``A`` for ``HP``, from the last one, until the residual is ``tol`` of the right-hand
        side.
        """
        right = P - P.mean(axis=0)
        R = right - self._matrix(A)
        limit = tol * np.linalg.norm(right, axis=0)
        Y = self._precondition(R)
        D, rho = Y, (R * Y).sum(axis=0)
        while np.any(np.linalg.norm(R, axis=0) > limit):
            Q = self._matrix(D)
            step = _ratio(rho, (D * Q).sum(axis=0))
            A, R = A + step * D, R - step * Q
            Y = self._precondition(R)
            new = (R * Y).sum(axis=0)
            D, rho = Y + _ratio(new, rho) * D, new
        return A


def _ratio(above, below):
    """Zero for a class that is solved already, or that is nobody's candidate."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def main(dataset, lam=0.3, beta=0.05, tol=1e-2):
    data = catalog.load(dataset)
    candidates = (
        data.candidates
        if data.candidates is not None
        else make_partial(data.y, p=0.7, r=2, random_state=0)
    )
    fold = make_folds(len(data.X))[0]
    X = StandardScaler().fit(data.X[fold.train]).transform(data.X)
    train, test, known, y = (
        X[fold.train],
        X[fold.test],
        candidates[fold.train],
        np.asarray(data.y)[fold.test],
    )

    for solver, n_components in (
        ("nystroem", 1000),
        ("nystroem", 2000),
        ("nystroem", 4000),
        ("dual", 1),
    ):
        started = time.perf_counter()
        model = SUREClassifier(lam, beta, solver=solver, n_components=n_components).fit(
            train, known
        )
        exact = time.perf_counter() - started  # the last one is
        print(
            f"{dataset}: {solver} {n_components}: {exact:.1f} s, accuracy "
            f"{np.mean(model.predict(test) == y):.4f}",
            flush=True,
        )

    started = time.perf_counter()
    cg = ConjugateGradients(train, model.gamma_, beta)
    sets = SortedSets(known.indptr, known.indices, known.shape[1], None, X.dtype)
    A = np.zeros(known.shape)
    p = sets.initial("candidates", 1)
    for number in range(1, model.n_iter_ + 1):
        P = np.zeros(known.shape)
        P[known.rows, known.indices] = sets.all_entries(p[0])
        A = cg.solve(P, A, tol)
        q = (P - beta * A)[known.rows, known.indices]  # Q = P - βA for the exact A
        p = sets.project(sets.ambiguous_entries(q)[None], np.array([lam]))
        seconds = time.perf_counter() - started
        b = P.mean(axis=0) - cg.kernel_times(A).mean(axis=0)
        accuracy = np.mean(known.classes[(cg._kernel(test, train) @ A + b).argmax(axis=1)] == y)
        print(
            f"{dataset}: gradients, iteration {number}: {seconds:.1f} s, {cg.products} products, "
            f"accuracy {accuracy:.4f}",
            flush=True,
        )
        if seconds > 10 * exact:
            print(f"{dataset}: gradients stopped, at ten times the seconds of the exact fit")
            break


if __name__ == "__main__":
    for name in sys.argv[1:] or ["usps", "italian"]:
        main(name)
