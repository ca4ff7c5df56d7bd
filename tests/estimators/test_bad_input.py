"""Bad input gets one clear sentence, a class of ours, and the places."""

from contextlib import suppress
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVC
from sklearn.utils.validation import has_fit_parameter

from surelabel import (
    SURECV,
    CandidateSets,
    CLPLClassifier,
    LSBCMMClassifier,
    PALOCClassifier,
    PLSVMClassifier,
    PUREClassifier,
    SelfTrainingPLClassifier,
    SUREClassifier,
    SURERetrainer,
    WeightedCandidatesClassifier,
    all_methods,
)
from surelabel.data.finite import check_finite
from surelabel.exceptions import (
    CandidateError,
    InputError,
    MemoryNeedError,
    NumericalError,
    ParameterError,
    SurelabelError,
)
from tests.hostile import VALUES, call

X = np.random.default_rng(0).standard_normal((12, 3))
Y = np.eye(3, dtype=int)[np.arange(12) % 3]
Y[::2, 0] = 1


def broken(value):
    damaged = X.copy()
    damaged[[1, 4, 5, 6, 7, 8, 9], 2] = value
    return damaged


EVERY = "every row has every class as a candidate: there is nothing to learn from"


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        (
            X,
            [[0]] * 3 + [[]] + [[1, 2]] * 8,
            CandidateError,
            "row 3; drop them, or pass unlabelled=",
        ),
        (X, Y[:7], CandidateError, "X has 12 rows but y has 7"),
        (
            X,
            2 * Y,
            CandidateError,
            r"only 0 and 1; 16 other .* at \(row, column\) \(0, 0\), .* and 11",
        ),
        (X, np.ones((12, 3)), CandidateError, EVERY),
        (X, CandidateSets.from_counts(np.full((12, 3), 2.0)), CandidateError, f"{EVERY}$"),
        (X, np.ones(12), CandidateError, "only one class"),
        (X, None, CandidateError, "requires y"),
        (
            broken(np.nan),
            Y,
            InputError,
            r"NaN or .* in 7 cell\(s\), .* \(1, 2\), .* and 2 more; impute",
        ),
        (broken(np.inf), Y, InputError, r"\(1, 2\)"),
        (broken(-np.inf), Y, InputError, r"\(1, 2\)"),
        (X[0], Y, InputError, "Expected 2D array"),
        (X[:0], Y[:0], InputError, "0 sample"),
        (X[:, :0], Y, InputError, "0 feature"),
        (np.array([["a", "b"]] * 12), Y, InputError, "could not convert string to float: .*'a'"),
        (X + 1j, Y, InputError, "Complex data not supported"),
    ],
)
def test_instances_and_candidates(X, y, error, message):
    with pytest.raises(error, match=message) as caught:
        SUREClassifier().fit(X, y)
    assert isinstance(caught.value, SurelabelError)
    assert isinstance(caught.value, ValueError)


BAD = {
    SUREClassifier: [
        *({"beta": 0}, {"beta": -1}, {"lam": -0.1}, {"kernel": "rfb"}, {"gamma": 0}, {"tol": -1}),
        *({"gamma": "mean"}, {"bandwidth": 0}, {"max_iter": 0}, {"init": "ones"}, {"n_jobs": 0}),
        *({"max_iter": 10**400}, {"max_iter": True}, {"prior": -1}),
    ],
    PALOCClassifier: [
        {"estimator": LinearRegression()},
        {"mu": -1},
        {"n_jobs": 1.5},
        {"n_jobs": 0},
    ],
    CLPLClassifier: [{"C": 0}],
    PLSVMClassifier: [{"lam": -1.0}],
    LSBCMMClassifier: [
        *({"n_components": 0}, {"concentration": 0.001}, {"precision": 0}, {"max_iter": 0}),
        {"tol": -1},
    ],
    SelfTrainingPLClassifier: [{"alpha": 0}, {"threshold": -0.1}, {"max_iter": 0}],
    SURERetrainer: [{"estimator": "ridge"}],
    SURECV: [{"prior": -1}],
}


@pytest.mark.parametrize(
    ("make", "options"), [(make, options) for make, bad in BAD.items() for options in bad]
)
def test_parameters(make, options):
    message = f"'{next(iter(options))}' parameter of {make.__name__} (must be|is a whole number)"
    with pytest.raises(ParameterError, match=message):
        make(**options).fit(X, Y)


def test_the_primal_is_for_the_linear_kernel():
    with pytest.raises(ParameterError, match="kernel='linear' only"):
        SUREClassifier(solver="primal").fit(X, Y)


