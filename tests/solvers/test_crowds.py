import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax
from sklearn.metrics import cohen_kappa_score

from surelabel.solvers.crowds import (
    POOLING,
    ROUNDS,
    SOFT_VOTES,
    STRENGTHS,
    CrowdFit,
    SoftTally,
    Tally,
    alternate_crowd,
    confirmed,
    confusion_matrices,
    judge_annotator,
    with_useful_features,
)
from surelabel.solvers.dawid_skene import dawid_skene, majority
from tests.reference import crowds as literal


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


def any_matrices(votes, n_classes, seed):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(n_classes), (votes.shape[1], n_classes))


def any_known(votes, n_classes, seed):
    known = np.random.default_rng(seed).integers(0, n_classes, len(votes))
    return np.where(np.random.default_rng(seed + 1).random(len(votes)) < 0.2, known, -1)


@given(ballots())
@settings(max_examples=50)
def test_majority_is_the_share_of_the_votes(problem):
    votes, n_classes = problem
    np.testing.assert_allclose(
        majority(votes, n_classes), literal.literal_shares(votes, n_classes), atol=1e-12
    )


@given(ballots())
@settings(max_examples=50)
def test_dawid_skene_is_the_literal_one(problem):
    votes, n_classes = problem
    P, C = dawid_skene(votes, n_classes, max_iter=5, tol=0)
    expected, matrices = literal.literal_dawid_skene(votes, n_classes, 5)
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


@given(
    st.integers(2, 4),
    st.integers(1, 4),
    st.integers(0, 999),
    st.sampled_from([0, 1, 30]),
    st.booleans(),
)
@settings(max_examples=50)
def test_matrices_are_the_literal_ones(n_classes, annotators, seed, size, ordered):
    rng = np.random.default_rng(seed)
    counts = size * rng.random((annotators, n_classes, n_classes))
    counts += 2 * size * np.eye(n_classes) * rng.random((annotators, 1, 1))
    places = rng.permutation(np.cumsum(rng.uniform(0.5, 3, n_classes))) if ordered else None
    found = confusion_matrices(counts, places)
    expected = literal.literal_confusions(counts, STRENGTHS, POOLING, places)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.all(found > 0)
    np.testing.assert_allclose(found.sum(axis=2), 1)


@given(ballots(), st.integers(0, 999))
@settings(max_examples=50)
def test_evidence_and_counts_are_the_literal_ones(problem, seed):
    votes, n_classes = problem
    tally, C = Tally(votes, n_classes), any_matrices(votes, n_classes, seed)
    evidence = literal.literal_evidence(votes, C)
    np.testing.assert_allclose(tally.evidence(C), evidence, atol=1e-9)
    f = np.random.default_rng(seed).dirichlet(np.ones(n_classes), len(votes))
    P = softmax(np.log(f) + evidence, axis=1)
    np.testing.assert_allclose(
        tally.counts(P), literal.literal_counts(votes, P, C.shape), atol=1e-9
    )
    nothing = np.full(len(votes), -1)
    np.testing.assert_allclose(
        tally.counts_by_others(P, C),
        literal.literal_counts_by_others(votes, f, C, nothing),
        atol=1e-9,
    )
    assert tally.counts(P).sum() == pytest.approx(np.sum(votes != -1))
    prediction = literal.literal_prediction(votes, P, C)
    assert tally.log_likelihood(P, C).sum() == pytest.approx(prediction)


@given(ballots())
@settings(max_examples=30)
def test_every_vote_is_left_out_once(problem):
    votes, n_classes = problem
    P = np.full((len(votes), n_classes), 1 / n_classes)
    whole = Tally(votes, n_classes)
    parts = list(whole.folds([np.zeros(np.sum(votes != -1))]))
    for kept, left_out in parts:
        np.testing.assert_allclose(kept.counts(P) + left_out.counts(P), whole.counts(P))
    sizes = [left_out.counts(P).sum() for _, left_out in parts]
    assert sum(sizes) == pytest.approx(np.sum(votes != -1))
    assert max(sizes) - min(sizes) < 1.01


@given(problem=ballots(), seed=st.integers(0, 999))
@settings(max_examples=40)
def test_alternation_is_the_literal_one(problem, seed):
    votes, n_classes = problem
    known = any_known(votes, n_classes, seed)
    fit = alternate_crowd(Tally(votes, n_classes), known=known)
    P, C = literal.literal_alternation(votes, n_classes, confusion_matrices, ROUNDS, known)
    np.testing.assert_allclose(fit.posterior, P, atol=1e-8)
    np.testing.assert_allclose(fit.confusion, C, atol=1e-8)


