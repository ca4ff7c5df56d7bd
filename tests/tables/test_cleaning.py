import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_digits
from sklearn.preprocessing import scale

import surelabel
from surelabel import CandidateSets, make_partial
from surelabel.exceptions import CandidateError, InputError, ParameterError, TableError
from surelabel.tables import choosing, methods
from surelabel.tables.choosing import choose_labels
from surelabel.tables.status import CERTIFIED, LOOK, PROBABLE


@pytest.fixture(scope="module")
def cleaned(iris, make_labels):
    X, y, sets = iris
    gold = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    gold[0] = 2  # somebody knows better than the features
    return choose_labels(X, make_labels(sets, gold=gold), max_error=0.1), gold


def test_labels_are_right_and_known_ones_stay(iris, cleaned):
    X, y, _ = iris
    result, gold = cleaned
    assert np.mean(result.label == y) > 0.95
    known = gold >= 0
    assert np.array_equal(result.label[known], gold[known])
    assert np.all(result.confidence[known] == 1)
    assert np.all(result.second[known] == -1)
    assert not result.gain[known].any()
    assert not result.outside[known].any()
    assert np.mean(result.classifier.predict(X) == result.classes[y]) > 0.9


def test_statuses_say_what_the_confidence_says(cleaned):
    result, gold = cleaned
    assert set(result.status) <= {CERTIFIED, PROBABLE, LOOK}
    assert np.array_equal(result.status == CERTIFIED, gold >= 0)
    kept = result.status != LOOK
    assert np.array_equal(kept, result.confidence >= 0.9)
    assert result.n_kept == kept.sum() > 30
    assert result.expected_error == pytest.approx(np.mean(1 - result.confidence[kept]))


def test_rows_that_contradict_their_candidates_are_looked_at(make_labels):
    X, y = load_digits(return_X_y=True)
    X, y = scale(X[:400]), y[:400]
    given = np.where(np.arange(400) % 25 == 0, (y + 1) % 10, y)
    result = choose_labels(X, make_labels(CandidateSets.from_labels(given)))
    outside = result.outside > 0
    assert np.sum(outside[::25]) >= 14
    assert np.mean(outside[given == y]) < 0.1
    first = np.argsort(np.where(outside, result.outside, 999))[:10]
    assert np.mean(given[first] != y[first]) >= 0.9, "the first of the list are wrong"
    assert np.all(result.status[first] == LOOK)
    assert np.mean(result.best[first] == y[first]) > 0.8
    assert np.array_equal(result.best[~outside], result.label[~outside])
    assert np.isnan(result.outside_probability).all()


def test_gold_rows_are_measured_without_their_gold(cleaned):
    result, gold = cleaned
    assert (
        result.n_gold == len(result.gold_confidence) == len(result.gold_right) == np.sum(gold >= 0)
    )
    assert result.gold_error == pytest.approx(1 - result.gold_right.mean())
    assert result.gold_confidence.max() < 1


def test_what_else_comes_out(cleaned):
    result, _ = cleaned
    assert set(result.parameters) == {"kernels"}
    assert 0.9 < result.cv_score <= 1
    assert result.method == "PURE"
    assert result.annotators == []


def test_the_promise_is_kept_on_digits(make_labels):
    X, y = load_digits(return_X_y=True)
    X, y = scale(X[:600]), y[:600]
    result = choose_labels(X, make_labels(make_partial(y, p=0.9, r=2, random_state=0)))
    kept = result.status == PROBABLE
    assert kept.mean() > 0.5
    assert np.mean(result.label[kept] != y[kept]) <= 0.02


def test_other_methods_are_judged_by_folds(iris, make_labels):
    X, y, sets = iris
    result = choose_labels(X, make_labels(sets), method="SURE", max_error=0.05)
    assert set(result.parameters) == {"lam", "beta", "kernel"}
    assert np.mean(result.label == y) > 0.95
    kept = result.status == PROBABLE
    assert np.mean(result.label[kept] == y[kept]) > 0.95