def test_weights():
    for weight, message in (
        (np.ones(3), "one weight per row"),
        (-np.ones(12), "not negative; it is not in row 0, 1, 2, 3, 4 and 7 more"),
        (np.full(12, np.nan), "finite"),
        (np.zeros(12), "adds up to 0"),
        (np.eye(12)[0], "fewer than two rows"),
        (np.full(12, 1e308), "adds up to inf"),
        (["a"] * 12, "must be numbers"),
        (object(), "must be numbers"),
    ):
        with pytest.raises(InputError, match=message):
            SUREClassifier().fit(X, Y, sample_weight=weight)


WEIGHTED = [
    *(
        m.estimator
        for m in all_methods().values()
        if has_fit_parameter(m.estimator, "sample_weight")
    ),
    SURECV,
    SURERetrainer,
]


@pytest.mark.parametrize("make", WEIGHTED)
@pytest.mark.parametrize(
    ("dtype", "extreme"), [(float, 1e300), (float, 1e-300), (np.float32, 1e30), (np.float32, 1e-30)]
)
def test_weights_whose_products_are_no_numbers(make, dtype, extreme):
    for weight in (np.where(np.arange(12) == 4, extreme, 1), np.full(12, extreme)):
        with pytest.raises(
            InputError, match=r"overflows or underflows in float.*row (4|0, 1).*divide"
        ):
            make().fit(X.astype(dtype), Y, sample_weight=weight)


@pytest.mark.parametrize("make", [SUREClassifier, PUREClassifier, SURECV])
@pytest.mark.parametrize("options", [{}, {"solver": "nystroem"}])
def test_widths_beyond_numbers(make, options):
    given = {"kernel": "rbf"} | options
    for name in ("bandwidth", "gamma"):
        for value in (1e200, 1e-200):
            with pytest.raises(ParameterError, match=f"'{name}' parameter .* range"):
                make(**given, **{name: value}).fit(X, Y)
    for dtype, value in ((np.float32, 1e30), (np.float32, 1e-30)):
        with pytest.raises(ParameterError, match="0 or infinite in float32: choose a bandwidth"):
            make(**given, bandwidth=value).fit(X.astype(dtype), Y)
    make(**given, bandwidth=1e9).fit(X, Y)


