import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from surelabel import CandidateSets, CrowdClassifier, load_model, save_model
from surelabel.estimators import _feature_models
from surelabel.estimators._feature_models import KernelPeers, left_out
from surelabel.exceptions import CandidateError, InputError, ParameterError
from surelabel.solvers.dawid_skene import majority
from surelabel.solvers.kernels import kernel_matrix
from tests.reference.pure import refitted_without
from tests.solvers.test_crowds import draw_votes


@parametrize_with_checks([CrowdClassifier()])
def test_scikit_learn(estimator, check):
    check(estimator)


def crowd(y, *columns):
    """Columns of votes as candidate sets; -1 is a missing vote."""
    votes = np.column_stack(columns)
    classes = np.arange(y.max() + 1)
    return CandidateSets.from_votes(
        np.where(votes < 0, None, votes), classes=classes, unlabelled="all"
    )


@pytest.fixture(scope="module")
def digits():
    """Three annotators of 70 to 80 %, one who always says 3, one at random."""
    X, y = (part[:500] for part in load_digits(return_X_y=True))
    rng = np.random.default_rng(0)
    votes = draw_votes(y, [0.7, 0.75, 0.8], 10, rng)
    return X, y, crowd(y, votes, np.full(500, 3), rng.integers(0, 10, 500))


@pytest.fixture(scope="module")
def fitted(digits):
    X, _, sets = digits
    return CrowdClassifier().fit(X, sets)


def test_spammers_are_found_and_do_no_harm(digits, fitted):
    X, y, sets = digits
    assert np.mean(majority(sets.votes, 10).argmax(axis=1) == y) < 0.88
    assert np.mean(fitted.transduction_ == y) >= 0.95
    assert [annotator.kind for annotator in fitted.annotators_] == [
        "usual",
        "usual",
        "usual",
        "constant",
        "random",
    ]
    assert fitted.annotators_[3].remark == "always says 3"
    for annotator, vote in zip(fitted.annotators_, sets.votes.T, strict=True):
        assert annotator.interval[0] <= np.mean(vote == y) <= annotator.interval[1]
        assert annotator.n_votes == 500
        assert not annotator.copies
    assert np.mean(fitted.predict(X) == y) >= 0.95


def test_probabilities(digits, fitted):
    X, _, _ = digits
    for proba in (fitted.predict_proba(X), fitted.loo_proba_, fitted.confidence_.toarray()):
        np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.array_equal(fitted.predict_proba(X).argmax(axis=1), fitted.predict(X))


def test_the_same_answer_again(digits, fitted):
    X, _, sets = digits
    again = pickle.loads(pickle.dumps(CrowdClassifier().fit(X, sets)))
    assert np.array_equal(again.confidence_.toarray(), fitted.confidence_.toarray())
    assert np.array_equal(again.predict_proba(X[:9]), fitted.predict_proba(X[:9]))


def test_votes_alone(digits):
    _, y, sets = digits
    alone = CrowdClassifier().fit(None, sets)
    assert np.mean(alone.transduction_ == y) > 0.87
    assert alone.n_features_in_ == 0
    with pytest.raises(InputError, match="votes alone"):
        alone.predict(np.ones((3, 2)))


@pytest.mark.parametrize("seed", range(3))
def test_labels_may_leave_the_votes(seed):
    """One label per row, a third of them wrong."""
    X, y = (part[:500] for part in load_digits(return_X_y=True))
    votes = draw_votes(y, [0.67], 10, np.random.default_rng(seed))
    model = CrowdClassifier().fit(X, crowd(y, votes))
    assert np.mean(model.transduction_ == y) > 0.9 > 0.75 > np.mean(votes[:, 0] == y)


def test_liars_count_against_what_they_say():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    swapped = np.array([1, 0, 2])[y]
    good = draw_votes(y, [0.7, 0.7, 0.7, 0.0], 3, rng)
    model = CrowdClassifier().fit(X, crowd(y, good, swapped))
    assert np.mean(model.transduction_ == y) > 0.95
    liar, inverter = model.annotators_[3:]
    assert liar.kind == "wrong"
    assert np.all(inverter.confusion[[0, 1, 2], [1, 0, 2]] > 0.5)


def test_two_liars_among_six_of_two_classes():
    # Taken for each other, the two classes would make the votes as likely.
    X, y = make_blobs(300, centers=2, cluster_std=2.5, random_state=1)
    votes = draw_votes(y, [0.75, 0.75, 0.75, 0.75, 0.05, 0.1], 2, np.random.default_rng(0))
    model = CrowdClassifier().fit(X, crowd(y, votes))
    assert np.mean(model.transduction_ == y) > 0.95
    assert np.mean(majority(votes, 2).argmax(axis=1) == y) < 0.8
    assert [annotator.kind for annotator in model.annotators_[4:]] == ["wrong", "wrong"]