def test_features_that_say_nothing_make_nothing_certain(make_labels):
    """Models that had learned from the rows they judge would be sure of them."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 200)
    result = choose_labels(
        rng.standard_normal((200, 20)), make_labels(make_partial(y, p=1, r=1, random_state=0))
    )
    assert np.mean(result.status == PROBABLE) < 0.05
    assert result.confidence.mean() < 0.7


def test_labels_that_never_occur_apart_are_never_certain(make_labels):
    """The model learns to tell setosa from the others; nothing says which of two names that go
    together is whose.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = np.eye(3)[y] * 6 + rng.standard_normal((300, 3))
    lists = [["b", "c"] if label else ["a"] for label in y]
    result = choose_labels(X, make_labels(CandidateSets.from_lists(lists)))
    assert np.all(result.status[y == 0] == PROBABLE)
    assert result.confidence[y > 0].max() < 0.55


def test_rows_that_nothing_decides_are_not_certain(make_labels, monkeypatch):
    """Where two labels always stand together, a model that retrains itself settles for one: it must
    not pass for knowledge.
    """
    rng = np.random.default_rng(0)
    corner = rng.choice(5, 300, p=[0.15, 0.15, 0.15, 0.15, 0.4])
    X = np.eye(5)[corner] * 8 + rng.standard_normal((300, 5))
    lists = [[["a"], ["b"], ["c"], ["d"], ["b", "c"]][where] for where in corner]
    labels = make_labels(CandidateSets.from_lists(lists))
    result = choose_labels(X, labels, max_error=0.1)
    assert np.all(result.status[corner < 4] == PROBABLE)
    assert np.mean(result.status[corner == 4] == PROBABLE) < 0.4
    judge = choosing.judge_sets
    monkeypatch.setattr(choosing, "judge_sets", lambda q, e, labels: judge(q, q, labels))
    assert np.mean(choose_labels(X, labels, max_error=0.1).status[corner == 4] == PROBABLE) > 0.8, (
        "this is what the model at even shares is for"
    )


def test_same_seed_same_answer(iris, make_labels):
    X, _, sets = iris
    first, second = (
        choose_labels(X[::3], make_labels(sets[::3]), random_state=5) for _ in range(2)
    )
    for name in ("label", "confidence", "second", "margin", "gain", "shares", "status"):
        assert np.array_equal(getattr(first, name), getattr(second, name)), name


def test_thirty_rows(iris, make_labels):
    X, y, sets = iris
    rows = np.arange(0, 150, 5)
    result = choose_labels(X[rows], make_labels(sets[rows]))
    assert np.mean(result.label == y[rows]) > 0.8


def test_rows_without_labels_are_labelled_by_their_features(iris, make_labels):
    X, y, sets = iris
    lists = sets.to_lists()
    for i in range(0, 150, 15):
        lists[i] = []
    sets = CandidateSets.from_lists(lists, unlabelled="all")
    result = choose_labels(X, make_labels(sets, unlabelled=np.arange(150) % 15 == 0))
    assert np.mean(result.label[::15] == y[::15]) >= 0.8
    assert not result.outside[::15].any()


def test_votes(crowd, make_labels):
    X, y, votes, sets = crowd
    result = choose_labels(X, make_labels(sets, votes=votes, names=("ann", "bob", "eve")))
    majority = np.stack([(votes == k).sum(axis=1) for k in range(3)], axis=1).argmax(axis=1)
    assert np.mean(result.label == y) > np.mean(majority == y) + 0.05
    eve, bob, ann = result.annotators
    assert ann.agreement > bob.agreement > eve.agreement
    assert ann.agreement == pytest.approx(
        np.mean(votes[votes[:, 0] >= 0, 0] == result.label[votes[:, 0] >= 0])
    )