def test_columns_that_changed_at_predict():
    model = SUREClassifier().fit(X, Y)
    with pytest.raises(InputError, match="X has 2 features, but SUREClassifier is expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(InputError, match=r"\(4, 2\)"):
        model.predict_proba(broken(np.nan)[4:5].repeat(5, axis=0))
    named = SUREClassifier().fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    with pytest.raises(InputError, match="feature names"):
        named.predict(pd.DataFrame(X, columns=["a", "c", "b"]))


def test_sparse_for_the_linear_model_only():
    with pytest.raises(InputError, match="Sparse data was passed"):
        SUREClassifier().fit(sparse.csr_array(X), Y)
    with pytest.raises(InputError, match="NaN or infinity"):
        SUREClassifier(kernel="linear").fit(sparse.csr_array(broken(np.nan)), Y)


@pytest.mark.parametrize("model", [SUREClassifier, SURECV])
@pytest.mark.parametrize("shape", [(12, 3), (12, 13), (12, 11)])
def test_kernel_matrix_that_is_not_square(model, shape):
    with pytest.raises(InputError, match="square kernel matrix at fit, not 12 ×"):
        model(kernel="precomputed").fit(np.ones(shape), Y)


@pytest.mark.parametrize("name", all_methods())
@pytest.mark.parametrize(("dtype", "tiny"), [(np.float64, 1e-160), (np.float32, 1e-21)])
def test_numbers_whose_squares_vanish(name, dtype, tiny):
    model = all_methods()[name].estimator()
    if name in ("PLKNN", "IPAL"):
        model.set_params(n_neighbors=3)
    with pytest.raises(InputError, match=r"no number larger than .* underflow in float.*scale the"):
        model.fit((tiny * X).astype(dtype), Y)
    model.fit(X.astype(dtype), Y).predict((tiny * X).astype(dtype))  # near 0 as any others


@pytest.mark.filterwarnings("ignore:the instances are 1e")
@pytest.mark.parametrize("name", all_methods())
def test_instances_that_differ_by_numbers_whose_squares_vanish(name):
    model = all_methods()[name].estimator()
    if name in ("PLKNN", "IPAL"):
        model.set_params(n_neighbors=3)
    with suppress(InputError):  # of a method that centres them first, and says what is left
        model.fit(1e-140 + 1e-156 * np.arange(36.0).reshape(12, 3), Y)
        np.testing.assert_allclose(model.confidence_.sum(axis=1), 1)


@pytest.mark.parametrize("name", all_methods())
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
def test_the_callers_sparse_matrix_stays_as_it_is(name, make):
    model = all_methods()[name].estimator()
    if "kernel" in model.get_params():
        model.set_params(kernel="linear")
    if not model.__sklearn_tags__().input_tags.sparse:
        return
    # Columns out of order, and each of them twice.
    given = make((np.repeat(X / 2, 2).ravel(), np.tile([2, 0, 1, 2, 0, 1], 12), 6 * np.arange(13)))
    before = given.data.copy(), given.indices.copy(), given.indptr.copy()
    predicted = model.fit(given, Y).predict(given)
    for array, old in zip((given.data, given.indices, given.indptr), before, strict=True):
        np.testing.assert_array_equal(array, old)
    dense = model.fit(make(given.toarray()), Y)
    np.testing.assert_array_equal(dense.predict(given), predicted)


def test_kernel_that_is_not_positive_definite():
    with pytest.raises(NumericalError, match="scale the features"):
        SUREClassifier(kernel="precomputed").fit(-np.eye(12), Y)


@pytest.mark.parametrize("name", all_methods())
@pytest.mark.parametrize(
    ("dtype", "large", "huge"), [(np.float64, 1e153, 1e160), (np.float32, 1e18, 1e20)]
)
def test_numbers_whose_squares_overflow(name, dtype, large, huge):
    model = all_methods()[name].estimator()
    if name in ("PLKNN", "IPAL"):
        model.set_params(n_neighbors=3)
    instances = X.astype(dtype)
    instances[4, 1] = huge
    message = (
        rf"squares exceed the largest {instances.dtype}, in 1 cell\(s\), at \(row, column\) \(4, "
        r"1\); scale the features"
    )
    with pytest.raises(InputError, match=message):
        model.fit(instances, Y)
    model.fit(X.astype(dtype), Y)
    with pytest.raises(InputError, match=message):
        model.predict(instances)
    check_finite(
        np.full((1000, 3), large, dtype)
    )  # many squares may overflow together: no method adds them all


def test_labels_of_another_type_are_not_scored():
    with pytest.raises(CandidateError, match="use one type"):
        SUREClassifier().fit(X, Y).score(X, np.full(12, "a"))


def test_a_kernel_matrix_too_large_for_memory(monkeypatch):
    monkeypatch.setattr("surelabel.estimators._base.available_memory", lambda: 256)
    with pytest.raises(MemoryNeedError, match=r"12 rows needs about 0.0 GiB .*solver='nystroem'"):
        SUREClassifier(solver="dual").fit(X, Y)


@pytest.mark.parametrize("model", [PALOCClassifier, WeightedCandidatesClassifier])
def test_inner_classifier_of_kernel_values(model):
    with pytest.raises(ParameterError, match="SVC expects a matrix of kernel values"):
        model(SVC(kernel="precomputed")).fit(X, Y)


def test_votes_that_a_method_does_not_take():
    votes = CandidateSets.from_counts(1 + Y)
    for model in (PALOCClassifier(), SUREClassifier(prior=0), SURERetrainer()):
        with pytest.raises(
            CandidateError, match="except their shares, which CrowdClassifier, PURE"
        ):
            model.fit(X, votes)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [*(m.estimator for m in all_methods().values()), SURECV])
def test_hostile_values_end_in_one_sentence(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # IPAL makes a folder of any name that its memory has
    few = {"n_neighbors": 3} if "n_neighbors" in make().get_params() else {}
    few |= {"lams": [0.1], "betas": [0.1], "cv": 3, "kernel": "rbf"} if make is SURECV else {}
    model = make(**few)
    parameters = set(model.get_params(deep=False)) - {"verbose", "callback"}
    numbers = [value for value in VALUES if not callable(value) and not isinstance(value, dict)]
    for name, value in product(sorted(parameters), numbers[:8] + numbers[9:40:6]):
        call(make(**few | {name: value}).fit, (X, Y), {})
    fitted = make(**few).fit(X, Y)
    for value in VALUES:
        call(model.fit, (value, Y), {})
        call(fitted.predict, (value,), {})
        call(fitted.score, (X, value), {})
        call(fitted.score, (X, Y), {"sample_weight": value})
        if has_fit_parameter(model, "sample_weight"):
            call(model.fit, (X, Y), {"sample_weight": value})


def test_instances_that_are_objects():
    with pytest.raises(TypeError, match=r"must be .* number"):  # scikit-learn asks for this class
        SUREClassifier().fit([[object()]] * 12, Y)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], "makes no folds"),
        ([None], "does not split the rows"),
        ([([0, 1], [99])], "does not split the rows"),
        ([([0.5], [1])], "two lists of row numbers"),
        (13, "does not split the rows"),
    ],
)
def test_folds_that_are_none(cv, message):
    with pytest.raises(ParameterError, match=message):
        SURECV(cv=cv, kernel="rbf").fit(X, Y)
