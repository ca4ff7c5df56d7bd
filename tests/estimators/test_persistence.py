import importlib
import inspect
import io
import json
import pickle
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.decomposition import NMF
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV, RepeatedKFold
from sklearn.neighbors import KernelDensity, KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import surelabel
from surelabel import (
    SURECV,
    PLKNNClassifier,
    SUREClassifier,
    SURERetrainer,
    load_model,
    make_partial,
    save_model,
)
from surelabel.estimators import all_methods
from surelabel.estimators.persistence._types import SKLEARN
from surelabel.exceptions import ModelFileError, ParameterError

X, y = load_iris(return_X_y=True)
CANDIDATES = make_partial(y, p=0.5, r=1, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return make_pipeline(StandardScaler(), SUREClassifier()).fit(X, CANDIDATES)


@pytest.fixture
def saved(fitted, tmp_path):
    path = tmp_path / "model.surelabel"
    save_model(fitted, path)
    return fitted, path


def again(model, tmp_path, **trusted):
    save_model(model, tmp_path / "model", **trusted)
    return load_model(tmp_path / "model", **trusted)


def test_round_trip(saved):
    model, path = saved
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded[-1].confidence_.toarray(), model[-1].confidence_.toarray())
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_same_model_gives_the_same_bytes_and_a_copy_as_well(saved):
    model, path = saved
    first = path.read_bytes()
    save_model(pickle.loads(pickle.dumps(model)), path)
    assert path.read_bytes() == first
    save_model(load_model(path), path)
    assert path.read_bytes() == first


@pytest.mark.parametrize("name", all_methods())
def test_every_method(name, tmp_path):
    model = all_methods()[name].estimator().fit(X, CANDIDATES)
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


INNER = [
    RandomForestClassifier(5, random_state=np.random.RandomState(0)),
    ExtraTreesClassifier(5, random_state=0),
    HistGradientBoostingClassifier(max_iter=3),
    GradientBoostingClassifier(n_estimators=3, random_state=0),
    LogisticRegression(max_iter=1000),
    MLPClassifier(5, tol=0.1, random_state=0),
    SVC(),
    KNeighborsClassifier(),
    Ridge(),
    RandomForestRegressor(5, random_state=0),
]


@pytest.mark.filterwarnings("ignore:.*has no sample_weight.*")
@pytest.mark.parametrize("inner", INNER, ids=lambda inner: type(inner).__name__)
def test_retrainer(inner, tmp_path):
    try:
        model = SURERetrainer(inner, tol=0.5).fit(X[::2], CANDIDATES[::2])
    except ParameterError:  # this one takes no weights: it can be saved all the same
        model = inner.fit(X, y)
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def mixed_columns():
    frame = X.astype(object)
    frame[:, 0] = np.where(X[:, 0] > 5.5, "long", "short")
    frame[::7, 1] = np.nan
    return frame


def imputed():
    columns = ColumnTransformer(
        [
            ("words", OneHotEncoder(min_frequency=20, handle_unknown="ignore"), [0]),
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), slice(1, 4)),
        ]
    )
    return make_pipeline(columns, SUREClassifier()).fit(mixed_columns(), CANDIDATES)


OTHERS = {
    "imputed": imputed,
    "search": lambda: GridSearchCV(PLKNNClassifier(), {"n_neighbors": [3, 5]}).fit(X, CANDIDATES),
    "scored search": lambda: GridSearchCV(SVC(), {"C": [1, 2]}, scoring="accuracy").fit(X, y),
    "splits": lambda: SURECV(cv=RepeatedKFold(n_splits=2, n_repeats=1)).fit(
        X[::3], CANDIDATES[::3]
    ),
    "votes": lambda: VotingClassifier([("a", LogisticRegression(max_iter=500))]).fit(X, y),
    "calibrated": lambda: CalibratedClassifierCV(SGDClassifier(random_state=0), cv=3).fit(X, y),
    "quantiles": lambda: HistGradientBoostingRegressor(
        loss="quantile", quantile=0.3, max_iter=2
    ).fit(X, y),
    "sparse machine": lambda: SVC().fit(SUREClassifier().fit(X, y).confidence_, y),
    "ball tree": lambda: KNeighborsClassifier(algorithm="ball_tree", p=1).fit(X, y),
    "dates": lambda: KNeighborsClassifier().fit(X, np.array("2024-01-01", "M8[D]") + y),
    "missing": lambda: SimpleImputer(missing_values=-1.0).fit(X),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_models(name, tmp_path):
    model = OTHERS[name]()
    loaded = again(model, tmp_path)
    rows = mixed_columns() if name == "imputed" else X
    if name == "sparse machine":
        rows = SUREClassifier().fit(X, y).confidence_
    method = "predict" if hasattr(model, "predict") else "transform"
    np.testing.assert_array_equal(getattr(loaded, method)(rows), getattr(model, method)(rows))


@pytest.mark.parametrize("module", SKLEARN)
def test_every_type_of_the_list(module, tmp_path):
    """Each is where the list says, and comes back with what it was made with."""
    for name in SKLEARN[module]:
        kind = getattr(importlib.import_module(f"sklearn.{module}"), name)
        needed = [
            [("scale", StandardScaler())] if name.endswith("s") else LogisticRegression()
            for name, of in inspect.signature(kind).parameters.items()
            if of.default is of.empty
        ]
        if name.endswith("SearchCV"):
            needed[1] = {"C": [1.0, 2.0]}
        loaded = again(kind(*needed), tmp_path)
        assert type(loaded) is kind
        assert repr(loaded) == repr(kind(*needed))


def test_texts(tmp_path):
    texts = ["red green", "green blue", "blue red red"]
    model = TfidfVectorizer().fit(texts)
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(
        loaded.transform(texts).toarray(), model.transform(texts).toarray()
    )


def test_model_of_a_table(tmp_path):
    words = ["a furry cat", "a loud dog", "a cow in the grass"]
    table = pa.table(
        {
            "size": X[:, 0],
            "colour": np.where(X[:, 1] > 3, "brown", "white").tolist(),
            "note": [f"{words[label]} number {i}" for i, label in enumerate(y)],
            "vector": X[:, 2:].tolist(),
            "labels": ["|".join(map(str, row)) for row in CANDIDATES.to_lists()],
        }
    )
    fitted = surelabel.fit(table, labels="labels")
    loaded = again(fitted.model, tmp_path)
    rows = table.drop_columns("labels")
    assert surelabel.predict(loaded, rows) == surelabel.predict(fitted.model, rows)


def test_truncated_at_every_tenth_of_its_length(saved):
    _, path = saved
    content = path.read_bytes()
    for tenth in range(10):
        path.write_bytes(content[: len(content) * tenth // 10])
        with pytest.raises(ModelFileError, match="is not a surelabel model file, or it is trunc"):
            load_model(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"PK\x03\x04", pickle.dumps({"a": 1})],
    ids=["empty", "text", "zip", "pickle"],
)
def test_foreign_file(tmp_path, content):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ModelFileError, match="not a surelabel model file"):
        load_model(tmp_path / "model")


@pytest.mark.parametrize(
    ("stamp", "message"),
    [
        ({"format": 99, "surelabel": "9.0"}, r"saved by surelabel 9\.0, newer than this .*upgrade"),
        (
            {"format": 1, "surelabel": "0.1.0"},
            r"saved by surelabel 0\.1\.0, .* no longer read; fit",
        ),
        ({"surelabel": "0.1.0"}, "another program"),
        ([], "another program"),
        ({"format": True}, "another program"),
        (None, "another program"),
    ],
)
def test_file_of_another_version(tmp_path, stamp, message):
    with zipfile.ZipFile(tmp_path / "model", "w") as archive:
        archive.writestr("schema.json", "{}")
        if stamp is not None:
            archive.writestr("surelabel.json", json.dumps(stamp))
    with pytest.raises(ModelFileError, match=message):
        load_model(tmp_path / "model")


def test_missing_file(tmp_path):
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path / "none")
    with pytest.raises(ModelFileError, match="not a file"):
        load_model(tmp_path)