@pytest.mark.parametrize("seed", [1, 3])
def test_answers_of_yes_and_no(seed):
    """One person is shown any of ten labels, and is never wrong."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[:400]
    X, y = scale(X[rows]), y[rows]
    shown = rng.integers(0, 10, 400)
    said = [f"{k}" if k == truth else f"!{k}" for k, truth in zip(shown, y, strict=True)]
    table = pa.table({f"x{j}": column for j, column in enumerate(X.T)} | {"said": said})
    result = surelabel.clean(table, labels="said", not_prefix="!")
    label, kept = result.label, result.status == PROBABLE
    assert np.mean(label == y) > 0.7
    assert np.mean(label[shown == y] == y[shown == y]) > 0.9
    assert np.mean(label[kept] != y[kept]) <= 0.1


def test_a_constant_and_a_random_annotator_do_no_harm(make_labels):
    """The constant label is in every row's set, and predicting it would cover all of them."""
    X, y = load_digits(return_X_y=True)
    X, y = scale(X[:500]), y[:500]
    rng = np.random.default_rng(0)

    def somebody(right):
        return np.where(rng.random(500) < right, y, rng.integers(0, 10, 500))

    votes = np.stack(
        [*map(somebody, (0.7, 0.75, 0.8)), np.full(500, 3), rng.integers(0, 10, 500)], axis=1
    )
    sets = CandidateSets.from_votes(votes)
    names = ("a", "b", "c", "constant", "random")
    result = choose_labels(X, make_labels(sets, votes=votes, names=names))
    majority = np.stack([(votes == k).sum(axis=1) for k in range(10)], axis=1).argmax(axis=1)
    assert np.mean(majority == y) < 0.9
    assert np.mean(result.label == y) > 0.97
    assert result.method == "Crowd"
    remarks = {person.name: person.remark for person in result.annotators}
    assert remarks["constant"] == "always says 3"
    assert remarks["random"] == "answers at random"
    labels = make_labels(sets, votes=votes, names=names)
    by_sets = choose_labels(X, labels, method="Weighted candidates")
    assert {person.name: person.remark for person in by_sets.annotators} == remarks
    # Labels that nobody voted for are found, too.
    outside = result.outside > 0
    assert np.mean(result.label[outside] == y[outside]) > 0.8
    kept = result.status == PROBABLE
    assert np.mean(result.label[kept] == y[kept]) > 0.98


def test_votes_without_features(crowd, make_labels):
    _, y, votes, sets = crowd
    names = ("ann", "bob", "eve")
    result = choose_labels(np.empty((150, 0)), make_labels(sets, votes=votes, names=names))
    assert np.mean(result.label == y) > 0.85


def test_another_method(iris, make_labels):
    X, y, sets = iris
    result = choose_labels(X, make_labels(sets), method="PLKNN")
    assert result.method == "PLKNN"
    assert list(result.parameters) == ["n_neighbors"]
    assert np.mean(result.label == y) > 0.9


def test_equal_rows_are_left_out_together():
    groups = np.repeat(np.arange(40), 3)
    folds = methods.folds_of_rows(groups, 0)
    assert len(folds) == 10
    assert np.array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(120))
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])
        assert len(train) + len(test) == 120


def test_many_rows_are_fitted_by_landmarks(iris, make_labels, monkeypatch):
    monkeypatch.setattr(methods, "QUICK_ROWS", 100)
    X, y, sets = iris
    result = choose_labels(X.astype(np.float32), make_labels(sets))
    assert result.parameters["solver"] == "nystroem"
    assert np.mean(result.label == y) > 0.9


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"max_error": 0.0}, ParameterError, "max_error must be a share"),
        ({"max_error": 1.5}, ParameterError, "max_error must be a share"),
        ({"method": "SURF"}, ParameterError, "there is no method 'SURF'; did you mean 'SURE'"),
        (
            {"X": np.zeros((3, 2))},
            InputError,
            r"X has shape \(3, 2\) but there are labels for 150 rows",
        ),
        ({"X": np.zeros((150, 2))}, InputError, "different row"),
    ],
)
def test_errors(iris, make_labels, change, error, message):
    X, _, sets = iris
    arguments = {"X": X, "labels": make_labels(sets)} | change
    with pytest.raises(error, match=message):
        choose_labels(**arguments)