@given(problem=ballots(), seed=st.integers(0, 999))
@settings(max_examples=40)
def test_alternation_with_features_is_the_literal_one(problem, seed):
    votes, n_classes = problem
    known = any_known(votes, n_classes, seed)
    mixing = np.random.default_rng(seed).dirichlet(np.ones(len(votes)), len(votes))

    def features(P, evidence):
        """Any function of the posterior that is a probability of the classes."""
        return 0.9 * mixing @ P + 0.1 / n_classes

    fit = alternate_crowd(
        Tally(votes, n_classes),
        lambda P, evidence: np.log(features(P, evidence)),
        known=known,
    )
    P, C = literal.literal_alternation(
        votes, n_classes, confusion_matrices, ROUNDS // 2, known, features
    )
    np.testing.assert_allclose(fit.posterior, P, atol=1e-8)
    np.testing.assert_allclose(fit.confusion, C, atol=1e-8)
    hidden = known < 0
    np.testing.assert_allclose(fit.unseen[hidden], fit.posterior[hidden], atol=1e-12)


def test_spammers_know_nothing():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 300)
    good = draw_votes(y, [0.7, 0.75, 0.8], 5, rng)
    votes = np.column_stack([good, rng.integers(0, 5, 300), np.full(300, 2)])
    fit = alternate_crowd(Tally(votes, 5))
    # Whatever the truth, a spammer says the same; so the votes change no probability.
    assert np.ptp(fit.confusion[3:], axis=1).max() < 0.2
    assert np.einsum("akk->ak", fit.confusion[:3]).min() > 0.55
    right = np.mean(fit.posterior.argmax(axis=1) == y)
    without = np.mean(alternate_crowd(Tally(good, 5)).posterior.argmax(axis=1) == y)
    assert right > without - 0.02


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("accuracies", [[0.75, 0.75, 0.7, 0.05], [0.7, 0.7, 0.7, 0.7, 0.05, 0.05]])
def test_an_adversary_counts_against_what_is_said(accuracies, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 400)
    votes = draw_votes(y, accuracies, 2, rng)
    honest = np.array(accuracies) > 0.5
    fit = alternate_crowd(Tally(votes, 2))
    assert np.einsum("akk->ak", fit.confusion[~honest]).max() < 0.2
    right = np.mean(fit.posterior.argmax(axis=1) == y)
    ignored = alternate_crowd(Tally(votes[:, honest], 2)).posterior.argmax(axis=1)
    assert right > np.mean(ignored == y) + 0.05
    assert right > np.mean(majority(votes, 2).argmax(axis=1) == y) + 0.25


@given(ballots(), st.integers(0, 999))
@settings(max_examples=25)
def test_the_order_of_rows_annotators_and_classes_does_not_matter(problem, seed):
    votes, n_classes = problem
    rng = np.random.default_rng(seed)
    rows, people = rng.permutation(len(votes)), rng.permutation(votes.shape[1])
    classes = rng.permutation(n_classes)
    renamed = np.where(votes >= 0, classes[votes], -1)[rows][:, people]
    one = alternate_crowd(Tally(votes, n_classes))
    two = alternate_crowd(Tally(renamed, n_classes))
    np.testing.assert_allclose(two.posterior[:, classes], one.posterior[rows], atol=1e-6)


def test_known_classes_stay_and_help():
    votes = np.array([[0, 0], [1, 1], [0, 1]] * 5)
    known = np.full(15, -1)
    known[0] = 1
    fit = alternate_crowd(Tally(votes, 2), known=known)
    assert fit.posterior[0].tolist() == [0, 1]
    assert 0 < fit.unseen[0, 0] < 1
    # Two who always disagree: only known labels tell who is right.
    y = np.random.default_rng(0).integers(0, 2, 60)
    both = Tally(np.column_stack([y, 1 - y]), 2)
    for truth in (y, 1 - y):
        known = np.where(np.arange(60) < 15, truth, -1)
        found = alternate_crowd(both, known=known).posterior.argmax(axis=1)
        assert np.array_equal(found, truth)


def test_nobody_is_confirmed_by_their_own_vote():
    """One label per row, a third of them wrong: what the features say must be able to change it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    votes = draw_votes(y, [0.67], 3, rng)
    features = np.log(0.85 * np.eye(3)[y] + 0.05)
    fit = alternate_crowd(Tally(votes, 3), lambda P, evidence: features)
    assert np.mean(fit.posterior.argmax(axis=1) == y) > 0.95
    assert np.einsum("kk->k", fit.confusion[0]).max() < 0.8


def test_features_are_used_if_left_out_votes_become_likelier():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    tally = Tally(draw_votes(y, [0.7, 0.6], 3, rng), 3)
    alone = alternate_crowd(tally)
    useful, useless = np.eye(3)[y], np.eye(3)[rng.permutation(y)]
    for features, expected in ((useful, True), (useless, False)):
        log_prior = np.log(0.85 * features + 0.05)
        fit = with_useful_features(tally, lambda P, evidence, f=log_prior: f, alone)
        assert (fit is not alone) == expected
        assert confirmed(tally, fit)
    assert np.mean(alone.posterior.argmax(axis=1) == y) < 0.85


@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_rows_and_people_does_not_decide_whether_features_are_used(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 60)
    votes = draw_votes(y, [0.7, 0.6, 0.4], 3, rng)
    scores = np.eye(3)[y] + 1.2 * rng.standard_normal((60, 3))

    def fitted(rows, people):
        tally = Tally(votes[rows][:, people], 3)
        log_prior = log_softmax(scores[rows], axis=1)
        alone = alternate_crowd(tally)
        return with_useful_features(tally, lambda P, evidence: log_prior, alone).posterior

    expected = fitted(np.arange(60), np.arange(3))
    for _ in range(5):
        rows = rng.permutation(60)
        found = fitted(rows, rng.permutation(3))
        np.testing.assert_allclose(found, expected[rows], atol=1e-8)


def test_few_votes_of_people_who_confuse_neighbours():
    """Sixty people with ten votes each on seven grades: nobody's mistakes can be learned alone."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 7, 300)
    near = np.clip(y[:, None] + rng.choice([-1, 0, 1], (300, 60), p=[0.25, 0.5, 0.25]), 0, 6)
    votes = np.full((300, 60), -1)
    for i in range(300):
        who = rng.choice(60, 2, replace=False)
        votes[i, who] = near[i, who]
    away = {}
    for name, places in {"none": None, "order": np.arange(7.0)}.items():
        P = alternate_crowd(Tally(votes, 7, places)).posterior
        away[name] = np.mean(np.abs(np.sum(np.cumsum(P, axis=1) < 0.5, axis=1) - y))
    assert away["order"] < 0.95 * away["none"]