def test_copies_are_named():
    X, y = load_iris(return_X_y=True)
    votes = draw_votes(y, [0.7, 0.7, 0.7, 0.6], 3, np.random.default_rng(0))
    model = CrowdClassifier().fit(X, crowd(y, votes, votes[:, 3], votes[:, 3]))
    assert np.mean(model.transduction_ == y) > 0.9
    assert [bool(annotator.copies) for annotator in model.annotators_] == [False] * 3 + [True] * 3
    assert model.annotators_[3].copies == ("annotator 5", "annotator 6")


def test_missing_votes_and_rows_without_any():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    votes = draw_votes(y, [0.8, 0.8, 0.7, 0.7], 3, rng)
    votes[rng.random(votes.shape) < 0.6] = -1
    votes[:10] = -1
    model = CrowdClassifier().fit(X, crowd(y, votes, np.full(150, -1)))
    assert np.mean(model.transduction_ == y) > 0.93
    assert np.mean(model.transduction_[:10] == y[:10]) > 0.8
    assert model.annotators_[4].n_votes == 0
    assert model.annotators_[4].kind == "usual"


def test_known_labels():
    X, y = (part[:300] for part in load_digits(return_X_y=True))
    votes = draw_votes(y, [0.3, 0.3, 0.4], 10, np.random.default_rng(0))
    known = [y[i] if i % 5 == 0 else None for i in range(300)]
    model = CrowdClassifier().fit(X, crowd(y, votes), known=known)
    assert np.array_equal(model.transduction_[::5], y[::5])
    assert np.mean(model.transduction_ == y) > 0.9
    alone = CrowdClassifier().fit(X, crowd(y, votes))
    assert np.mean(model.transduction_ == y) > np.mean(alone.transduction_ == y)
    assert model.blind_proba_.max() < 1, "a row's own label must not be seen"
    mistaken = CrowdClassifier().fit(X, crowd(y, votes), known=[(y[0] + 1) % 10, *known[1:]])
    assert mistaken.transduction_[0] == (y[0] + 1) % 10
    assert mistaken.blind_proba_[0].argmax() == y[0]
    with pytest.raises(InputError, match="3 labels, but there are 300 rows"):
        CrowdClassifier().fit(X, crowd(y, votes), known=known[:3])


@pytest.mark.parametrize(
    "estimator", [RandomForestClassifier(20, random_state=0), KNeighborsClassifier()]
)
def test_other_models_of_the_features(estimator):
    X, y = load_iris(return_X_y=True)
    votes = draw_votes(y, [0.7, 0.7, 0.4], 3, np.random.default_rng(0))
    model = CrowdClassifier(estimator).fit(X, crowd(y, votes))
    assert np.mean(model.transduction_ == y) > 0.9
    assert np.mean(model.predict(X) == y) > 0.9


def test_cross_validation_carries_the_votes():
    order = np.random.default_rng(0).permutation(150)
    X, y = (part[order] for part in load_iris(return_X_y=True))
    sets = crowd(y, draw_votes(y, [0.8, 0.8, 0.7], 3, np.random.default_rng(0)))
    scores = cross_validate(CrowdClassifier(), X, sets, cv=3, error_score="raise")
    assert scores["test_score"].min() > 0.8


def test_many_rows_by_landmarks():
    X, y = make_blobs(3300, centers=4, cluster_std=1, random_state=0)
    votes = draw_votes(y, [0.6, 0.5], 4, np.random.default_rng(0))
    model = CrowdClassifier().fit(X, crowd(y, votes))
    assert len(model.kernels_) == 2
    assert len(model.points_[0]) == 500
    # The kernel model on the truth itself is right on as many.
    assert np.mean(model.predict(X) == y) > 0.88


@pytest.mark.parametrize("exact_rows", [30, 29])
def test_outputs_are_those_of_a_refit_without_the_row(monkeypatch, exact_rows):
    """Also with landmarks, where they are all rows."""
    monkeypatch.setattr(_feature_models, "EXACT_ROWS", exact_rows)
    rng = np.random.default_rng(0)
    X, P = rng.normal(size=(30, 3)), rng.dirichlet(np.ones(4), 30)
    model = KernelPeers(X, rng)
    assert (model.kernels[0]["scaling"], model.kernels[0]["kernel"]) == ("none", "rbf")
    K = kernel_matrix("rbf", X, gamma=model.kernels[0]["gamma"])
    without = left_out(model._hats[0], P, np.arange(30))
    np.testing.assert_allclose(without, refitted_without(K, P, 0.1, np.ones(30)), atol=1e-6)
    A, b = model._hats[0].coefficients(P)
    inside = kernel_matrix("rbf", X, model.points[0], gamma=model.kernels[0]["gamma"]) @ A + b
    leverage = (inside - without) / (P - without)
    np.testing.assert_allclose(leverage, leverage[:, :1] * np.ones(4), atol=1e-4)


def test_sets_without_annotators_are_refused():
    with pytest.raises(CandidateError, match="from_votes"):
        CrowdClassifier().fit(np.eye(2), [{"a", "b"}, {"a"}])
    with pytest.raises(CandidateError, match="there are no votes"):
        CrowdClassifier().fit(
            np.eye(2),
            CandidateSets.from_votes([["", ""]] * 2, classes=["a", "b"], unlabelled="all"),
        )
    with pytest.raises(CandidateError, match="only one class"):
        CrowdClassifier().fit(np.eye(2), CandidateSets.from_votes([["a"], ["a"]]))
    with pytest.raises(CandidateError, match="X has 3 rows but y has 2"):
        CrowdClassifier().fit(np.eye(3), CandidateSets.from_votes([["a"], ["b"]]))