# -------------------------------------------------------------------- what is not written


def a_kernel(x, z):
    return float(x @ z)


class Halved(StandardScaler):
    """A transformer of one's own."""

    def transform(self, X):
        return super().transform(X) / 2


def test_own_functions_and_types_only_when_trusted(tmp_path):
    model = make_pipeline(Halved(), SUREClassifier(kernel=a_kernel)).fit(X[::3], y[::3])
    names = [f"{__name__}.{name}" for name in ("Halved", "a_kernel")]
    for trusted in ([], names[:1], names[1:]):
        with pytest.raises(ModelFileError, match=r"refers to .*(Halved|a_kernel).* trusted="):
            save_model(model, tmp_path / "model", trusted=trusted)
    assert list(tmp_path.iterdir()) == []
    loaded = again(model, tmp_path, trusted=names)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    for trusted in ([], names[:1], names[1:]):
        with pytest.raises(ModelFileError, match="refers to"):
            load_model(tmp_path / "model", trusted=trusted)


def test_a_name_instead_of_names(tmp_path):
    with pytest.raises(ParameterError, match="list of names"):
        save_model(SUREClassifier(), tmp_path / "model", trusted="a.b")


def itself():
    model = SUREClassifier()
    model.inner = model
    return model


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FunctionTransformer(np.log1p), "refers to"),
        (lambda: FunctionTransformer(lambda rows: rows), "refers to .*lambda"),
        (lambda: KernelDensity().fit(X), "refers to sklearn.neighbors._kde.KernelDensity"),
        (lambda: NMF(), "refers to sklearn.decomposition._nmf.NMF"),
        (lambda: TfidfVectorizer(token_pattern="(a+)+b"), "cannot be saved: a token_pattern"),
        (lambda: SUREClassifier(callback=io.BytesIO()), "refers to _io.BytesIO"),
        (lambda: SUREClassifier(lam=np.array([1j])), "complex"),
        (lambda: SUREClassifier(lam=np.zeros(2, "i4,f8")), "not plain data"),
        (itself, "holds itself"),
        (lambda: SUREClassifier(lam={i: i for i in range(20_000)}), "keys that are not text"),
        (
            lambda: HistGradientBoostingClassifier(max_iter=2, categorical_features=[1]).fit(
                np.c_[X[:, 0], np.arange(150) % 5], y
            ),
            "cannot be saved: .*categorical",
        ),
    ],
)
def test_what_is_not_read_is_not_written(make, message, tmp_path):
    with pytest.raises(ModelFileError, match=message) as caught:
        save_model(make(), tmp_path / "model")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_cache_folders_are_forgotten(tmp_path):
    model = make_pipeline(StandardScaler(), SUREClassifier(), memory=str(tmp_path / "cache"))
    assert again(model, tmp_path).memory is None


def test_many_zeros_are_not_taken_for_a_bomb(tmp_path, monkeypatch):
    """They pack to a thousandth: such a file is written unpacked."""
    monkeypatch.setattr("surelabel.estimators.persistence._archive.SMALL", 2**20)
    model = Ridge()
    model.coef_ = np.zeros((2**18, 9))
    assert again(model, tmp_path).coef_.shape == (2**18, 9)
    assert (tmp_path / "model").stat().st_size > model.coef_.nbytes


def test_a_failed_save_leaves_the_old_file(saved, monkeypatch):
    _, path = saved
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_model(SUREClassifier(), path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]
