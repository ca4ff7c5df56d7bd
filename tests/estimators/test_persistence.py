import io
import json
import pickle
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from surelabel import SUREClassifier, SURERetrainer, load_model, make_partial, save_model
from surelabel.exceptions import ModelFileError


@pytest.fixture
def saved(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), SUREClassifier()).fit(
        X, make_partial(y, p=0.5, r=1, random_state=0)
    )
    path = tmp_path / "model.skops"
    save_model(model, path)
    return model, path, X


def test_round_trip(saved):
    model, path, X = saved
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded[-1].confidence_.toarray(), model[-1].confidence_.toarray())
    assert [file.name for file in path.parent.iterdir()] == ["model.skops"]


def test_meta_estimator_round_trip(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SURERetrainer(LogisticRegression(max_iter=1000), tol=0.05).fit(
        X, make_partial(y, p=0.5, r=1, random_state=0)
    )
    save_model(model, tmp_path / "m")
    np.testing.assert_array_equal(
        load_model(tmp_path / "m").predict_proba(X), model.predict_proba(X)
    )


def test_truncated_at_every_tenth_of_its_length(saved):
    _, path, _ = saved
    content = path.read_bytes()
    for tenth in range(10):
        path.write_bytes(content[: len(content) * tenth // 10])
        with pytest.raises(
            ModelFileError,
            match=r"model\.skops: this is not a surelabel model file, or it is truncated",
        ):
            load_model(path)


def test_flipped_bytes(saved):
    """A damaged file gets our error or, where the byte is one that does not count, gives the same
    model; nothing else.
    """
    model, path, X = saved
    content = bytearray(path.read_bytes())
    refused = 0
    for position in np.random.default_rng(0).integers(0, len(content), 60):
        broken = bytearray(content)
        broken[position] ^= 0xFF
        path.write_bytes(broken)
        try:
            loaded = load_model(path)
        except ModelFileError:
            refused += 1
        else:
            np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert refused > 40


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"PK\x03\x04", pickle.dumps({"a": 1})],
    ids=["empty", "text", "zip", "pickle"],
)
def test_foreign_file(tmp_path, content):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ModelFileError, match="not a surelabel model file"):
        load_model(tmp_path / "model")


def test_file_of_skops_but_not_ours(tmp_path):
    skops.io.dump(StandardScaler(), tmp_path / "scaler.skops")
    with pytest.raises(ModelFileError, match="another program"):
        load_model(tmp_path / "scaler.skops")


@pytest.mark.parametrize("schema", [None, b"{", b"{}", b"[]"])
def test_our_stamp_on_something_else(saved, schema):
    _, path, _ = saved
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("surelabel.json", json.dumps({"format": 1, "surelabel": "0.1.0"}))
        if schema is not None:
            archive.writestr("schema.json", schema)
    with pytest.raises(ModelFileError, match="damaged, or of a newer format"):
        load_model(path)


def test_newer_file(saved):
    _, path, _ = saved
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w") as new:
        for name in old.namelist():
            stamp = {"format": 99, "surelabel": "9.0"}
            new.writestr(name, json.dumps(stamp) if name == "surelabel.json" else old.read(name))
    path.write_bytes(content.getvalue())
    with pytest.raises(
        ModelFileError, match=r"saved by surelabel 9\.0, newer than this one .* upgrade"
    ):
        load_model(path)


def test_missing_file(tmp_path):
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path / "none.skops")


def a_kernel(x, z):
    return float(x @ z)


@pytest.mark.parametrize(
    "name", ["os.system", "builtins.exec", "subprocess.Popen", "sklearn.utils._testing.raises"]
)
def test_a_file_that_names_something_to_run_is_refused(saved, name):
    """The class of the model replaced by something dangerous, as a forger would."""
    _, path, _ = saved
    module, _, forged = name.rpartition(".")
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w") as new:
        for entry in old.namelist():
            text = old.read(entry)
            if entry == "schema.json":
                text = text.replace(b'"SUREClassifier"', f'"{forged}"'.encode())
                text = text.replace(b'"surelabel.estimators.sure"', f'"{module}"'.encode())
            new.writestr(entry, text)
    path.write_bytes(content.getvalue())
    with pytest.raises(ModelFileError, match=f"refers to {name}"):
        load_model(path)


def test_own_functions_load_only_when_trusted(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SUREClassifier(kernel=a_kernel).fit(X, y)
    save_model(model, tmp_path / "model")
    with pytest.raises(ModelFileError, match="a_kernel") as caught:
        load_model(tmp_path / "model")
    name = next(word.strip(",") for word in str(caught.value).split() if "a_kernel" in word)
    np.testing.assert_array_equal(
        load_model(tmp_path / "model", trusted=[name]).predict(X), model.predict(X)
    )


def test_a_failed_save_leaves_the_old_file(saved, monkeypatch):
    _, path, _ = saved
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_model(SUREClassifier(), path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["model.skops"]
