"""Algorithm 1 with the linear kernel in fifty digits, on instances as they are: nothing is centred
first.
"""

import mpmath
import numpy as np


def extended_sure(X, Y, lam, beta, n_iter, digits=50):
    """Eq. 6 solved by elimination, eq. 10 by its definition. Returns P, and the outputs of the rows
    of X, as float64.
    """
    with mpmath.workdps(digits):
        X = mpmath.matrix(X.tolist())
        m, l = Y.shape
        K = X * X.T
        means = [sum(K[i, j] for i in range(m)) / m for j in range(m)]
        left = mpmath.matrix(m, m)
        for i in range(m):
            for j in range(m):
                left[i, j] = K[i, j] - means[j] + (beta if i == j else 0)
        inverse = mpmath.inverse(left)
        P = mpmath.matrix(Y.astype(float).tolist())
        for _ in range(n_iter):
            mean = [sum(P[i, j] for i in range(m)) / m for j in range(l)]
            right = mpmath.matrix(m, l)
            for i in range(m):
                for j in range(l):
                    right[i, j] = P[i, j] - mean[j]
            A = inverse * right
            KA = K * A
            Q = mpmath.matrix(m, l)
            for j in range(l):
                b = mean[j] - sum(KA[i, j] for i in range(m)) / m
                for i in range(m):
                    Q[i, j] = KA[i, j] + b
            for i in range(m):
                inside = np.flatnonzero(Y[i])
                v = {j: Q[i, j] for j in inside}
                v[max(inside, key=lambda j, v=v: v[j])] += mpmath.mpf(lam) / 2
                descending = sorted(v.values(), reverse=True)
                theta = max(
                    (sum(descending[: k + 1]) - 1) / (k + 1) for k in range(len(descending))
                )
                for j in range(l):
                    P[i, j] = max(v[j] - theta, 0) if Y[i, j] else mpmath.mpf(0)
        return _float(P), _float(Q)


def _float(matrix):
    return np.array(matrix.tolist(), float)
