"""Model files made to do harm: nothing runs, nothing is written, memory stays bounded, and whatever
is wrong is said in one sentence.

Every value of every class is replaced by others. The files are read in another process, with little
memory, by this file run as a program; it says of each file what came of it.
"""

import copy
import faulthandler
import io
import json
import os
import subprocess
import sys
import warnings
import zipfile
from collections import Counter
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

#: Bytes of address space beyond what the libraries take, and seconds for a file.
MEMORY, PATIENCE = 2**30, 20
TYPES = {"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f4", "<f8"}
FIRST_LINE = b"surelabel model 3\n"

# -------------------------------------------------------------------- good files, taken apart


class Lie:
    """An array that is declared as another."""

    def __init__(self, array, **declared):
        self.array = array
        self.declared = declared


def taken_apart(content):
    """The header of a file, with the arrays in their places."""
    start = len(FIRST_LINE) + 8
    length = int.from_bytes(content[len(FIRST_LINE) : start], "little")
    header, rest = (
        json.loads(content[start : start + length]),
        io.BytesIO(content[start + length : -32]),
    )

    def with_arrays(node):
        if isinstance(node, dict):
            return {name: with_arrays(part) for name, part in node.items()}
        if isinstance(node, list) and len(node) == 3 and str(node[0]) in TYPES:
            kind, shape, order = node
            flat = np.frombuffer(rest.read(int(np.prod(shape)) * np.dtype(kind).itemsize), kind)
            return flat.reshape(shape, order=order)
        return [with_arrays(part) for part in node] if isinstance(node, list) else node

    found = with_arrays(header["model"])
    assert not rest.read()
    return found


def put_together(model):
    """A file with this model, whatever it is."""
    data = []

    def described(node):
        if isinstance(node, dict):
            return {name: described(part) for name, part in node.items()}
        if isinstance(node, list):
            return [described(part) for part in node]
        if isinstance(node, np.ndarray | Lie):
            lie = node.declared if isinstance(node, Lie) else {}
            array = node.array if isinstance(node, Lie) else node
            data.append(np.ascontiguousarray(array).tobytes())
            kind, shape = lie.get("kind", array.dtype.str), lie.get("shape", list(array.shape))
            return [kind, shape, lie.get("order", "C")]
        return node

    header = json.dumps({"surelabel": "0.2.0", "model": described(model)}).encode()
    return sealed(len(header).to_bytes(8, "little") + header + b"".join(data))


def sealed(content):
    """A file with this content after the first line, and its checksum."""
    content = FIRST_LINE + content
    return content + sha256(content).digest()


def paths_of(node, path=()):
    """The places of all values, from the outside in."""
    yield path
    if isinstance(node, dict):
        for name, part in node.items():
            yield from paths_of(part, (*path, name))
    elif isinstance(node, list):
        for i, part in enumerate(node[:2]):
            yield from paths_of(part, (*path, i))


def get(node, path):
    for step in path:
        node = node[step]
    return node


def replaced(model, path, value):
    """A copy of a model with another value at this place."""
    if not path:
        return value
    model = copy.deepcopy(model)
    get(model, path[:-1])[path[-1]] = value
    return model


def removed(model, path):
    model = copy.deepcopy(model)
    del get(model, path[:-1])[path[-1]]
    return model


# -------------------------------------------------------------------- other values


def other_arrays(array):
    """What might stand in the place of an array."""
    yield from (array[:-1], array[:0], np.concatenate([array, array]), array.ravel(), array[None])
    yield array.T.copy() if array.ndim == 2 else array[:, None]
    yield from (array.astype(kind) for kind in ("f4", "i8", "b1", "u1", "i1", "u8"))
    if array.dtype.kind == "f":
        for number in (np.nan, np.inf, 1e300, -1e300, 0.0):
            yield np.full_like(array, number if array.itemsize == 8 else np.float32(number))
    if array.dtype.kind in "iu" and array.size:
        for number in (-1, int(array.max()) + 1, 2**31 - 1, 0):
            yield np.full(array.shape, number, np.int64)
        yield array[::-1]
    many = [10**9, *array.shape[1:]]
    for lie in (
        {"shape": many}, {"shape": [0, 2**40]}, {"shape": [2**62, 2**62]}, {"shape": [-1]},
        {"shape": [True]}, {"shape": [1.5]}, {"shape": "x"}, {"shape": []}, {"shape": [1] * 40},
        {"kind": "|O"}, {"kind": "<U9"}, {"kind": "<c16"}, {"kind": "<V8"}, {"kind": "<M8[D]"},
        {"kind": ">f8"}, {"kind": "f8,i4"}, {"kind": 8}, {"order": "K"}, {"order": None},
    ):  # fmt: skip
        yield Lie(array, **lie)
    yield from (None, 1, "x", [], {}, array.ravel()[:3].tolist())


