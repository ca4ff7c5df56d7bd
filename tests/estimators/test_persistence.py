"""Models come back from their files as they were, and what files do not hold is refused."""

import pickle
import sys
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import surelabel
from surelabel import (
    SURECV,
    CandidateSets,
    CrowdClassifier,
    PUREClassifier,
    SUREClassifier,
    SURERetrainer,
    load_model,
    make_partial,
    save_model,
)
from surelabel.estimators import (
    PALOCClassifier,
    SelfTrainingPLClassifier,
    WeightedCandidatesClassifier,
    all_methods,
)
from surelabel.estimators.persistence import _file
from surelabel.exceptions import ModelFileError

X, codes = load_iris(return_X_y=True)
NEW = X[::3] + 0.01
NAMES = np.array(["<setosa>", "versicolor", "|virginica"])
CANDIDATES = make_partial(NAMES[codes], p=0.5, r=1, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return SUREClassifier().fit(X, CANDIDATES)


@pytest.fixture
def saved(fitted, tmp_path):
    path = tmp_path / "model.surelabel"
    save_model(fitted, path)
    return fitted, path


def again(model, tmp_path):
    save_model(model, tmp_path / "model")
    return load_model(tmp_path / "model")


def crowd():
    votes = np.repeat(NAMES[codes][:, None], 3, axis=1).astype(object)
    votes[::5, 1], votes[::7, 2] = "<setosa>", None
    return CandidateSets.from_votes(votes)


MODELS = {
    **{
        name: lambda method=method: method.estimator().fit(X, CANDIDATES)
        for name, method in all_methods().items()
    },
    "search": lambda: SURECV([0.1, 0.3], [0.05], kernel=["rbf", "linear"]).fit(X, CANDIDATES),
    "linear": lambda: SUREClassifier(kernel="linear").fit(X, CANDIDATES),
    "landmarks": lambda: PUREClassifier(solver="nystroem", n_components=30).fit(X, CANDIDATES),
    "one kernel": lambda: PUREClassifier(kernel="laplacian").fit(X, CANDIDATES),
    "single precision": lambda: PUREClassifier().fit(X.astype(np.float32), CANDIDATES),
    "crowd": lambda: CrowdClassifier().fit(X, crowd()),
    "weighted": lambda: PUREClassifier().fit(X, CANDIDATES, np.arange(150) % 3),
    "numbers": lambda: SUREClassifier().fit(X, make_partial(codes, p=0.5, r=1)),
    "two classes": lambda: WeightedCandidatesClassifier().fit(X, codes > 0),
}


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(name, tmp_path):
    model = MODELS[name]()
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(NEW), model.predict_proba(NEW))
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    assert loaded.classes_.dtype.kind == model.classes_.dtype.kind
    # all attributes, but models of scikit-learn
    assert vars(model).keys() - vars(loaded).keys() <= {"estimator_"}
    if hasattr(model, "confidence_"):
        np.testing.assert_array_equal(loaded.confidence_.toarray(), model.confidence_.toarray())
        np.testing.assert_array_equal(loaded.transduction_, model.transduction_)
    for name, value in model.get_params(deep=False).items():
        assert np.array_equal(getattr(loaded, name), value)


def test_the_same_model_gives_the_same_bytes_and_a_copy_as_well(tmp_path):
    for model in (PUREClassifier().fit(X, CANDIDATES), CrowdClassifier().fit(X, crowd())):
        path = tmp_path / "model"
        save_model(model, path)
        first = path.read_bytes()
        for copy in (pickle.loads(pickle.dumps(model)), load_model(path)):
            save_model(copy, path)
            assert path.read_bytes() == first


def test_what_a_search_found(tmp_path):
    search = SURECV([0.1, 0.3], [0.05, 1], cv=KFold(3)).fit(X[::2], CANDIDATES[::2])
    loaded = again(search, tmp_path)
    assert loaded.best_params_ == search.best_params_
    assert loaded.best_score_ == search.best_score_
    assert loaded.cv_results_["params"] == search.cv_results_["params"]
    assert loaded.cv_results_.keys() == search.cv_results_.keys()
    for name, values in search.cv_results_.items():
        assert np.array_equal(loaded.cv_results_[name], values)
    assert loaded.cv is None  # an object of scikit-learn, which only fit needs


def test_annotators(tmp_path):
    model = CrowdClassifier().fit(X, crowd())
    for one, other in zip(again(model, tmp_path).annotators_, model.annotators_, strict=True):
        assert one.remark == other.remark
        assert repr(one) == repr(other)


def test_votes_alone(tmp_path):
    model = CrowdClassifier().fit(None, crowd())
    np.testing.assert_array_equal(again(model, tmp_path).transduction_, model.transduction_)


def test_a_kernel_matrix(tmp_path):
    K = X @ X.T
    weight = (np.arange(150) % 4 > 0).astype(float)
    model = SUREClassifier(kernel="precomputed").fit(K, CANDIDATES, weight)
    np.testing.assert_array_equal(again(model, tmp_path).predict(K[:9]), model.predict(K[:9]))


