from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surelabel.solvers.crowds import (
    SHARPNESS,
    Tally,
    alternate_crowd,
    confusion_matrices,
    dawid_skene,
    dependence,
    fit_sharpness,
    majority,
    mistakes_are_shared,
)
from tests.reference.crowds import (
    literal_dawid_skene,
    literal_dependence,
    literal_likelihood,
)


def draw_votes(y, accuracies, n_classes, rng):
    """Independent annotators, who name any other class when they are wrong."""
    wrong = (y[:, None] + rng.integers(1, n_classes, (len(y), len(accuracies)))) % n_classes
    return np.where(rng.random(wrong.shape) < accuracies, y[:, None], wrong)


@st.composite
def ballots(draw):
    """Votes of some annotators, many of them missing, and the number of classes."""
    n_classes, annotators = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    votes = rng.integers(0, n_classes, (draw(st.integers(1, 25)), annotators))
    votes[rng.random(votes.shape) < draw(st.sampled_from([0, 0.3, 0.7]))] = -1
    return votes, n_classes


@given(ballots())
@settings(max_examples=50)
def test_majority_is_the_share_of_the_votes(problem):
    votes, n_classes = problem
    expected = literal_dawid_skene(votes, n_classes, 0)[0]
    np.testing.assert_allclose(majority(votes, n_classes), expected)


@given(ballots())
@settings(max_examples=50)
def test_dawid_skene_is_the_literal_one(problem):
    votes, n_classes = problem
    P, C = dawid_skene(votes, n_classes, max_iter=5, tol=0)
    expected, matrices = literal_dawid_skene(votes, n_classes, 5)
    np.testing.assert_allclose(P, expected, atol=1e-10)
    np.testing.assert_allclose(C, matrices, atol=1e-10)


@pytest.mark.filterwarnings("ignore")  # those of crowd-kit are not ours
def test_dawid_skene_is_that_of_crowd_kit():
    aggregation = pytest.importorskip("crowdkit.aggregation", reason="needs crowd-kit")
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    votes = draw_votes(y, [0.9, 0.7, 0.6, 0.4], 3, rng)
    votes[rng.random(votes.shape) < 0.2] = -1
    votes[:, 0] = np.where((votes < 0).all(axis=1), y, votes[:, 0])
    rows, who = np.nonzero(votes >= 0)
    frame = pd.DataFrame({"task": rows, "worker": who, "label": votes[rows, who]})
    theirs = aggregation.DawidSkene(n_iter=8, tol=-1).fit_predict_proba(frame)
    ours, _ = dawid_skene(votes, 3, max_iter=8, tol=0)
    np.testing.assert_allclose(ours, theirs.sort_index()[[0, 1, 2]].to_numpy(), atol=1e-6)


@given(ballots())
@settings(max_examples=50)
def test_matrices_are_probabilities_however_few_votes_there_are(problem):
    votes, n_classes = problem
    tally = Tally(votes, n_classes)
    C, knows = confusion_matrices(tally.counts(majority(votes, n_classes)))
    assert np.all(C > 0)
    np.testing.assert_allclose(C.sum(axis=2), 1)
    assert np.all((knows > 0) & (knows < 1))
    fit = alternate_crowd(votes, n_classes)
    np.testing.assert_allclose(fit.posterior.sum(axis=1), 1)


@given(ballots())
@settings(max_examples=50)
def test_dependence_is_the_literal_one(problem):
    votes, n_classes = problem
    tally, P = Tally(votes, n_classes), majority(votes, n_classes)
    C, _ = confusion_matrices(tally.counts(P))
    mirrors = {(one.first, one.second): one.labels for one in tally.mirrors}
    np.testing.assert_allclose(
        dependence(tally, P, C), literal_dependence(votes, P, C, mirrors), atol=1e-9
    )


@given(ballots())
@settings(max_examples=50)
def test_mirrors_are_found_by_trying_all_assignments(problem):
    votes, n_classes = problem
    found = {(one.first, one.second): one.observed for one in Tally(votes, n_classes).mirrors}
    for a, b in combinations(range(votes.shape[1]), 2):
        pairs = [(v, u) for v, u in votes[:, [a, b]].tolist() if v >= 0 and u >= 0]
        same = sum(v == u for v, u in pairs)
        best = max(sum(to[v] == u for v, u in pairs) for to in permutations(range(n_classes)))
        if len(pairs) >= 5 * n_classes and best > len(pairs) / 2 and best > 2 * same:
            assert found.pop((a, b)) == pytest.approx(best / len(pairs))
    assert not found


def test_copies_depend_on_each_other_and_count_as_one():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    votes = draw_votes(y, [0.75, 0.75, 0.75, 0.6], 4, rng)
    votes = np.column_stack([votes, votes[:, 3], votes[:, 3]])
    fit = alternate_crowd(votes, 4)
    assert fit.dependence[3:, 3:][~np.eye(3, dtype=bool)].min() > 0.8
    assert fit.dependence[:3].max() < 0.1
    np.testing.assert_allclose(fit.weight[3:], 1 / 3, atol=0.05)
    right = np.mean(fit.posterior.argmax(axis=1) == y)
    assert right > np.mean(majority(votes, 4).argmax(axis=1) == y) + 0.1
    assert right > np.mean(dawid_skene(votes, 4)[0].argmax(axis=1) == y) + 0.1


def test_good_annotators_are_no_copies():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    fit = alternate_crowd(draw_votes(y, [0.97, 0.97, 0.6, 0.6], 4, rng), 4)
    assert fit.weight.min() > 0.8
    assert np.mean(fit.posterior.argmax(axis=1) == y) > 0.96


def test_spammers_know_nothing():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 300)
    votes = draw_votes(y, [0.7, 0.75, 0.8, 0.2], 5, rng)
    fit = alternate_crowd(np.column_stack([votes, np.full(300, 2)]), 5)
    assert fit.knows[:3].min() > 0.5
    assert fit.knows[3:].max() < 0.1


def test_known_classes_stay():
    votes = np.array([[0, 0], [1, 1], [0, 1]] * 5)
    known = np.full(15, -1)
    known[0] = 1
    fit = alternate_crowd(votes, 2, known=known)
    assert fit.posterior[0].tolist() == [0, 1]


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 10))
@settings(max_examples=30)
def test_sharpness_makes_the_votes_most_likely(seed, spread):
    rng = np.random.default_rng(seed)
    outputs, evidence = rng.normal(0, spread, (8, 3)), rng.normal(-2, 1, (8, 3))
    sharpness, likelihood = fit_sharpness(outputs, evidence)
    values = [literal_likelihood(outputs, evidence, t) for t in SHARPNESS]
    assert likelihood == pytest.approx(max(values))
    assert literal_likelihood(outputs, evidence, sharpness) == pytest.approx(max(values))


def test_shared_mistakes_show_where_features_are_in_doubt():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    doubt = rng.uniform(0.02, 0.5, 400)
    features = np.repeat(doubt[:, None] / 2, 3, axis=1)
    features[np.arange(400), y] = 1 - doubt
    independent = draw_votes(y, [0.75] * 5, 3, rng)
    assert not mistakes_are_shared(Tally(independent, 3), np.log(features))
    wrong = rng.random((400, 5)) < doubt[:, None]
    hard = np.where(wrong, ((y + 1) % 3)[:, None], y[:, None])
    assert mistakes_are_shared(Tally(hard, 3), np.log(features))
    assert not mistakes_are_shared(Tally(hard[:, :1], 3), np.log(features))