def test_rows_given_several_times_do_not_confirm_themselves():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(5)
    votes = np.column_stack(
        [np.where(rng.random(150) < a, y, rng.integers(0, 3, 150)) for a in (0.7, 0.6, 0.5)]
    )
    once = CrowdClassifier().fit(X, CandidateSets.from_votes(votes))
    thrice = CrowdClassifier().fit(
        np.repeat(X, 3, axis=0), CandidateSets.from_votes(np.repeat(votes, 3, axis=0))
    )
    assert np.mean(once.transduction_ == y) > 0.93
    assert np.mean(thrice.transduction_[::3] == y) > 0.93


def test_a_model_of_votes_is_saved(digits, fitted, tmp_path):
    X = digits[0]
    save_model(fitted, tmp_path / "votes.model")
    again = load_model(tmp_path / "votes.model")
    np.testing.assert_allclose(again.predict_proba(X), fitted.predict_proba(X))
    assert again.annotators_[0].copies == fitted.annotators_[0].copies


@pytest.mark.parametrize("seed", range(3))
def test_a_constant_annotator_does_not_outvote_good_ones(seed):
    """Good annotators agree, and look like copies before anything is known."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    rng = np.random.default_rng(seed)
    votes = draw_votes(y, [0.95, 0.9, 0.9, 0.1], 10, rng)
    votes = np.column_stack([votes, np.full(300, 1)])
    model = CrowdClassifier().fit(X, crowd(y, votes))
    assert np.mean(model.transduction_ == y) > 0.98
    assert model.annotators_[-1].kind == "constant"


@pytest.mark.parametrize("accuracies", [[0.95] * 3, [0.8] * 3, [0.98, 0.98], [0.9]])
@pytest.mark.parametrize("estimator", [None, KNeighborsClassifier()])
def test_useless_features_do_no_harm(accuracies, estimator):
    """Labels that follow useless features would explain themselves."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 6)), rng.integers(4, size=300)
    votes = draw_votes(y, accuracies, 4, rng)
    sets = crowd(y, votes)
    found = CrowdClassifier(estimator).fit(X, sets)
    right = np.mean(majority(votes, 4).argmax(axis=1) == y)
    assert np.mean(found.transduction_ == y) > right - 0.03
    assert {annotator.kind for annotator in found.annotators_} == {"usual"}
    assert np.array_equal(found.transduction_, found.votes_alone_)


@pytest.mark.parametrize("seed", range(3))
def test_weak_features_do_not_outweigh_single_labels(seed):
    """Features that are right less often than the labels."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(seed)
    X = X + 4 * rng.normal(size=X.shape)
    votes = draw_votes(y, [0.8], 3, rng)
    found = CrowdClassifier().fit(X, crowd(y, votes)).transduction_
    assert np.mean(found == y) > np.mean(votes[:, 0] == y) - 0.03


def test_the_order_of_rows_and_annotators_does_not_matter(digits, fitted):
    X, y, sets = digits
    rng = np.random.default_rng(1)
    rows, people = rng.permutation(500), rng.permutation(5)
    model = CrowdClassifier().fit(X[rows], crowd(y, sets.votes[rows][:, people]))
    assert np.array_equal(model.transduction_, fitted.transduction_[rows])
    kinds = [fitted.annotators_[a].kind for a in people]
    assert [annotator.kind for annotator in model.annotators_] == kinds


def test_useful_features_are_used_with_few_informative_votes():
    X, y = (part[:500] for part in load_digits(return_X_y=True))
    votes = draw_votes(y, [0.5, 0.45, 0.5], 10, np.random.default_rng(0))
    found = CrowdClassifier().fit(X, crowd(y, votes)).transduction_
    assert np.mean(found == y) > 0.2 + np.mean(majority(votes, 10).argmax(axis=1) == y)


def test_a_model_that_cannot_learn_from_the_features_is_named():
    X, y = load_iris(return_X_y=True)
    sets = crowd(y, draw_votes(y, [0.9, 0.8], 3, np.random.default_rng(0)))
    with pytest.raises(ParameterError, match="MultinomialNB cannot learn from these features: Neg"):
        CrowdClassifier(MultinomialNB()).fit(X - 10, sets)


def test_an_estimator_whose_probabilities_are_no_numbers_is_named():
    class Broken(DummyClassifier):
        def predict_proba(self, X):
            return super().predict_proba(X) * np.nan

    X, y = load_iris(return_X_y=True)
    sets = crowd(y, draw_votes(y, [0.9, 0.8], 3, np.random.default_rng(0)))
    with pytest.raises(ParameterError, match="Broken gives probabilities that are not finite"):
        CrowdClassifier(Broken()).fit(X, sets)
