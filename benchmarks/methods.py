"""Fit and predict of every method on scikit-learn's digits, one thread, CPU seconds.

1,257 training rows, 70 % of them with 3 false candidates; 540 test rows; five draws of the split and the candidates. "Other"
are the figures of the only other Python code that has them all, measured once on the same kind of machine.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer

from surelabel import all_methods, make_partial

OTHER = {
    "IPAL": (14.1, 0.994),
    "PALOC": (6.2, 0.980),
    "PLSVM": (10.8, 0.900),
    "CLPL": (0.76, 0.928),
    "LSBCMM": (45.0, None),
    "PLKNN": (0.08, 0.974),
}
DRAWS = 5


def sixteenth(X):
    return X / 16


#: Pixels in 0..1 for all but those whose scores or weights have no intercept: rows of length 1.
SCALING = {"IPAL": Normalizer(), "CLPL": Normalizer()}


def run(estimator, scaling, draw):
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=draw)
    candidates = make_partial(y_train, p=0.7, r=3, random_state=draw)
    model = make_pipeline(scaling, estimator)
    started = time.process_time()
    prediction = model.fit(X_train, candidates).predict(X_test)
    return time.process_time() - started, np.mean(prediction == y_test)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(f"{'method':20} {'CPU s':>7} {'other':>6} {'faster':>7}   {'accuracy':>8} {'(draws)':>15} {'other':>6}")
    for name, method in all_methods().items():
        scaling = SCALING.get(name, FunctionTransformer(sixteenth))
        run(method.estimator(), scaling, 0)  # imports and caches
        seconds, accuracy = zip(*(run(method.estimator(), scaling, draw) for draw in range(DRAWS)), strict=True)
        line = f"{name:20} {np.median(seconds):7.3f}"
        other_seconds, other_accuracy = OTHER.get(name, (None, None))
        line += f" {other_seconds:6.2f} {other_seconds / np.median(seconds):6.1f}x" if other_seconds else f"{'':15}"
        line += f"   {np.mean(accuracy):8.1%} ({min(accuracy):.1%} – {max(accuracy):.1%})"
        print(line + (f" {other_accuracy:6.1%}" if other_accuracy else ""))
