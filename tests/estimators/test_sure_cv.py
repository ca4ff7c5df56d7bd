import numpy as np
import pytest
from scipy.stats import sem
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import scale

from surelabel import SURECV, SUREClassifier, make_partial
from surelabel.data import catalog
from surelabel.estimators.sure_cv import METHOD
from surelabel.evaluation.metrics import SCORERS
from surelabel.exceptions import CandidateError, ParameterError

GRID = (0.01, 0.1, 0.5)
CV = KFold(4, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), y, make_partial(y, p=0.9, r=1, random_state=1)


@pytest.mark.parametrize(
    ("kernel", "dtype", "cv", "scoring"),
    [
        *((kernel, float, CV, "covering_rate") for kernel in ("rbf", "laplacian", "linear")),
        *((kernel, np.float32, CV, "covering_rate") for kernel in ("rbf", "linear")),
        ("rbf", float, 4, "covering_rate"),
        ("rbf", float, CV, "approximated_accuracy"),
    ],
)
def test_scores_equal_grid_search(wine, kernel, dtype, cv, scoring):
    X, _, candidates = wine
    X = X.astype(dtype)
    ours = SURECV(GRID, GRID, kernel=kernel, gamma=0.05, cv=cv, scoring=scoring).fit(X, candidates)
    theirs = GridSearchCV(
        SUREClassifier(kernel=kernel, gamma=0.05),
        {"lam": GRID, "beta": GRID},
        cv=cv,
        scoring=SCORERS[scoring],
    ).fit(X, candidates)
    params = [dict(sorted(point.items())) for point in theirs.cv_results_["params"]]
    assert params == ours.cv_results_["params"]
    for name in ("mean_test", "std_test", "rank_test", "split0_test", "split3_test"):
        key = f"{name}_score"
        np.testing.assert_allclose(ours.cv_results_[key], theirs.cv_results_[key], atol=1e-12)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    confidence = theirs.best_estimator_.confidence_.toarray()
    np.testing.assert_array_equal(ours.confidence_.toarray(), confidence)


@pytest.mark.parametrize("dataset", ["glass", "ecoli"])
@pytest.mark.parametrize("seed", range(4))
def test_the_laplacian_must_be_clearly_better(dataset, seed):
    data = catalog.load(dataset)
    X, candidates = scale(data.X), make_partial(data.y, p=0.7, r=1, random_state=seed)
    search = SURECV(GRID, GRID, cv=CV).fit(X, candidates)
    best = {
        kernel: SURECV(GRID, GRID, kernel=kernel, cv=CV).fit(X, candidates)
        for kernel in ("rbf", "laplacian")
    }
    splits = {
        k: [s.cv_results_[f"split{f}_test_score"][s.best_index_] for f in range(4)]
        for k, s in best.items()
    }
    gain = np.subtract(splits["laplacian"], splits["rbf"])
    clearly = gain.mean() > sem(gain)
    kernel = "laplacian" if clearly else "rbf"
    assert clearly or dataset == "ecoli"
    assert search.best_params_ == best[kernel].best_params_ | {"kernel": kernel}
    assert search.best_score_ == best[kernel].best_score_
    np.testing.assert_array_equal(search.predict(X), best[kernel].predict(X))


def test_kernels_and_bandwidths(wine):
    X, y, candidates = wine
    search = SURECV(GRID, (0.1,), kernel=["rbf", "linear"], bandwidth=[0.5, 1.0], cv=CV).fit(
        X, candidates
    )
    assert len(search.cv_results_["params"]) == 12
    assert set(search.best_params_) == {"lam", "beta", "kernel", "bandwidth"}
    fixed = SUREClassifier(**search.best_params_).fit(X, candidates)
    np.testing.assert_array_equal(search.predict_proba(X), fixed.predict_proba(X))
    assert search.score(X, y) > 0.9