def deep(levels):
    node = []
    for _ in range(levels):
        node = [node]
    return node


def other_values(value):
    """What might stand in the place of another value."""
    if isinstance(value, np.ndarray):
        yield from other_arrays(value)
        return
    yield from (None, True, False, 0, -1, 3, 10**6, 2**63, 10**40, 0.5, -1e308, 1e308)
    yield from ("", "x", "os.system", "a" * 5000, [], {}, [None], [1, 2], {"a": 1}, deep(50))
    yield from ("auto", "linear", "precomputed", "nystroem", "rbf", "number", "image")
    yield np.zeros(3)
    if isinstance(value, list) and value:
        yield from (value[:-1], [*value, value[-1]], value * 3, value[::-1], [*value, None])
        yield [value[0]] * 10**5 if isinstance(value[0], str | int | float) else [value]


def other_classes(known):
    yield from known
    yield from ("Pipeline", "SURERetrainer", "GridSearchCV", "sklearn.pipeline.Pipeline", "eval")
    yield from ("surelabel.estimators.sure.SUREClassifier", "distributed.ClusterError", "Known", "")


EXTRA = {
    **{"n_jobs": 10**6, "callback": "os.system", "verbose": 1, "memory": "/tmp/x", "cv": 3},
    **{"estimator": "os.system", "kernel": ["rbf"] * 9, "__class__": "x", "__dict__": {}},
    **{"predict": 1, "classes_": None, "_outputs": "x", "transduction_": ["a"], "_index": 1},
}


def crafted(model, known):
    """Files that differ from a good one in one place."""
    for path in paths_of(model):
        value = get(model, path)
        values = other_classes(known) if path and path[-1] == "class" else other_values(value)
        for other in values:
            yield "/".join(map(str, path)), replaced(model, path, other)
        if path:
            yield f"{'/'.join(map(str, path))} removed", removed(model, path)
        if isinstance(value, dict):
            for name, part in EXTRA.items():
                yield f"{'/'.join(map(str, path))} + {name}", replaced(model, (*path, name), part)