def test_nothing_to_learn_from(iris, make_labels):
    sets = CandidateSets.from_lists([["a", "b"]] * 150)
    with pytest.raises(CandidateError, match="nothing to learn"):
        choose_labels(iris[0], make_labels(sets))


@pytest.mark.parametrize("method", ["majority", "Dawid-Skene", "Crowd"])
def test_methods_for_votes_alone(crowd, make_labels, method):
    X, y, votes, sets = crowd
    labels = make_labels(sets, votes=votes, names=("ann", "bob", "eve"))
    if method == "Crowd":
        found = choose_labels(X, labels)
        assert found.features_role.word in ("decisive", "helpful", "of no use")
        model = found.classifier
        changed = model.transduction_ != model.classes_[model.votes_alone_]
        assert found.features_role.n_changed == changed.sum()
        return
    found = choose_labels(X, labels, method=method)
    assert found.method == method
    expected = methods.VOTES_ONLY[method](votes, 3).argmax(axis=1)
    assert np.array_equal(found.label, expected)
    assert found.features_role is None
    wrong = found.label != y
    assert found.confidence[wrong].mean() < found.confidence[~wrong].mean()
    with pytest.raises(ParameterError, match="goes by the votes of known annotators alone"):
        choose_labels(X, make_labels(sets), method=method)


def test_complete_sets_are_surer(iris, make_labels):
    X, y, sets = iris
    usual, complete = (choose_labels(X, make_labels(sets, complete=c)) for c in (False, True))
    single = sets.sizes == 1
    assert np.all(complete.confidence[single] == 0.99)
    assert usual.confidence[single].min() < 0.95
    assert complete.confidence.mean() > usual.confidence.mean()
    assert not complete.outside.any()
    kept = complete.status == PROBABLE
    assert np.mean(complete.label[kept] != y[kept]) <= 0.05


def test_useless_features_have_no_role(make_labels):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    votes = np.where(rng.random((200, 3)) < 0.8, y[:, None], rng.integers(0, 3, (200, 3)))
    labels = make_labels(CandidateSets.from_votes(votes), votes=votes, names=("a", "b", "c"))
    found = choose_labels(rng.normal(size=(200, 4)), labels)
    assert found.features_role.share < 0.02
    useful = choose_labels(np.eye(3)[y] + 0.1 * rng.normal(size=(200, 3)), labels)
    assert useful.features_role.word in ("decisive", "helpful")
    assert np.mean(useful.label == y) > np.mean(found.label == y)


def test_a_long_table_whose_labels_are_called_label_is_refused():
    ids = np.repeat(np.arange(12), 2)
    table = pa.table({"id": ids, "label": ["p", "q", "p", "p"] * 6, "x": np.sin(ids)})
    with pytest.raises(TableError, match="already has a column 'label'"):
        surelabel.clean(table, labels="label", id="id", long=True)


def test_the_order_of_the_rows_changes_nothing(make_labels):
    """More rows than the sample on which kernels are chosen, and rows that are equal."""
    digits = load_digits()
    X, y = digits.data[:1000, 20:24], digits.target[:1000]
    labels = make_labels(make_partial(y, p=1.0, r=2, random_state=0))
    expected, rows = choose_labels(X, labels), np.random.default_rng(0).permutation(1000)
    found = choose_labels(X[rows], labels.take(rows))
    np.testing.assert_array_equal(found.label, expected.label[rows])
    np.testing.assert_allclose(found.confidence, expected.confidence[rows])
    np.testing.assert_array_equal(found.status, expected.status[rows])