def test_oracle(wine):
    X, y, candidates = wine
    search = SURECV(GRID, GRID, kernel="rbf", gamma=0.05, cv=CV, scoring="oracle").fit(
        X, candidates, y_true=y
    )
    model = SUREClassifier(**search.best_params_, gamma=0.05)
    expected = np.mean(
        [
            model.fit(X[train], candidates[train]).score(X[test], y[test])
            for train, test in CV.split(X)
        ]
    )
    assert search.best_score_ == pytest.approx(expected)
    with pytest.raises(ParameterError, match="needs the true labels"):
        SURECV(GRID, GRID, scoring="oracle").fit(X, candidates)
    with pytest.raises(ParameterError, match="for scoring='oracle' only"):
        SURECV(GRID, GRID).fit(X, candidates, y_true=y)
    with pytest.raises(CandidateError, match="y_true has 3"):
        SURECV(GRID, GRID, scoring="oracle").fit(X, candidates, y_true=y[:3])


def test_precomputed(wine):
    X, _, candidates = wine
    K = X @ X.T
    ours = SURECV(GRID, GRID, kernel="precomputed", cv=CV).fit(K, candidates)
    linear = SURECV(GRID, GRID, kernel="linear", cv=CV).fit(X, candidates)
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], linear.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(ours.predict(K), linear.predict(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lams": [-1]}, "lam"),
        ({"betas": [0, 1]}, "beta"),
        ({"betas": []}, "values of beta is empty"),
        ({"kernel": ["rbf", "rfb"]}, "kernel"),
        ({"bandwidth": [1, -1]}, "bandwidth"),
        ({"kernel": []}, "values of kernel is empty"),
        ({"kernel": ["precomputed", "rbf"]}, "cannot be searched beside others"),
        ({"lams": ["a"]}, "lam"),
        ({"scoring": "accuracy"}, "scoring"),
    ],
)
def test_bad_parameters(wine, options, message):
    X, _, candidates = wine
    with pytest.raises(ParameterError, match=message):
        SURECV(**options).fit(X, candidates)


def test_folds_given_as_lists_and_masks(wine):
    X, _, candidates = wine
    folds = list(CV.split(X))
    by_splitter = SURECV(GRID, GRID, kernel="rbf", gamma=0.05, cv=CV).fit(X, candidates)
    masks = [tuple(np.isin(np.arange(len(X)), rows) for rows in fold) for fold in folds]
    for given in (folds, [tuple(rows.tolist() for rows in fold) for fold in folds], masks):
        search = SURECV(GRID, GRID, kernel="rbf", gamma=0.05, cv=given).fit(X, candidates)
        np.testing.assert_array_equal(
            search.cv_results_["mean_test_score"], by_splitter.cv_results_["mean_test_score"]
        )


@pytest.mark.parametrize("grid", [None, {"lam": GRID, "beta": GRID}])
def test_where_only_parameters_are_wanted_no_model_is_fitted(wine, monkeypatch, grid):
    X, _, candidates = wine
    expected = SURECV(*(GRID, GRID) if grid else (), kernel="rbf" if grid else "auto", cv=CV)
    expected.fit(X, candidates)
    fits = []
    monkeypatch.setattr(SUREClassifier, "fit", lambda *given, **options: fits.append(given))
    search = METHOD.make_search(grid=grid).set_params(cv=CV).fit(X, candidates)
    assert fits == []
    assert search.best_params_ == expected.best_params_
    assert search.best_score_ == expected.best_score_
    assert not hasattr(search, "best_estimator_")


def test_true_labels_of_another_kind_are_refused(wine):
    X, y, candidates = wine
    with pytest.raises(CandidateError, match="use one type for both"):
        SURECV(GRID, GRID, scoring="oracle").fit(X, candidates, y_true=y.astype(str))
    with pytest.raises(CandidateError, match="unknown class"):
        SURECV(GRID, GRID, scoring="oracle").fit(X, candidates, y_true=y + 7)


def test_default_folds_of_a_table_sorted_by_label_are_shuffled(wine):
    X, y, candidates = wine
    order = np.argsort(y, kind="stable")
    search = SURECV(GRID, GRID, kernel="rbf").fit(X[order], candidates[order])
    assert search.best_score_ > 0.9  # folds of one class each: none would be right
    in_order = SURECV(GRID, GRID, kernel="rbf", cv=3).fit(X[order], candidates[order])
    assert in_order.best_score_ < 0.7
