"""What PURE does beyond the checks that every method passes."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from surelabel import CandidateSets, PUREClassifier, SUREClassifier, make_partial
from surelabel.estimators import _kernel_bank
from surelabel.exceptions import CandidateError, InputError, ParameterError
from tests.reference.pure import literal_pure


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, make_partial(y, p=0.8, r=1, random_state=0)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:400]
    return X[rows], y[rows], make_partial(y[rows], p=0.7, r=3, random_state=0)


@pytest.fixture(scope="module")
def images():
    """Pictures of three rows, each with the labels of all three as candidates."""
    rng = np.random.default_rng(0)
    y = rng.choice(6, 450, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1])
    X = np.eye(6)[y] * 1.5 + rng.standard_normal((450, 6))
    groups = np.arange(450) // 3
    sets = [sorted(set(y[groups == group])) for group in groups]
    return X, y, CandidateSets.from_lists(sets, classes=range(6)), groups


def test_one_kernel_is_the_literal_method(iris):
    X, _, candidates = iris
    X = X[::3]
    model = PUREClassifier(0.1, kernel="rbf", gamma=0.5, max_iter=3, tol=0)
    model.fit(X, candidates[::3])
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    P, shift, left_out = literal_pure(K, candidates[::3].to_indicator(), 0.1, 3)
    np.testing.assert_allclose(model.confidence_.toarray(), P, atol=1e-8)
    np.testing.assert_allclose(model.loo_decision_, left_out, atol=1e-8)
    assert model.prior_shift_ == shift


def test_left_out_outputs_equal_a_refit(iris):
    """``loo_decision_`` of a row is what the model on the other rows, with their confidences, says.

    With one candidate per row there is nothing to retrain, and a plain fit of the others says it.
    """
    X, y, _ = iris
    model = PUREClassifier(kernel="rbf", gamma=0.3).fit(X, y)
    others = np.arange(150) != 60
    refit = PUREClassifier(kernel="rbf", gamma=0.3).fit(X[others], y[others])
    np.testing.assert_allclose(model.loo_decision_[60], refit.decision_function(X[60:61])[0])
    np.testing.assert_allclose(model.leave_one_out(X), model.loo_decision_, atol=1e-10)


@pytest.mark.parametrize("kernel", ["rbf", "auto"])
def test_left_out_outputs_with_rows_of_weight_0(iris, kernel):
    X, _, candidates = iris
    weight = np.random.default_rng(0).integers(0, 3, 150).astype(float)
    model = PUREClassifier(kernel=kernel).fit(X, candidates, sample_weight=weight)
    assert len(model.support_) < 150
    np.testing.assert_allclose(model.leave_one_out(X), model.loo_decision_, atol=1e-10)


@pytest.mark.parametrize("solver", ["auto", "nystroem"])
def test_left_out_outputs_without_a_step(iris, solver):
    """The model stays at even shares; its confidences are one step further."""
    X, _, candidates = iris
    parameters = {"kernel": "rbf", "gamma": 0.3, "n_components": 150}
    exact = PUREClassifier(max_iter=0, **parameters).fit(X, candidates)
    model = PUREClassifier(max_iter=0, solver=solver, **parameters).fit(X, candidates)
    np.testing.assert_allclose(model.leave_one_out(X), exact.loo_decision_, atol=1e-4)
    np.testing.assert_allclose(model.scale_, exact.scale_, rtol=1e-2)


def test_equal_rows_are_left_out_together(iris):
    X, y, _ = iris
    twins = np.array([0, 60, 60, 140])
    X, y = np.concatenate([X, X[twins]]), np.concatenate([y, [1, 0, 2, 2]])
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    model = PUREClassifier(kernel="rbf", gamma=0.3).fit(X, y, sample_weight=weight)
    for row in (0, 60, 140, 5):
        others = np.any(X[row] != X, axis=1)
        refit = PUREClassifier(kernel="rbf", gamma=0.3)
        refit.fit(X[others], y[others], sample_weight=weight[others])
        for twin in np.flatnonzero(~others):
            expected = refit.decision_function(X[[row]])[0]
            np.testing.assert_allclose(model.loo_decision_[twin], expected, atol=1e-10)
    np.testing.assert_allclose(model.leave_one_out(X), model.loo_decision_, atol=1e-10)


ONE_OF_MANY = [
    {"kernel": "rbf"},
    {"kernel": "laplacian", "prior_shift": 0.5},
    {"kernel": "linear"},
    {"kernel": "auto"},
    {"kernel": "rbf", "max_iter": 0},
]


@pytest.mark.parametrize("options", ONE_OF_MANY, ids=str)
def test_a_weight_is_a_row_several_times(images, options):
    X, _, candidates, _ = images
    X, candidates = X[:120], candidates[:120]
    weight = np.random.default_rng(0).integers(0, 4, 120)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(120), weight))
    weighted = PUREClassifier(**options).fit(X, candidates, sample_weight=weight)
    repeated = PUREClassifier(**options).fit(X[rows], candidates[rows])
    assert repeated.prior_shift_ == weighted.prior_shift_
    assert [k["kernel"] for k in repeated.kernels_] == [k["kernel"] for k in weighted.kernels_]
    P = weighted.confidence_.toarray()[rows]
    np.testing.assert_allclose(repeated.confidence_.toarray(), P, atol=1e-6)
    np.testing.assert_allclose(repeated.predict_proba(X), weighted.predict_proba(X), atol=1e-6)
    left_out = weighted.leave_one_out(X)[rows]
    np.testing.assert_allclose(repeated.leave_one_out(X[rows]), left_out, atol=1e-6)


@pytest.mark.parametrize("options", ONE_OF_MANY[:-1], ids=str)
def test_a_copy_does_not_confirm_a_row(options):
    """Copies of a row with another's label and candidates: where they agreed with each other, they
    were believed.
    """
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = np.where(y == 0, -2.0, 2.0)[:, None] + rng.standard_normal((120, 2))
    sets = [[label] for label in y]
    for _ in range(4):
        X, sets = np.concatenate([X, X[:1]]), [*sets, [1, 2]]
    sets[0] = [1, 2]
    model = PUREClassifier(**options).fit(X, CandidateSets.from_lists(sets, classes=[0, 1, 2]))
    left_out = model.leave_one_out(X)
    assert np.all(left_out[[0, *range(120, 124)]].argmax(axis=1) == 0)


def test_equal_rows_out_of_core(tmp_path, digits):
    """They are found wherever they are, also in sparse rows and kernel matrices."""
    X, _, candidates = digits
    X = X.copy()
    X[[3, 200, 399]] = X[[390, 7, 7]]
    np.save(tmp_path / "X.npy", X)
    options = {"kernel": "rbf", "solver": "nystroem", "n_components": 100}
    inside = PUREClassifier(**options).fit(X, candidates)
    outside = PUREClassifier(**options).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), candidates)
    np.testing.assert_allclose(outside.confidence_.data, inside.confidence_.data, atol=1e-10)
    left_out = inside.leave_one_out(X)
    np.testing.assert_array_equal(left_out[[3, 200]], left_out[[390, 7]])
    linear = [
        PUREClassifier(**given).fit(rows, candidates).loo_decision_
        for given, rows in (
            ({"kernel": "linear", "solver": "primal"}, X),
            ({"kernel": "linear", "solver": "primal"}, sparse.csr_array(X)),
            ({"kernel": "precomputed"}, X @ X.T),
        )
    ]
    np.testing.assert_allclose(linear[1], linear[0], atol=1e-6)
    np.testing.assert_allclose(linear[2], linear[0], atol=1e-4)


def test_bank(digits):
    X, y, candidates = digits
    model = PUREClassifier(n_jobs=1).fit(X[:300], candidates[:300])
    assert 1 <= len(model.kernels_) == len(model.members_) == len(model.scalings_) <= 3
    assert model.kernels_[0]["criterion"] == max(k["criterion"] for k in model.kernels_)
    assert not model.guarded_
    np.testing.assert_allclose(model.confidence_.sum(axis=1), 1)
    np.testing.assert_allclose(model.leave_one_out(X[:300]), model.loo_decision_, atol=1e-10)
    outputs = [
        member.decision_function(model._rescaled(X[300:], k))
        for k, member in enumerate(model.members_)
    ]
    np.testing.assert_allclose(model.decision_function(X[300:]), np.mean(outputs, axis=0))
    assert model.score(X[300:], y[300:]) > 0.9


@pytest.mark.parametrize("guarded", [False, True])
def test_a_refit_keeps_the_kernels(monkeypatch, digits, guarded):
    """The same candidates give the same model, others are learned from without another choice."""
    X, y, candidates = digits
    monkeypatch.setattr(_kernel_bank, "EXCESS", -1.0 if guarded else 1.0)
    model = PUREClassifier().fit(X, candidates)
    monkeypatch.setattr("surelabel.estimators.pure.choose_kernels", None)
    again, sure = model.refit(X, candidates), model.refit(X, CandidateSets.from_labels(y))
    np.testing.assert_array_equal(again.loo_decision_, model.loo_decision_)
    assert again.kernels_ == sure.kernels_ == model.kernels_
    assert again.guarded_ == sure.guarded_ == model.guarded_ == guarded
    assert np.array_equal(sure.transduction_, y)
    assert not np.array_equal(model.transduction_, y)  # it stays as it is


def test_usual_kernel(monkeypatch, iris):
    """The usual kernel stays unless others are better by so many standard errors."""
    X, _, candidates = iris
    monkeypatch.setattr(_kernel_bank, "ERRORS", 1e9)
    choices, guarded = _kernel_bank.choose_kernels(
        X, candidates, None, prior=1.0, max_iter=30, tol=2e-3
    )
    assert [(c.scaling, c.kernel, c.beta) for c in choices] == [_kernel_bank.USUAL]
    assert not guarded


def test_scalings_that_do_not_differ_count_once():
    """Features of 0 and 1 are their own roots, and ranks of them are another unit."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 200)
    X = (rng.random((200, 24)) < np.where(np.arange(24) % 4 == y[:, None], 0.8, 0.2)) * 1.0
    X[:, 1] *= X[:, 0]  # a rare one, which standardising makes large
    model = PUREClassifier().fit(X, make_partial(y, p=0.8, r=1, random_state=0))
    same = [k["kernel"] for k in model.kernels_ if k["scaling"] != "standard"]
    assert len(set(same)) == len(same)