@given(st.integers(0, 2**32 - 1), st.floats(0, 0.5))
@settings(max_examples=50)
def test_votes_are_confirmed_by_cohens_kappa(seed, right):
    """One annotator, and features that are sure of the truth."""
    rng = np.random.default_rng(seed)
    y = np.append(rng.integers(0, 3, 40), [0, 1, 2])
    votes = np.where(rng.random(43) < right, y, rng.integers(0, 3, 43))
    tally, C = Tally(votes[:, None], 3), any_matrices(votes[:, None], 3, seed)
    log_prior, evidence = np.log(np.eye(3)[y] + 1e-12), tally.evidence(C)
    fit = CrowdFit(softmax(log_prior + evidence, axis=1), C, evidence, log_prior)
    chance = np.bincount(y, minlength=3) @ np.bincount(votes, minlength=3) / 43**2
    error = np.sqrt(chance * (1 - chance) / 43) / (1 - chance)
    agreement = cohen_kappa_score(y, votes)
    assume(abs(agreement - 2 * error) > 1e-6)
    assert confirmed(tally, fit) == (agreement > 2 * error)


@pytest.mark.parametrize(("share", "kind"), [(0.9, "usual"), (0.25, "random"), (0.05, "wrong")])
def test_annotators_are_judged_by_an_interval(share, kind):
    y = np.random.default_rng(0).integers(0, 4, 200)
    right = np.arange(200) < share * 200
    accuracy, (low, high), found = judge_annotator(np.where(right, y, (y + 1) % 4), np.eye(4)[y])
    assert accuracy == pytest.approx(share)
    assert low < share < high
    assert found == kind
    few = np.where(np.arange(200) < 197, -1, (y + 1) % 4)
    assert judge_annotator(few, np.eye(4)[y])[2] == "usual"  # three votes show nothing
    seen = np.where(y == 2, y, -1)
    assert judge_annotator(seen, np.eye(4)[y])[2] == "usual"  # one class, and always right


def test_soft_labels_are_votes_of_people_without_names():
    counts = np.array([[8.0, 2.0], [0.0, 0.0], [1.0, 9.0]])
    tally = SoftTally(counts)
    np.testing.assert_allclose(tally.shares(), [[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]])
    one, matrix = np.array([[1], [1], [1]]), np.array([[[0.7, 0.3], [0.4, 0.6]]])
    by_vote = [Tally(one * v, 2).evidence(matrix) for v in range(2)]
    expected = SOFT_VOTES * np.einsum("iv,viz->iz", tally.shares(), by_vote)
    np.testing.assert_allclose(tally.evidence(matrix), expected)
    found = alternate_crowd(tally)
    assert found.posterior.argmax(axis=1)[[0, 2]].tolist() == [0, 1]


def test_one_vote_per_row_is_the_label():
    """Nothing says that a vote is wrong; more rounds would give all rows the same label."""
    rng = np.random.default_rng(0)
    y = rng.choice(4, 300, p=[0.4, 0.3, 0.2, 0.1])
    votes = np.full((300, 60), -1)
    votes[np.arange(300), rng.integers(0, 60, 300)] = draw_votes(y, [0.7], 4, rng)[:, 0]
    fit = alternate_crowd(Tally(votes, 4))
    assert np.mean(fit.posterior.argmax(axis=1) == votes.max(axis=1)) > 0.95
    assert not confirmed(Tally(votes, 4), fit)


def test_people_with_one_vote_each_can_confirm_each_other():
    y = np.arange(300) % 2
    votes = np.full((300, 900), -1)
    votes[np.arange(900) // 3, np.random.default_rng(0).permutation(900)] = np.repeat(y, 3)
    tally = Tally(votes, 2)
    assert confirmed(tally, alternate_crowd(tally))