def bombs(good):
    """Small files that would like to be large, and files of other forms."""
    header = b'{"model": %s}'
    yield from (good[:i] for i in range(0, len(good), max(1, len(good) // 40)))
    yield from (good + b"\0", good * 2, b"\0" + good, good[:18] + b"\xff" * 8 + good[26:])
    for text in (
        b"[" * 10**5, b"[]" * 10**5, b"[%s]" % b",".join([b"[]"] * 2 * 10**6), b"1" * 10**4,
        b"NaN", b"1e999", b"\xff\xfe", b'{"class": NaN}', b'"' + b"a" * 10**6, b"{}", b"null",
        b'{"class": {"class": 1}}', b'{"class": ["SUREClassifier"]}', b'{"class": "../../etc"}',
        b'{"class": "SUREClassifier", "parameters": {}, "parameters": [], "values": 1}',
    ):  # fmt: skip
        text = header % text
        yield sealed(len(text).to_bytes(8, "little") + text)
    for size in (0, 1, 2**31, 2**63):
        yield sealed(size.to_bytes(8, "little"))
    for name in ("surelabel.json", "../../x", "/etc/passwd", "surelabel.json"):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, b"\0" * 10**6)
        yield file.getvalue()
    labels = {"n_features_in_": 1, "classes_": ["a" * 1000, *map(str, range(10**5))]}
    yield put_together({"class": "CLPLClassifier", "parameters": {}, "values": labels})
    rows = np.arange(10**6 + 1, dtype=np.int32)
    sparse = [rows, np.zeros(10**6, np.int8), np.zeros(10**6, np.int8)]
    long = {"n_features_in_": 1, "classes_": ["a" * 1000, "b"], "confidence_": sparse}
    yield put_together({"class": "CLPLClassifier", "parameters": {}, "values": long})


def large_models(L=10**5):
    """Classifiers of one feature that agree with themselves, with as many classes, points or pairs
    as a few megabytes hold.
    """

    def zeros(*shape):
        return np.zeros(shape, np.float32)

    def rows(m):
        return [np.arange(m + 1), np.zeros(m, np.int64), np.ones(m, np.int8)]

    def machines(p, n):
        empty = [np.zeros(p + 1, np.int64), np.zeros(0, np.int64), zeros(0)]
        values = {"gamma": 1.0, "intercept": zeros(p), "vectors": zeros(1, n), "coef": empty}
        return {"class": "_GaussianMachines", "values": values}

    def model(kind, n_classes, parameters=(), **values):
        values = {"n_features_in_": 1, "classes_": np.arange(n_classes)} | values
        return {"class": kind, "parameters": dict(parameters), "values": values}

    linear = {"coef_": zeros(L, 1), "intercept_": zeros(L)}
    margin = linear | {"scale_": 1.0, "_possible": np.ones(L, bool)}
    kernel = {"solver_": "dual", "gamma_": 1.0, "intercept_": zeros(2)}
    places = np.arange(1, L + 1, dtype=np.float32)[:, None]
    named = {"kernel": "rbf"}
    yield model("CLPLClassifier", L, **margin)
    yield model("PLSVMClassifier", L, **margin)
    yield model("SelfTrainingPLClassifier", L, **linear)
    yield model("WeightedCandidatesClassifier", L, _seen=np.arange(L), **linear)
    yield model("LSBCMMClassifier", 2, posterior_=zeros(L + 1, 2) + 1, **linear)
    for k, l in ((L, 2), (5, L)):
        near = {"X_fit_": places, "candidates_": rows(L)}
        yield model("PLKNNClassifier", l, {"n_neighbors": k}, **near)
    for m, k, l in ((1000, 1000, 2), (L, 3, L)):
        near = {"X_fit_": places[:m], "labels_": np.zeros(m, np.int64)}
        yield model("IPALClassifier", l, {"n_neighbors": k}, **near)
    wide = kernel | {"intercept_": zeros(L), "X_fit_": zeros(1, 1), "dual_coef_": zeros(1, L)}
    yield model("SUREClassifier", L, named, **wide)
    yield model("SUREClassifier", 2, named, **kernel, X_fit_=zeros(L, 1), dual_coef_=zeros(L, 2))
    flat = linear | {"origin_": zeros(1), "origin_output_": zeros(L), "gamma_": None}
    yield model("SUREClassifier", L, {"kernel": "linear"}, **{"solver_": "primal"} | flat)
    pairs = 700 * 699 // 2
    paloc = {"confidence_": rows(9), "_possible": np.ones(700, bool)}
    paloc |= {"_pairs": machines(pairs, 1), "_labels": machines(700, 1 + pairs)}
    yield model("PALOCClassifier", 700, **paloc)
    chosen = {"beta": 1.0, "gamma": 1.0, "kernel": "rbf", "scaling": "none"}
    crowd = {"annotators_": [], "kernels_": [chosen], "scalings_": [zeros(0, 1)]}
    crowd |= {"points_": [zeros(1, 1)], "scale_": 1.0, "failure_": 0.5}
    crowd |= {"class_prior_": np.full(L, 1 / L), "dual_coefs_": [zeros(1, L)]}
    crowd |= {"intercept_": zeros(L)}
    yield model("CrowdClassifier", L, **crowd)


# -------------------------------------------------------------------- the other process

TABLE = pa.table(
    {
        "size": [1.0, 2.5, None, 4.0, 1.5, 3.0] * 5,
        "weight": [5.0, 2.0, 1.0, 4.0, 9.0, 3.0] * 5,
        "colour": ["red", "blue", None, "red", "blue", "green"] * 5,
        "note": ["a furry cat", "the loud dog", "", "a cat again", "dogs bark", "a cow"] * 5,
        "vector": [[1.0, 2.0], [0.5, 0.1], None, [3.0, 1.0], [1.0, 1.0], [2.0, 0.0]] * 5,
        "day": ["2020-01-05", "2021-03-02", None, "2022-07-09", "2020-02-02", "2023-11-30"] * 5,
        "labels": ["cat", "dog", "cat|cow", "cat", "dog|cat", "cow"] * 5,
    }
)


def good_models():
    """A fitted model of every class, as small as can be."""
    import surelabel
    from surelabel import SURECV, CandidateSets, CrowdClassifier, PUREClassifier, SUREClassifier
    from surelabel.estimators import all_methods

    rng = np.random.default_rng(0)
    X = rng.normal(size=(18, 3))
    names = np.array(["cat", "cow", "dog"])[np.arange(18) % 3]
    sets = CandidateSets.from_lists(
        [[name] if i % 2 else [name, "cat"] for i, name in enumerate(names)]
    )
    few = {"n_neighbors": 3}
    for name, method in all_methods().items():
        given = few if "n_neighbors" in method.estimator().get_params() else {}
        yield name, method.estimator(**given).fit(X, sets)
    for kernel in ("linear", "laplacian"):
        yield kernel, SUREClassifier(kernel=kernel).fit(X, sets)
    yield "landmarks", PUREClassifier(kernel="rbf", solver="nystroem", n_components=4).fit(X, sets)
    yield "kernel matrix", SUREClassifier(kernel="precomputed").fit(X @ X.T, sets)
    yield "numbers", SUREClassifier().fit(X, np.arange(18) % 3)
    yield "search", SURECV([0.1], [0.1, 1.0], cv=2).fit(X, sets)
    votes = np.array([names, names[::-1], names]).T.astype(object)
    yield "crowd", CrowdClassifier().fit(X, CandidateSets.from_votes(votes))
    yield "table", surelabel.fit(TABLE, labels="labels", method="PLKNN").model
    yield "encoder", surelabel.fit(TABLE, labels="labels", method="CLPL").model.encoder


def use(model):
    """Predict, and check that the result is one."""
    import surelabel

    if hasattr(model, "transform"):
        X = model.transform(TABLE)
        assert X.shape == (TABLE.num_rows, len(model.get_feature_names_out()))
        return
    if hasattr(model, "encoder"):
        found = surelabel.predict(model, TABLE.drop_columns("labels"))
        assert np.isfinite(found["confidence"].to_numpy()).all()
        return
    if len(model.classes_) > 100 or model.n_features_in_ == 1:  # a large one, on many rows
        assert model.predict(np.random.default_rng(1).normal(size=(300, 1))).shape == (300,)
        return
    X = np.random.default_rng(1).normal(size=(5, min(model.n_features_in_, 1000)))
    proba = model.predict_proba(X)
    assert proba.shape == (5, len(model.classes_))
    assert np.isfinite(proba).all()
    assert np.allclose(proba.sum(axis=1), 1, atol=1e-3)
    assert np.isin(model.predict(X), model.classes_).all()
    model.decision_function(X)


HARM = ("os.system", "os.exec", "os.fork", "os.posix_spawn", "subprocess.", "pickle.", "socket.")
HARM += ("shutil.", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "ctypes.dlopen")
harmed: list[str] = []
watching = False


def watch(event, arguments):
    """Python tells of every command, file and pickle."""
    written = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if watching and (written or event.startswith(HARM)):
        harmed.append(f"{event} {arguments[:1]}")


def files():
    """All crafted files, each with its name."""
    from surelabel import save_model
    from surelabel.estimators.stored import KNOWN
    from surelabel.tables.stored import KNOWN as TABLES

    for name, model in good_models():
        if not hasattr(model, "transform") and not hasattr(model, "encoder"):
            model.predict(np.zeros((1, model.n_features_in_)))  # everything is imported
        save_model(model, "good")
        good = Path("good").read_bytes()
        os.remove("good")
        apart = taken_apart(good)
        assert put_together(apart)
        yield name, put_together(apart)  # is accepted
        for place, node in crafted(apart, [*KNOWN, *TABLES]):
            yield f"{name}: {place}", lambda node=node: put_together(node)
        if name in ("SURE", "table"):
            for i, content in enumerate(bombs(good)):
                yield f"{name}: bomb {i}", content
    for model in large_models():
        yield model["class"], lambda model=model: put_together(model)  # accepted, without harm


def attack(every, offset):
    """Read every so many-th file; print what came of it."""
    global watching
    import surelabel
    from surelabel.exceptions import SurelabelError

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    all_files = list(files())
    limit_memory()
    sys.addaudithook(watch)
    counts, path = Counter(), Path("model")
    for number, (name, content) in enumerate(all_files):
        if ": " in name and number % every != offset:
            continue
        path.write_bytes(content() if callable(content) else content)
        harmed.clear()
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        print(json.dumps({"now": name}), flush=True)
        problem, watching = None, True
        try:
            model = surelabel.load_model(path)
            counts["loaded"] += 1
            use(model)
            counts["used"] += 1
        except SurelabelError as error:
            counts["refused"] += 1
            if ": " not in name or len(str(error)) > 1000 or not str(error).isprintable():
                problem = f"refused: {str(error)[:300]}"
        except BaseException as error:
            problem = f"{type(error).__name__}: {str(error)[:300]}"
        watching = False
        faulthandler.cancel_dump_traceback_later()
        if harmed or os.listdir() != ["model"]:
            problem = f"{harmed} {os.listdir()}"
        if problem:
            print(json.dumps({"name": name, "problem": problem}), flush=True)
    print(json.dumps({"counts": counts}), flush=True)


def limit_memory():
    with suppress(ImportError, OSError):  # only Linux says how much there is
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


# -------------------------------------------------------------------- the test


def run_attack(every, offset, folder):
    environment = os.environ | {
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    run = subprocess.run(
        [sys.executable, "-X", "faulthandler", __file__, str(every), str(offset)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
    )
    told = [json.loads(line) for line in run.stdout.splitlines()]
    problems = [(line["name"], line["problem"]) for line in told if "problem" in line]
    if run.returncode:
        problems.append((told[-1:], f"ended with {run.returncode}: {run.stderr[-1500:]}"))
    return problems, told[-1].get("counts", {}) if told else {}


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of memory")
def test_every_value_of_every_class_replaced(tmp_path):
    problems, counts = run_attack(16, 3, tmp_path)
    assert problems == []
    assert counts["refused"] > 500
    assert counts["used"] > 50  # among them the good ones


if __name__ == "__main__":
    attack(int(sys.argv[1]), int(sys.argv[2]))