@pytest.mark.parametrize("fires", [False, True])
def test_guard(monkeypatch, iris, fires):
    """Where it fires, the model is the usual kernel on all candidates alike."""
    X, y, candidates = iris
    monkeypatch.setattr(_kernel_bank, "EXCESS", -1.0 if fires else 1.0)
    model = PUREClassifier().fit(X, candidates)
    assert model.guarded_ == fires
    if fires:
        scaled = StandardScaler().fit_transform(X)
        alone = SUREClassifier(beta=0.1, init="uniform", max_iter=1, tol=1).fit(scaled, candidates)
        np.testing.assert_allclose(
            model.decision_function(X), alone.decision_function(scaled), atol=1e-8
        )
    assert np.mean(model.transduction_ == y) > 0.9


def test_guard_on_runs():
    """Sets that are runs of neighbouring labels: peers may confirm each other."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 40, 250)
    X = np.column_stack([y / 10, rng.standard_normal((250, 3))]) + rng.standard_normal((250, 4))
    sets = [list(range(max(0, a - 4), min(40, a + 5))) for a in y + rng.integers(-3, 4, 250)]
    model = PUREClassifier().fit(X, CandidateSets.from_lists(sets, classes=range(40)))
    if model.guarded_:
        (kernel,) = model.kernels_
        assert (kernel["scaling"], kernel["kernel"], kernel["beta"]) == _kernel_bank.USUAL
        assert model.members_[0].max_iter == 0
    uniform = PUREClassifier(kernel="rbf", max_iter=0).fit(X, sets)
    assert len(np.unique(uniform.transduction_)) > 10


def test_groups(images):
    """Every label of a picture belongs to one of its rows, and to know that helps."""
    X, y, candidates, groups = images
    plain = PUREClassifier(kernel="rbf").fit(X, candidates)
    told = PUREClassifier(kernel="rbf").fit(X, candidates, groups=groups)
    names = np.array([f"picture {group}" for group in groups])
    assert np.mean(told.transduction_ == y) > np.mean(plain.transduction_ == y) + 0.02
    named = PUREClassifier(kernel="rbf").fit(X, candidates, groups=names)
    np.testing.assert_allclose(named.confidence_.data, told.confidence_.data)
    found = PUREClassifier(kernel="rbf", same_set_groups=True).fit(X, candidates)
    assert np.mean(found.transduction_ == y) >= np.mean(plain.transduction_ == y)
    assert plain.prior_shift_ > 0.5
    with pytest.raises(InputError, match="groups has shape"):
        PUREClassifier(kernel="rbf").fit(X, candidates, groups=groups[:10])
    with pytest.raises(ParameterError, match="groups need an exact solver"):
        PUREClassifier(kernel="rbf", solver="nystroem").fit(X, candidates, groups=groups)


def test_groups_are_routed(images):
    X, _, candidates, groups = images
    with config_context(enable_metadata_routing=True):
        model = make_pipeline(
            StandardScaler(), PUREClassifier(kernel="rbf").set_fit_request(groups=True)
        )
        scores = cross_validate(
            model, X, candidates, params={"groups": groups}, cv=2, return_estimator=True
        )
    assert scores["test_score"].mean() > 0.5


def test_weights_of_zero_and_groups(images):
    X, _, candidates, groups = images
    used = np.arange(len(X)) % 5 > 0
    weighted = PUREClassifier(kernel="rbf", gamma=0.2)
    weighted.fit(X, candidates, sample_weight=used.astype(float), groups=groups)
    alone = PUREClassifier(kernel="rbf", gamma=0.2).fit(
        X[used], candidates[used], groups=groups[used]
    )
    np.testing.assert_allclose(weighted.loo_decision_[used], alone.loo_decision_, atol=1e-8)
    np.testing.assert_allclose(
        weighted.loo_decision_[~used], alone.decision_function(X[~used]), atol=1e-8
    )


def test_votes(iris):
    """Votes say which candidate is more likely; even ones say nothing."""
    X, y, candidates = iris
    counts = candidates.to_indicator() + 3 * np.eye(3, dtype=int)[y]
    voted = CandidateSets.from_counts(counts)
    plain = PUREClassifier(kernel="rbf").fit(X, candidates)
    with_votes = PUREClassifier(kernel="rbf").fit(X, voted)
    none = PUREClassifier(kernel="rbf", prior=0).fit(X, voted)
    right = np.arange(150), y
    mean = with_votes.confidence_.toarray()[right].mean()
    assert mean > plain.confidence_.toarray()[right].mean()
    np.testing.assert_allclose(none.confidence_.data, plain.confidence_.data)


@pytest.mark.parametrize("kernel", ["auto", "rbf"])
def test_out_of_core(tmp_path, digits, kernel):
    X, y, candidates = digits
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    options = {"kernel": kernel, "solver": "nystroem", "n_components": 150}
    model = PUREClassifier(**options).fit(mapped, candidates)
    assert np.mean(model.transduction_ == y) > 0.95
    assert not hasattr(model, "loo_decision_")
    in_memory = PUREClassifier(**options).fit(X, candidates)
    if kernel == "rbf":
        np.testing.assert_allclose(model.confidence_.data, in_memory.confidence_.data, atol=1e-10)
    assert np.mean(model.leave_one_out(mapped).argmax(axis=1) == y) > 0.9
    one = PUREClassifier(**options, n_jobs=1).fit(mapped, candidates)
    np.testing.assert_array_equal(one.confidence_.data, model.confidence_.data)


def test_refit_without_left_out_outputs(digits):
    X, _, candidates = digits
    model = PUREClassifier(kernel="rbf").fit(X, candidates)
    assert hasattr(model, "loo_decision_")
    model.set_params(solver="nystroem", n_components=50).fit(X, candidates)
    assert not hasattr(model, "loo_decision_")
    with pytest.raises(InputError, match="pass the training rows"):
        model.leave_one_out(X[:5])


def test_probabilities_are_calibrated(digits):
    """The scale is the one for which outputs without the row make the candidates most likely."""
    X, _, candidates = digits
    model = PUREClassifier(kernel="rbf").fit(X, candidates)
    inside = candidates.to_indicator().astype(bool)

    def likelihood(scale):
        share = np.exp(scale * model.loo_decision_)
        return np.log((share * inside).sum(axis=1) / share.sum(axis=1)).mean()

    assert likelihood(model.scale_) > max(
        likelihood(0.5 * model.scale_), likelihood(2 * model.scale_)
    )


def test_verbose_and_callback(capsys, iris):
    X, _, candidates = iris
    seen = []
    model = PUREClassifier(kernel="rbf", verbose=1, callback=lambda step: seen.append(step) or True)
    model.fit(X, candidates)
    assert len(seen) == model.n_iter_ == 1
    PUREClassifier(verbose=1).fit(X, candidates)
    printed = capsys.readouterr().out
    assert "iteration 1: change" in printed
    assert "kernels: " in printed


def test_better_than_sure_where_false_candidates_are_the_frequent_ones(images):
    X, y, candidates, _ = images
    ours = PUREClassifier(kernel="rbf").fit(X[:300], candidates[:300]).score(X[300:], y[300:])
    sure = SUREClassifier().fit(X[:300], candidates[:300]).score(X[300:], y[300:])
    assert ours > sure


@pytest.mark.parametrize("kernel", ["rbf", "auto"])
def test_soft_labels_for_every_class(iris, kernel):
    """Probabilities for every class are votes; without them nothing could be learned."""
    X, y, _ = iris
    soft = np.random.default_rng(0).dirichlet(np.ones(3), len(y)) + 0.7 * np.eye(3)[y]
    candidates = CandidateSets.from_counts(soft, classes=[0, 1, 2])
    assert np.all(candidates.sizes == 3)
    model = PUREClassifier(kernel=kernel).fit(X, candidates)
    assert np.mean(model.transduction_ == y) > np.mean(soft.argmax(axis=1) == y)
    with pytest.raises(CandidateError, match="nothing to learn from"):
        PUREClassifier(kernel=kernel, prior=0).fit(X, candidates)


def test_rare_classes_do_not_decide_how_false_candidates_arise():
    """A class that loses all its rows has outputs of 0.001 at least, which are large beside a share
    of 0: g was 1 for it on every data set with rare classes.
    """
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.integers(0, 3, 240), [3, 3, 4, 4]])
    X = rng.standard_normal((5, 6))[y] * 1.5 + rng.standard_normal((len(y), 6))
    candidates = make_partial(y, p=0.7, r=2, random_state=0)
    model = PUREClassifier(kernel="rbf").fit(X, candidates)
    assert model.prior_shift_ == 0


def test_known_shift(images):
    """``prior_shift`` is taken as given, by one kernel, by low rank and by all of the bank."""
    X, _, candidates, _ = images
    X, candidates = X[:150], candidates[:150]
    exact = PUREClassifier(kernel="rbf", prior_shift=0.35)
    low_rank = PUREClassifier(kernel="rbf", solver="nystroem", n_components=50, prior_shift=0.35)
    for model in (exact, low_rank, PUREClassifier(prior_shift=0.35)):
        assert model.fit(X, candidates).prior_shift_ == pytest.approx(0.35)
