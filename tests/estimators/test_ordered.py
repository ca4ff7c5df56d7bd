"""``ordered``: smoothing is exact, needs no number by hand, and changes nothing where it is off."""

import numpy as np
import pytest
from sklearn.base import clone

from surelabel import (
    SURECV,
    CandidateSets,
    CrowdClassifier,
    PUREClassifier,
    SUREClassifier,
    as_candidates,
    load_model,
    save_model,
)
from surelabel.exceptions import ParameterError
from tests.reference.ordered import smoothing
from tests.reference.pure import refitted_without


def ages(m=140, l=12, seed=0):
    """Instances on a line, whose ages are mistaken for others that are near."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, l, m)
    X = np.column_stack([y + rng.normal(0, 1.5, m), rng.normal(size=(m, 3))])
    Y = np.zeros((m, l), bool)
    Y[np.arange(m), y] = True
    for _ in range(3):
        Y[np.arange(m), np.clip(y + rng.integers(-4, 5, m), 0, l - 1)] = True
    return X, CandidateSets.from_indicator(Y, classes=np.arange(l)), y


MODELS = {
    "SURE": SUREClassifier(),
    "SURE linear": SUREClassifier(kernel="linear"),
    "SURE landmarks": SUREClassifier(solver="nystroem", n_components=40),
    "SURECV": SURECV(lams=(0.1, 0.3), betas=(0.1,), kernel="rbf"),
    "PURE": PUREClassifier(),
    "PURE rbf": PUREClassifier(kernel="rbf"),
    "PURE linear": PUREClassifier(kernel="linear"),
    "PURE landmarks": PUREClassifier(solver="nystroem", n_components=40),
}


@pytest.fixture
def wide(monkeypatch):
    """A width that is not 0, whatever the candidates say."""
    monkeypatch.setattr("surelabel.estimators.kernel.choose_width", lambda *_: (1.5, 7.0))


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_those_without_the_order_times_G(name):
    X, S, _ = ages()
    plain = clone(MODELS[name]).fit(X, S)
    ordered = clone(MODELS[name]).set_params(ordered=True).fit(X, S)
    G = smoothing(np.arange(12.0), 1.5)
    np.testing.assert_allclose(
        ordered.decision_function(X), plain.decision_function(X) @ G, atol=1e-8
    )
    proba = ordered.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (ordered.predict(X) == ordered.classes_[proba.argmax(axis=1)]).all()
    np.testing.assert_allclose(ordered.confidence_.sum(axis=1), 1)
    assert S.contains(ordered.transduction_).all()


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("name", ["PURE", "PURE rbf", "PURE linear", "PURE landmarks"])
def test_leave_one_out_of_the_fitted_model_is_smoothed(name):
    X, S, _ = ages()
    weight = np.ones(len(X))
    weight[::7] = 0
    plain = clone(MODELS[name]).fit(X, S, weight)
    ordered = clone(MODELS[name]).set_params(ordered=True).fit(X, S, weight)
    G = smoothing(np.arange(12.0), ordered.width_)
    np.testing.assert_allclose(ordered.leave_one_out(X), plain.leave_one_out(X) @ G, atol=1e-8)
    if hasattr(plain, "loo_decision_"):
        np.testing.assert_allclose(ordered.loo_decision_, ordered.leave_one_out(X), atol=1e-7)
    even = ordered.at_even_shares()
    wanted = plain.at_even_shares().leave_one_out(X) @ G
    np.testing.assert_allclose(even.leave_one_out(X), wanted, atol=1e-8)


def test_left_out_outputs_are_those_of_models_fitted_again():
    X, S, _ = ages(40, 6)
    model = SUREClassifier(kernel="rbf", gamma=0.1, beta=0.2, max_iter=1, ordered=True)
    with pytest.warns(UserWarning, match="stopped after"):
        model.fit(X, S)
    K = np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2))
    P = S.to_indicator().astype(float)  # the paper's start, which the first model is fitted to
    wanted = refitted_without(K, P, 0.2, np.ones(len(X)))
    G = smoothing(np.arange(6.0), model.width_)
    np.testing.assert_allclose(model.loo_decision_, wanted @ G, atol=1e-7)


@pytest.mark.parametrize("model", [SUREClassifier(), PUREClassifier(), SURECV((0.1,), (0.1,))])
@pytest.mark.parametrize("l", [1, 2])
def test_one_class_or_two_have_no_order(model, l):
    X, S, y = ages(60, 4)
    Y = np.zeros((60, l), bool)
    Y[np.arange(60), np.minimum(y // 2, l - 1)] = True
    Y[:10] = True
    S = CandidateSets.from_indicator(Y, classes=np.arange(l))
    if l == 1:
        with pytest.raises(ValueError, match="only one class"):
            clone(model).set_params(ordered=True).fit(X, S)
        return
    plain, ordered = clone(model).fit(X, S), clone(model).set_params(ordered=True).fit(X, S)
    assert (plain.predict_proba(X) == ordered.predict_proba(X)).all()
    assert (plain.confidence_ != ordered.confidence_).nnz == 0


@pytest.mark.usefixtures("wide")
def test_numbers_use_their_distances_and_words_their_places():
    X, S, _ = ages(140, 6)
    by_rank = PUREClassifier(ordered=True).fit(X, S)
    far = CandidateSets(S.indptr, S.indices, np.array([0, 1, 2, 3, 40, 41]))
    by_number = PUREClassifier(ordered=True).fit(X, far)
    assert not np.allclose(by_number.predict_proba(X), by_rank.predict_proba(X))
    words = np.array(["a", "b", "c", "d", "e", "f"])
    named = CandidateSets(S.indptr, S.indices, words)
    by_word = PUREClassifier(ordered=list("abcdef")).fit(X, named)
    np.testing.assert_array_equal(by_word.predict_proba(X), by_rank.predict_proba(X))
    text = CandidateSets(S.indptr, S.indices, np.array(["0", "1", "2", "3", "4", "5"]))
    as_text = PUREClassifier(ordered=True).fit(X, text)
    np.testing.assert_array_equal(as_text.predict_proba(X), by_rank.predict_proba(X))


@pytest.mark.parametrize("ordered", [True, ["a", "b"], ["a", "b", "c", "c"]])
def test_an_order_that_is_none_is_refused(ordered):
    S = as_candidates([["a", "b"], ["b"], ["c"], ["a"]])
    with pytest.raises(ParameterError, match="order"):
        PUREClassifier(kernel="rbf", ordered=ordered).fit(np.eye(4), S)


def test_absolute_loss_takes_the_median():
    X, S, y = ages()
    model = PUREClassifier(ordered=True).fit(X, S)
    reached = model.predict_proba(X).cumsum(axis=1)
    median = (reached >= 0.5 - 1e-12).argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X, loss="absolute"), median)
    error = {loss: np.abs(model.predict(X, loss) - y).mean() for loss in ("zero_one", "absolute")}
    assert error["absolute"] <= error["zero_one"]
    with pytest.raises(ParameterError, match="ordered"):
        PUREClassifier(kernel="rbf").fit(X, S).predict(X, loss="absolute")
    with pytest.raises(ParameterError, match="squared"):
        model.predict(X, loss="squared")


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("name", ["SURE", "SURE landmarks", "SURECV", "PURE", "PURE rbf"])
def test_model_files_keep_the_order(name, tmp_path):
    X, S, _ = ages()
    model = clone(MODELS[name]).set_params(ordered=True).fit(X, S)
    save_model(model, tmp_path / "m.surelabel")
    again = load_model(tmp_path / "m.surelabel")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X, "absolute"), model.predict(X, "absolute"))


def test_another_fit_forgets_the_order():
    X, S, _ = ages()
    model = SUREClassifier(ordered=True).fit(X, S)
    assert model.width_ > 0  # chosen by the candidates
    model.set_params(ordered=False).fit(X, S)
    wanted = SUREClassifier().fit(X, S)
    assert (model.predict_proba(X) == wanted.predict_proba(X)).all()
    assert not hasattr(model, "width_")


def test_the_order_of_votes_serves_labels_and_predictions(tmp_path):
    X, _, y = ages(200)
    votes = np.clip(y[:, None] + np.random.default_rng(0).integers(-2, 3, (200, 3)), 0, 11)
    S = CandidateSets.from_votes(votes, classes=np.arange(12))
    plain, ordered = CrowdClassifier().fit(X, S), CrowdClassifier(ordered=True).fit(X, S)
    away = [np.mean(np.abs(model.transduction_ - y)) for model in (plain, ordered)]
    assert away[1] < away[0]
    median = (ordered.predict_proba(X).cumsum(axis=1) >= 0.5 - 1e-12).argmax(axis=1)
    np.testing.assert_array_equal(ordered.predict(X, loss="absolute"), median)
    save_model(ordered, tmp_path / "m.surelabel")
    again = load_model(tmp_path / "m.surelabel")
    np.testing.assert_array_equal(again.predict(X, "absolute"), median)
    with pytest.raises(ParameterError, match="ordered must name every class"):
        CrowdClassifier(ordered=range(11)).fit(X, S)