def test_names_of_columns(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = SUREClassifier().fit(frame, CANDIDATES)
    loaded = again(model, tmp_path)
    assert loaded.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


def test_the_model_of_a_table(tmp_path):
    words = ["a furry cat", "a loud dog", "a cow in the grass"]
    table = pa.table(
        {
            "size": [None, *X[1:, 0]],
            "colour": [None, *np.where(X[1:, 1] > 3, "brown", "white")],
            "note": [f"{words[label]} number {i}" for i, label in enumerate(codes)],
            "vector": X[:, 2:].tolist(),
            "day": pa.array(np.arange("2020-01-01", "2020-05-30", dtype="M8[D]")),
            "labels": ["|".join(map(str, row)) for row in CANDIDATES.to_lists()],
        }
    )
    fitted = surelabel.fit(table, labels="labels", separator="|")
    assert len({feature.kind for feature in fitted.features}) == 5
    loaded = again(fitted.model, tmp_path)
    rows = table.drop_columns("labels")
    assert surelabel.predict(loaded, rows) == surelabel.predict(fitted.model, rows)
    np.testing.assert_array_equal(loaded.predict(rows), fitted.model.predict(rows))
    encoder = again(fitted.model.encoder, tmp_path)
    np.testing.assert_array_equal(encoder.transform(rows), fitted.model.encoder.transform(rows))


# -------------------------------------------------------------------- our code, as the library's


def test_the_outputs_are_those_of_scikit_learn():
    for candidates in (CANDIDATES, codes > 0):
        model = WeightedCandidatesClassifier().fit(X, candidates)
        np.testing.assert_allclose(
            model.predict_proba(NEW), model.estimator_.predict_proba(NEW), atol=1e-12
        )
    model = SelfTrainingPLClassifier(max_iter=1).fit(X, codes)
    ridge = Ridge(alpha=1.0).fit(X, np.eye(3)[codes])
    np.testing.assert_allclose(model.decision_function(NEW), ridge.predict(NEW), atol=1e-12)


# -------------------------------------------------------------------- what is refused


class Own(SUREClassifier):
    """A method of one's own."""


FOREIGN = {
    "pipeline": lambda: make_pipeline(StandardScaler(), SUREClassifier()).fit(X, CANDIDATES),
    "forest": lambda: RandomForestClassifier(3).fit(X, codes),
    "retrainer": lambda: SURERetrainer(RandomForestClassifier(3), tol=0.5).fit(X, codes),
    "inner": lambda: WeightedCandidatesClassifier(LogisticRegression(max_iter=500)).fit(X, codes),
    "machines": lambda: PALOCClassifier(SVC(C=2)).fit(X, CANDIDATES),
    "crowd": lambda: CrowdClassifier(RandomForestClassifier(3)).fit(X, crowd()),
    "own": lambda: Own().fit(X, CANDIDATES),
    "nothing": lambda: None,
    "numbers": lambda: X,
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_not_ours_is_refused_with_what_to_use_and_what_that_means(name, tmp_path):
    message = r"cannot be saved: .* not .*; joblib and skops can store it, but .* runs any code .*"
    with pytest.raises(ModelFileError, match=message) as caught:
        save_model(FOREIGN[name](), tmp_path / "model")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_what_only_works_is_not_stored(tmp_path):
    given = {"n_jobs": 2, "verbose": 1, "callback": print}
    random = np.random.RandomState(0)
    model = SUREClassifier(random_state=random, **given).fit(X, CANDIDATES)
    loaded = again(model, tmp_path)
    assert (loaded.n_jobs, loaded.verbose, loaded.callback) == (None, 0, None)
    assert loaded.random_state == 0


def test_a_model_that_is_not_fitted(tmp_path):
    with pytest.raises(ModelFileError, match="not fitted; fit it first"):
        save_model(SUREClassifier(), tmp_path / "model")


def test_a_label_as_long_as_a_book(tmp_path):
    labels = np.array(["a" * 2000, "b"])[codes % 2]
    with pytest.raises(ModelFileError, match="a label has more than 1000 characters"):
        save_model(SUREClassifier().fit(X, labels), tmp_path / "model")


def test_truncated_at_every_tenth_of_its_length(saved):
    _, path = saved
    content = path.read_bytes()
    for tenth in range(10):
        path.write_bytes(content[: len(content) * tenth // 10])
        with pytest.raises(ModelFileError, match="it is truncated"):
            load_model(path)


def test_every_flipped_bit_is_seen(saved):
    """Also in the numbers, where another value would make another model."""
    _, path = saved
    content = path.read_bytes()
    for place in range(0, len(content), len(content) // 40):
        path.write_bytes(content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :])
        with pytest.raises(ModelFileError):
            load_model(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"PK\x03\x04", pickle.dumps({"a": 1}), b"surelabel model 2\n"],
    ids=["empty", "text", "zip", "pickle", "number"],
)
def test_foreign_file(tmp_path, content):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ModelFileError, match="not a surelabel model file"):
        load_model(tmp_path / "model")


def test_a_file_of_a_later_version(saved, monkeypatch):
    _, path = saved
    monkeypatch.setattr(_file, "FORMAT", 2)
    with pytest.raises(ModelFileError, match=r"newer than this one \(.*\); upgrade surelabel"):
        load_model(path)


def test_a_model_of_a_cluster_is_loaded_with_its_module_only(saved, monkeypatch):
    """A file must not decide that Dask is imported, which writes files of its own."""
    _, path = saved
    length = int.from_bytes((content := path.read_bytes())[18:26], "little")
    header = content[26 : 26 + length].replace(b'"SUREC', b'"distributed.SUREC')
    size = len(header).to_bytes(8, "little")
    content = content[:18] + size + header + content[26 + length : -32]
    path.write_bytes(content + sha256(content).digest())
    monkeypatch.delitem(sys.modules, "surelabel.distributed", raising=False)
    with pytest.raises(ModelFileError, match=r"import surelabel\.distributed first"):
        load_model(path)
    assert "surelabel.distributed" not in sys.modules


def test_missing_file(tmp_path):
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path / "none")
    with pytest.raises(ModelFileError, match="not a file"):
        load_model(tmp_path)


def test_a_failed_save_leaves_the_old_file(saved, monkeypatch):
    model, path = saved
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_model(model, path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]
