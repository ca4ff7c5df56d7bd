"""Model files made to do harm: nothing runs, nothing is written, and one line says why."""

import copy
import io
import json
import pickle
import struct
import sys
import time
import warnings
import zipfile
import zlib
from contextlib import suppress

import numpy as np
import pytest
from numpy.lib import format as npy
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

import surelabel.tables
from surelabel import (
    CandidateSets,
    PLKNNClassifier,
    SUREClassifier,
    load_model,
    make_partial,
    save_model,
)
from surelabel.estimators.persistence._archive import write_archive
from surelabel.estimators.persistence._parts import KINDS
from surelabel.estimators.persistence._taking_apart import take_apart
from surelabel.estimators.persistence._types import Types
from surelabel.exceptions import ModelFileError

X, y = load_iris(return_X_y=True)
assert surelabel.tables  # imported, so that a file does not do it
STAMP = "surelabel.json"

# -------------------------------------------------------------------- what ran

HARM = (
    *("os.system", "os.exec", "os.posix_spawn", "subprocess.", "pickle.", "socket.", "shutil."),
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "ctypes.dlopen", "code.__new__"),
)
OURS = ("surelabel", "sklearn", "numpy", "scipy")
seen: list[tuple] = []
watching = False


def watch(event, arguments):
    """Python tells of every command, file, import and pickle."""
    if not watching:
        return
    harmful = event.startswith(HARM)
    if event == "open" and isinstance(arguments[1], str):
        harmful = bool(set(arguments[1]) & set("wax+"))
    if event == "import":
        harmful = arguments[0].partition(".")[0] not in (*OURS, *sys.stdlib_module_names)
    if harmful:
        seen.append((event, arguments))


sys.addaudithook(watch)


@pytest.fixture
def refused(tmp_path):
    """A function that asserts that a file is refused in one line, without anything else."""
    path = tmp_path / "model"

    def check(content, message=None):
        global watching
        path.write_bytes(content)
        seen.clear()
        watching = True
        try:
            with pytest.raises(ModelFileError, match=message) as caught:
                load_model(path)
        finally:
            watching = False
        assert seen == []
        text = str(caught.value)
        assert text.startswith(f"{path}: ")
        assert text.isprintable()
        assert len(text) < 800
        assert [file.name for file in tmp_path.iterdir()] == ["model"]

    return check


def test_the_watch_sees(tmp_path):
    global watching
    watching = True
    (tmp_path / "file").write_text("")
    pickle.loads(pickle.dumps(np.float64(1)))
    watching = False
    assert {event for event, _ in seen} == {"open", "pickle.find_class"}


# -------------------------------------------------------------------- files to start from


def unpacked(model):
    """The content and the bytes of the arrays of a model's file."""
    save_model(model, "unpacked")
    with zipfile.ZipFile("unpacked") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    content = json.loads(members.pop(STAMP))
    return content, members


def packed(content, members, *, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        text = content if isinstance(content, bytes | str) else json.dumps(content)
        archive.writestr(STAMP, text)
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def npy_bytes(array):
    file = io.BytesIO()
    npy.write_array(file, array, version=(1, 0), allow_pickle=False)
    return file.getvalue()


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """A model of many kinds of parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("start"))
        model = make_pipeline(
            ColumnTransformer([("rest", StandardScaler(), slice(0, 4))]),
            SUREClassifier(),
        ).fit(X, make_partial(y, p=0.5, r=1, random_state=0))
        model.random = np.random.RandomState(0)
        model.tree = {"a": frozenset([float("nan")]), "b": np.array([None, 1.5], dtype=object)}
        return unpacked(model)


# -------------------------------------------------------------------- hostile parts in every place


def named(name):
    """Every kind of part that names something."""
    return [
        {"kind": "object", "type": name, "names": [], "values": []},
        {"kind": "object", "type": name, "names": ["args"], "values": ["touch harmed"]},
        {"kind": "type", "name": name},
        {"kind": "function", "name": name},
        {"kind": "loss", "type": name, "arguments": []},
        {"kind": "mapping", "type": name, "keys": [], "values": []},
        {"kind": "sparse", "type": name, "shape": [0, 0], "data": None, "indices": None}
        | {"indptr": None},
    ]


NAMES = [
    "os.system",
    "posix.system",
    "builtins.eval",
    "builtins.getattr",
    "builtins.type",
    "subprocess.Popen",
    "functools.partial",
    "operator.methodcaller",
    "pickle.Unpickler",
    "types.FunctionType",
    "numpy.load",
    "numpy.lib._npyio_impl.NpzFile",
    "joblib.memory.Memory",
    "sklearn.os",
    "sklearn.pipeline.check_memory",
    "sklearn.pipeline.Parallel",
    "sklearn.utils._testing.raises",
    "sklearn.externals.array_api_compat.common._helpers.sys",
    "sklearn.datasets._base.load_files",
    "sklearn.metrics._scorer.get_scorer",
    "sklearn.metrics._scorer.partial",
    "sklearn.tree.tests.test_tree.os",
    "sklearn.svm._classes.np",
    "sklearn.svm.SVC",  # not where it is defined
    "sklearn.tree._tree.Tree",
    "sklearn.neighbors._kd_tree.KDTree",
    "surelabel.estimators.persistence.os",
    "surelabel.estimators.persistence._types.import_module",
    "surelabel.estimators.persistence._types.pkgutil",
    "surelabel.estimators.paloc.clone",
    "surelabel.files.replacing",
    "surelabel.tables._columns.pa",
    "surelabel.cli.fit.typer",
    "__main__.__loader__",
    "",
    ".",
    "..os.system",
    "sklearn..svm",
    "sklearn.svm._classes.SVC.fit",
    "sklearn.svm._classes.\u00e4\n",
]
#: The nodes of skops, and pickle's ways.
FOREIGN = [
    {"__loader__": f"{name}Node", "__module__": "os", "__class__": "system", "content": {}}
    for name in [
        "Method",
        "Function",
        "Partial",
        "Type",
        "OperatorFunc",
        "ConstructorFromReduce",
        "Object",
        "Json",
        "Dict",
        "DefaultDict",
        "List",
        "Set",
        "Tuple",
        "Bytes",
        "Bytearray",
        "Slice",
        "NdArray",
        "MaskedArray",
        "DType",
        "RandomState",
        "RandomGenerator",
        "SparseMatrix",
        "Tree",
        "Loss",
        "Cached",
        "QuantileForest",
    ]
]
FOREIGN += [{"kind": part["__loader__"], **part} for part in FOREIGN]
FOREIGN += [
    {"kind": kind} for kind in ("reduce", "method", "__reduce__", "pickle", "", None, 1, [])
]
FOREIGN += [{}, [], None, 1, "os.system", [0], {"kind": "object"}]
HOSTILE = [part for name in NAMES for part in named(name)] + FOREIGN

#: A part of each kind whose values can be filled in; one place for each.
SAMPLES = {
    "text": "dict",
    "texts": ["args"],
    "integer": 0,
    "integers": [1],
}
PLACES = [
    (kind, name) for kind, fields in KINDS.items() for name in fields if "value" in fields[name]
] + ["model", "nowhere"]


def with_part(content, hostile, place):
    """The content with a hostile part, referred to from a part of another kind."""
    content = copy.deepcopy(content)
    parts = content["parts"]
    parts.append(hostile)
    reference = [len(parts) - 1]
    if place == "model":
        content["model"] = reference
    elif place != "nowhere":
        kind, field = place
        part = {"kind": kind}
        for name, form in KINDS[kind].items():
            filled = reference if name == field else "a"
            part[name] = SAMPLES.get(form, [filled] if form == "values" else filled)
        if kind == "object":
            part["type"] = "sklearn.svm._classes.SVC"
        if kind == "mapping":
            part["type"] = "dict"
        parts.append(part)
        last = [len(parts) - 1]
        parts.append({"kind": "list", "items": [content["model"], last]})
        content["model"] = [len(parts) - 1]
    return content


@pytest.mark.parametrize(
    "place", PLACES, ids=lambda place: place if isinstance(place, str) else "-".join(place)
)
def test_hostile_parts(start, refused, place):
    content, members = start
    # every other in one place, every thirteenth in each of the others
    step = 2 if place == "nowhere" else 13
    for hostile in HOSTILE[::step]:
        refused(packed(with_part(content, hostile, place), members))


def test_how_many():
    assert len(HOSTILE) > 300
    assert len(PLACES) > 15


def test_everything_is_checked_before_anything_is_built(start, refused, monkeypatch):
    content, members = start
    monkeypatch.setattr(
        "surelabel.estimators.persistence._building._built", lambda *_: pytest.fail("built")
    )
    refused(packed(with_part(content, named("os.system")[2], "nowhere"), members), "os.system")


def test_the_exploit_of_version_0_1(start, refused):
    """A dict whose key types are a list with a method of a module that one of ours imports."""
    node = {
        "__class__": "dict",
        "__module__": "builtins",
        "__loader__": "DictNode",
        "content": {"touch harmed": {"__loader__": "JsonNode", "content": "1"}},
        "key_types": {
            "__class__": "list",
            "__module__": "builtins",
            "__loader__": "ListNode",
            "content": [
                {
                    "__class__": "os",
                    "__module__": "surelabel.estimators.persistence",
                    "__loader__": "MethodNode",
                    "content": {
                        "func": "system",
                        "obj": {
                            "__class__": "os",
                            "__module__": "surelabel.estimators.persistence",
                            "__loader__": "FunctionNode",
                        },
                    },
                }
            ],
        },
        "protocol": 2,
    }
    content, members = start
    schema = {"schema.json": json.dumps(node)}
    refused(packed({"format": 1, "surelabel": "0.1.0"}, schema), "no longer read; fit the model")
    refused(packed({"format": 2, "surelabel": "0.2.0"}, schema), "members")
    refused(packed({"format": 2, "surelabel": "0.2.0", **node}, {}), "not a list")
    refused(packed({**content, "parts": [*content["parts"], node]}, members), "no known kind")
    refused(packed({**content, "parts": [node], "model": [0]}, members), "no known kind")


def test_attributes_that_are_none(start, refused):
    content, members = start
    for name in ("predict", "__class__", "__dict__", "get_params", "coef_", "", "a b", "a.b", "é!"):
        part = {
            "kind": "object",
            "type": "sklearn.svm._classes.SVC",
            "names": [name],
            "values": [None],
        }
        refused(packed(with_part(content, part, "nowhere"), members))


def test_references(start, refused):
    content, members = start
    n = len(content["parts"])
    for reference in (
        [n],
        [n + 1],
        [n + 10**9],
        [-1],
        [True],
        [0, 1],
        [],
        [None],
        [[0]],
        [0.0],
        {},
    ):
        part = {"kind": "list", "items": [reference]}
        refused(packed(with_part(content, part, "nowhere"), members), "wrong items")
    for model in ([n], [-1], [], {}, [None]):
        refused(packed({**content, "model": model}, members))
    refused(packed({key: content[key] for key in content if key != "model"}, members))


def test_deep_and_wide(start, refused):
    content, members = start
    deep = [{"kind": "list", "items": []}]
    deep += [{"kind": "list", "items": [[i]]} for i in range(5_000)]
    refused(packed({**content, "parts": deep, "model": [5_000]}, {}), "deeper")
    many = packed({**content, "parts": [0] * 1_000_001}, {}, method=zipfile.ZIP_STORED)
    refused(many, "not a list")
    # numbers that all fall on one place of a dict
    keys = [i * (2**61 - 1) for i in range(20_000)]
    part = {"kind": "set", "items": keys}
    refused(packed(with_part(content, part, "nowhere"), members), "keys")
    # a tuple of two tuples of two tuples ... takes forever to hash
    twice = [{"kind": "tuple", "items": []}]
    twice += [{"kind": "tuple", "items": [[i], [i]]} for i in range(60)]
    twice += [{"kind": "set", "items": [[60]]}]
    refused(packed({**content, "parts": twice, "model": [61]}, {}), "key|values")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"null",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"format": 2, "parts": [], "model": NaN}',
        b'{"format": 2, "parts": [], "model": Infinity}',
        b'{"format": 2, "parts": [], "model": -1e999}',
        b'{"format": 2, "parts": [], "model": ' + b"9" * 10_000 + b"}",
        b'{"format": 2.0, "parts": [], "model": null}',
        b'{"format": "2", "parts": [], "model": null}',
        b'{"format": -1, "surelabel": "\\u001b[31m\\n"}',
        b'{"format": 99, "surelabel": {"a": "\\n"}}',
        b'{"format": 2, "parts": {}, "model": null}',
        b"\xff\xfe\xfd",
        b'{"format": 2, "parts": ["\xff"], "model": null}',
    ],
    ids=lambda text: repr(text[:40]),
)
def test_texts_that_are_no_json(refused, text):
    refused(packed(text, {}))


# -------------------------------------------------------------------- arrays


def header(text, version=(1, 0), data=b""):
    text = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H", len(text)) + text + data


def described(descr, shape, order=False):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


class Payload:
    """Unpickled, it makes a file."""

    def __reduce__(self):
        import os

        return os.system, ("touch harmed",)


def object_array():
    file = io.BytesIO()
    np.save(file, np.array([Payload()], dtype=object), allow_pickle=True)
    return file.getvalue()


ARRAYS = {
    "pickle": pickle.dumps(Payload()),
    "object array": object_array(),
    "structured with objects": header(described("[('a', '|O')]", (1,)), data=b"\0" * 8),
    "structured": header(described("[('a', '<i4')]", (1,)), data=b"\0" * 4),
    "sub-array": header(described("('<i4', (2,))", (1,)), data=b"\0" * 8),
    "void": header(described("'|V8'", (1,)), data=b"\0" * 8),
    "complex": header(described("'<c16'", (1,)), data=b"\0" * 16),
    "huge": header(described("'<f8'", (10**15,)), data=b"\0" * 8),
    "huge times huge": header(described("'<f8'", (2**40, 2**40)), data=b""),
    "overflow": header(described("'<f8'", (2**32, 2**32)), data=b""),
    "empty but wide": header(described("'<f8'", (0, 10**15))),
    "no letters": header(described("'<U0'", (10**15,))),
    "negative": header(described("'<f8'", (-1,)), data=b"\0" * 8),
    "two negatives": header(described("'<f8'", (-1, -1)), data=b"\0" * 8),
    "truth as shape": header(described("'<f8'", (True,)), data=b"\0" * 8),
    "longer": header(described("'<f8'", (1,)), data=b"\0" * 9),
    "shorter": header(described("'<f8'", (2,)), data=b"\0" * 9),
    "many sides": header(described("'<f8'", (1,) * 70), data=b"\0" * 8),
    "other version": header(described("'<f8'", (1,)), version=(3, 0), data=b"\0" * 8),
    "call": header("__import__('os').system('touch harmed')"),
    "deep": header("(" * 9000),
    "no header": header("1"),
    "other keys": header("{'descr': '<f8', 'shape': (1,)}", data=b"\0" * 8),
    "cut": header(described("'<f8'", (1,)))[:50],
    "empty": b"",
    "zip": packed({}, {}),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(start, refused, name):
    content, members = start
    for member in ("0.npy", list(members)[-1]):
        refused(packed(content, {**members, member: ARRAYS[name]}))


def test_parts_and_arrays_that_differ(start, refused):
    content, members = start
    last = f"{len(members)}.npy"
    refused(packed(content, {**members, last: members["0.npy"]}), "differ")
    refused(packed(content, {name: members[name] for name in list(members)[:-1]}), "differ")
    refused(packed(content, {name: members[name] for name in list(members)[1:]}), "members")
    for member in (0, len(members), 10**30):
        part = {"kind": "array", "member": member}
        refused(packed(with_part(content, part, "nowhere"), members), "differ")


# -------------------------------------------------------------------- archives


@pytest.mark.parametrize(
    "name",
    [
        *("../x.npy", "/x.npy", "a/0.npy", "..\\x.npy", "C:\\x", "0.npy/", "x" * 5000, "01.npy"),
        *("-1.npy", "0.NPY", "\u0660.npy", "schema.json", "__init__.py", "x\x00.npy", "\n"),
    ],
    ids=lambda name: ascii(name[:12]),
)
@pytest.mark.filterwarnings("ignore")
def test_names_of_members(start, refused, name):
    content, members = start
    renamed = dict(members)
    data = renamed.pop("0.npy")
    refused(packed(content, {**renamed, name: data}))
    refused(packed(content, {**members, f"{name}_": data}))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(start, refused):
    content, members = start
    for name in ("0.npy", STAMP):
        file = io.BytesIO(packed(content, members))
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr(name, members["0.npy"])
        refused(file.getvalue(), "two members have one name")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_packing(start, refused, method):
    refused(packed(*start, method=method), "packed in another way")


def entries(content):
    """Where the entries of the directory of an archive are."""
    at = struct.unpack("<I", content[-6:-2])[0]
    while content[at : at + 4] == b"PK\x01\x02":
        yield at
        at += 46 + sum(struct.unpack("<HHH", content[at + 28 : at + 34]))


def patched(content, entry, offset, form, value):
    content = bytearray(content)
    struct.pack_into(form, content, list(entries(content))[entry] + offset, value)
    return bytes(content)


def test_the_directory(start, refused):
    content = packed(*start)
    for entry in (0, 1, -1):
        refused(patched(content, entry, 8, "<H", 1), "packed in another way")  # encrypted
        for size in (2**31, 2**32 - 2):
            refused(patched(content, entry, 24, "<I", size), "claims to hold")
            refused(patched(content, entry, 20, "<I", size))
        refused(patched(content, entry, 24, "<I", 10))  # shorter than it is
        refused(patched(content, entry, 24, "<I", 10**6))  # longer
        refused(patched(content, entry, 16, "<I", 0))  # another checksum
        refused(patched(content, entry, 42, "<I", len(content)))
    first = struct.unpack_from("<I", content, next(entries(content)) + 42)[0]
    refused(patched(content, 1, 42, "<I", first), "overlap")
    refused(patched(content, -1, 42, "<I", first + 40), "overlap")


def zeros(size):
    """Packed zeros, without packing them all."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * (size // 2**20) + packer.flush()


def bomb(name, claimed, size=3 * 2**30):
    """An archive with a member that unpacks to ``size`` bytes and claims another number."""
    data = zeros(size)
    sizes = struct.pack("<III", 0, len(data), claimed)
    fields = struct.pack("<HHHHH", 20, 0, 8, 0, 33)
    lengths = struct.pack("<HH", len(name), 0)
    local = b"PK\x03\x04" + fields + sizes + lengths + name.encode() + data
    entry = b"PK\x01\x02" + struct.pack("<H", 20) + fields + sizes + lengths
    entry += struct.pack("<HHHII", 0, 0, 0, 0, 0) + name.encode()
    end = struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(local), 0)
    return local + entry + b"PK\x05\x06" + end


@pytest.mark.parametrize("name", [STAMP, "0.npy"])
@pytest.mark.parametrize("claimed", [3 * 2**30, 2**31, 300 * 2**20, 2**20, 10, 0])
def test_bombs(refused, name, claimed):
    content = bomb(name, claimed)
    began = time.perf_counter()
    refused(content)
    assert time.perf_counter() - began < 1


def test_bomb_within_the_limit(start, refused):
    """50 MB of zeros are unpacked, and are no array."""
    content, members = start
    refused(packed(content, {**members, "0.npy": bytes(50 * 2**20)}))


# -------------------------------------------------------------------- what compiled code believes


def tampered(model, kind, change, monkeypatch, tmp_path_factory):
    """The file of a model with its parts of one kind changed, and arrays by their part."""
    monkeypatch.chdir(tmp_path_factory.mktemp("tampered"))
    content, members = unpacked(model)
    arrays = {name: np.load(io.BytesIO(data)) for name, data in members.items()}
    parts = content["parts"]

    def array_of(value):
        return arrays[f"{parts[value[0]]['member']}.npy"]

    found = [part for part in parts if part.get("type", part["kind"]).endswith(kind)]
    change(found[-1], array_of, parts)
    return packed(content, {name: npy_bytes(array) for name, array in arrays.items()})


def attribute(part, name):
    return part["values"][part["names"].index(name)]


def in_attribute(name, at, value):
    def change(part, array_of, parts):
        array_of(attribute(part, name))[at] = value

    return change


def replaced(name, value):
    def change(part, array_of, parts):
        part["values"][part["names"].index(name)] = value

    return change


def added(name, value):
    def change(part, array_of, parts):
        part["names"].append(name)
        part["values"].append(value)

    return change


def in_nodes(field, value, node=0):
    """Change a field (offset, form) of a record of a tree."""

    def change(part, array_of, parts):
        array = array_of(part["nodes"])
        offset, form = field
        size = struct.calcsize(form)
        array[node, offset : offset + size] = np.frombuffer(struct.pack(form, value), np.uint8)

    return change


def in_part(name, value):
    def change(part, array_of, parts):
        part[name] = value

    return change


def tree_elsewhere(part, array_of, parts):
    at = parts.index(part)
    parts.append({"kind": "list", "items": [[at]]})


LEFT, RIGHT, FEATURE = (0, "<q"), (8, "<q"), (16, "<q")
HIST_FEATURE, HIST_LEFT, HIST_CATEGORY = (12, "<q"), (29, "<I"), (51, "B")
FOREST = RandomForestClassifier(2, random_state=0)
BOOSTED = GradientBoostingClassifier(n_estimators=2, random_state=0)
HIST = HistGradientBoostingClassifier(max_iter=2)
ENCODER = make_pipeline(OneHotEncoder(min_frequency=30, drop="first"))
TEXTS = TfidfVectorizer()
TAMPERED = {
    "tree: a circle": (FOREST, "tree", in_nodes(LEFT, 0)),
    "tree: left too far": (FOREST, "tree", in_nodes(LEFT, 10**9)),
    "tree: right too far": (FOREST, "tree", in_nodes(RIGHT, 2**62)),
    "tree: before": (FOREST, "tree", in_nodes(RIGHT, -5)),
    "tree: half a leaf": (FOREST, "tree", in_nodes(LEFT, -1)),
    "tree: feature too far": (FOREST, "tree", in_nodes(FEATURE, 4)),
    "tree: feature before": (FOREST, "tree", in_nodes(FEATURE, -(10**9))),
    "tree: more features": (FOREST, "tree", in_part("n_features", 5)),
    "tree: more outputs": (FOREST, "tree", in_part("n_classes", [3, 3])),
    "tree: other classes": (FOREST, "tree", in_part("n_classes", [4])),
    "tree: huge classes": (FOREST, "tree", in_part("n_classes", [2**62, 2**62])),
    "tree: no classes": (FOREST, "tree", in_part("n_classes", [])),
    "tree: deep": (FOREST, "tree", in_part("max_depth", 2**62)),
    "tree: other fields": (FOREST, "tree", in_part("fields", ["left_child <i8", "64"])),
    "tree: no nodes": (FOREST, "tree", in_part("nodes", None)),
    "tree: no values": (FOREST, "tree", in_part("values", None)),
    "tree: elsewhere": (FOREST, "tree", tree_elsewhere),
    "forest: another width": (FOREST, "RandomForestClassifier", replaced("n_features_in_", 9)),
    "forest: no width": (FOREST, "RandomForestClassifier", replaced("n_features_in_", None)),
    "forest: of nothing": (FOREST, "RandomForestClassifier", replaced("estimators_", "tree")),
    "tree: another width": (FOREST, "DecisionTreeClassifier", replaced("n_features_in_", 9)),
    "forest: other classes": (FOREST, "RandomForestClassifier", replaced("n_classes_", 10**7)),
    "forest: other outputs": (FOREST, "RandomForestClassifier", replaced("n_outputs_", 10**7)),
    "boosting: feature": (BOOSTED, "tree", in_nodes(FEATURE, 77)),
    "boosting: classes": (BOOSTED, "DummyClassifier", in_part("type", "sklearn.svm._classes.SVC")),
    "boosting: start": (
        BOOSTED,
        "GradientBoostingClassifier",
        lambda part, array_of, parts: (
            replaced("init_", "zero")(part, array_of, parts),
            replaced("n_trees_per_iteration_", 1)(part, array_of, parts),
        ),
    ),
    "boosting: shape": (BOOSTED, "objects", in_part("shape", [6, 1])),
    "histograms: feature": (HIST, "tree_predictor", in_nodes(HIST_FEATURE, 4)),
    "histograms: child": (HIST, "tree_predictor", in_nodes(HIST_LEFT, 10**6)),
    "histograms: circle": (HIST, "tree_predictor", in_nodes(HIST_LEFT, 0)),
    "histograms: in fit": (HIST, "HistGradientBoostingClassifier", added("_in_fit", True)),
    "histograms: classes": (
        HIST,
        "HistGradientBoostingClassifier",
        replaced("n_trees_per_iteration_", 10**7),
    ),
    "histograms: category": (HIST, "tree_predictor", in_nodes(HIST_CATEGORY, 1)),
    "machine: counts": (SVC(), "SVC", in_attribute("_n_support", 0, 10**6)),
    "machine: negative": (SVC(), "SVC", in_attribute("_n_support", slice(0, 2), [-1, 30])),
    "machine: support": (SVC(), "SVC", in_attribute("support_", 0, 10**6)),
    "machine: width": (SVC(), "SVC", replaced("n_features_in_", 40)),
    "machine: kernel": (SVC(), "SVC", replaced("kernel", "precomputed")),
    "machine: probabilities": (
        SVC(),
        "SVC",
        lambda part, array_of, parts: replaced("_probA", attribute(part, "support_"))(
            part, array_of, parts
        ),
    ),
    "machine: sparse": (SVC(), "SVC", replaced("_sparse", True)),
    "neighbours: labels": (
        KNeighborsClassifier(algorithm="brute"),
        "KNeighborsClassifier",
        in_attribute("_y", 0, 10**9),
    ),
    "neighbours: width": (
        KNeighborsClassifier(),
        "KNeighborsClassifier",
        replaced("n_features_in_", 1),
    ),
    "neighbours: metric": (
        KNeighborsClassifier(),
        "KNeighborsClassifier",
        replaced("effective_metric_", "pyfunc"),
    ),
    "means: width": (KMeans(2, n_init=1), "KMeans", replaced("n_features_in_", 9)),
    "bagging: classes": (
        BaggingClassifier(n_estimators=2),
        "BaggingClassifier",
        replaced("n_classes_", 10**7),
    ),
    "linear: intercept": (
        LogisticRegression(max_iter=500),
        "LogisticRegression",
        lambda part, array_of, parts: replaced("intercept_", attribute(part, "coef_"))(
            part, array_of, parts
        ),
    ),
    "machine: another kind": (SVC(), "SVC", added("_impl", "epsilon_svr")),
    "selection: a function elsewhere": (
        SelectKBest(k=2),
        "SelectKBest",
        lambda part, array_of, parts: replaced("k", attribute(part, "score_func"))(
            part, array_of, parts
        ),
    ),
    "polynomials: degree": (
        PolynomialFeatures(),
        "PolynomialFeatures",
        replaced("_max_degree", 10**6),
    ),
    "polynomials: columns": (
        PolynomialFeatures(),
        "PolynomialFeatures",
        replaced("n_output_features_", 10**7),
    ),
    "neighbours: many": (
        KNeighborsClassifier(),
        "KNeighborsClassifier",
        replaced("n_neighbors", 10**9),
    ),
    "our neighbours: many": (
        PLKNNClassifier(),
        "PLKNNClassifier",
        replaced("n_neighbors", 10**9),
    ),
    "votes: another class": (
        VotingClassifier([("a", GaussianNB())]),
        "GaussianNB",
        in_attribute("classes_", 1, 10**9),
    ),
    "dummy: another class": (
        DummyClassifier(strategy="constant", constant=1),
        "DummyClassifier",
        replaced("constant", 10**9),
    ),
    "dummy: outputs": (DummyRegressor(), "DummyRegressor", replaced("n_outputs_", 10**7)),
    "dummy: classes": (DummyClassifier(), "DummyClassifier", replaced("n_classes_", 10**7)),
    "texts: pattern": (TEXTS, "TfidfVectorizer", replaced("token_pattern", "(a+)+b")),
    "texts: repetitions": (TEXTS, "TfidfVectorizer", replaced("token_pattern", "a*a*a*b")),
    "texts: files": (TEXTS, "TfidfVectorizer", replaced("input", "filename")),
    "texts: together": (
        TEXTS,
        "TfidfVectorizer",
        lambda part, array_of, parts: parts[attribute(part, "ngram_range")[0]].update(
            items=[1, 10**9]
        ),
    ),
    "hashes: many": (HashingVectorizer(), "HashingVectorizer", replaced("n_features", 2**31)),
    "one hot: outputs": (
        ENCODER,
        "OneHotEncoder",
        lambda part, array_of, parts: parts[attribute(part, "_n_features_outs")[0]].update(
            items=[1] * 4
        ),
    ),
    "texts: position": (
        TEXTS,
        "TfidfVectorizer",
        lambda part, array_of, parts: parts[attribute(part, "vocabulary_")[0]].update(
            values=[10**6] * 3
        ),
    ),
    "hashes: by zero": (HashingVectorizer(), "HashingVectorizer", replaced("n_features", 0)),
    "sparse: position": (
        SUREClassifier(),
        "csr_array",
        lambda part, array_of, parts: array_of(part["indices"]).__setitem__(0, 10**6),
    ),
    "sparse: ends": (
        SUREClassifier(),
        "csr_array",
        lambda part, array_of, parts: array_of(part["indptr"]).__setitem__(3, 10**6),
    ),
    "sparse: shape": (SUREClassifier(), "csr_array", in_part("shape", [150, 1])),
    "sparse: huge": (SUREClassifier(), "csr_array", in_part("shape", [10**12, 3])),
    "random: position": (
        RandomForestClassifier(1, random_state=np.random.RandomState(0)),
        "random_state",
        in_part("pos", 10**6),
    ),
    "random: key": (
        RandomForestClassifier(1, random_state=np.random.RandomState(0)),
        "random_state",
        in_part("key", None),
    ),
    "generator": (HIST, "generator", in_part("state", 2**200)),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_tampered(name, refused, monkeypatch, tmp_path_factory):
    model, kind, change = TAMPERED[name]
    if model is TEXTS or isinstance(model, HashingVectorizer):
        model.fit(["red green blue"])
    elif model is ENCODER:
        model.fit(np.round(X))
    else:
        model.fit(X, y)
    content = tampered(model, kind, change, monkeypatch, tmp_path_factory)
    refused(content)


def test_candidates_that_are_none(refused, monkeypatch, tmp_path_factory):
    model = SUREClassifier().set_params(callback=CandidateSets.from_lists([["a"], ["b", "a"]]))
    content = tampered(
        model, "CandidateSets", replaced("_counts", "many"), monkeypatch, tmp_path_factory
    )
    refused(content)


def test_a_cache_folder_in_a_file(tmp_path, monkeypatch, tmp_path_factory):
    content = tampered(
        make_pipeline(StandardScaler(), Ridge()).fit(X, y),
        "Pipeline",
        replaced("memory", str(tmp_path / "cache")),
        monkeypatch,
        tmp_path_factory,
    )
    (tmp_path / "model").write_bytes(content)
    load_model(tmp_path / "model").fit(X, y)
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


# -------------------------------------------------------------------- by chance


def test_bytes_changed_by_chance(start, tmp_path):
    """Refused, or the same model where the byte does not count."""
    content = packed(*start)
    path = tmp_path / "model"
    path.write_bytes(content)
    expected = load_model(path).predict_proba(X)
    random = np.random.default_rng(0)
    refusals = []
    for number in range(400):
        broken = bytearray(content)
        for position in random.integers(0, len(content), 1 + number % 3):
            broken[position] = random.integers(256)
        if number % 5 == 0:
            at, size = random.integers(0, len(content), 2)
            del broken[at : at + size % 50]
        path.write_bytes(broken)
        try:
            loaded = load_model(path)
        except ModelFileError as error:
            refusals.append(str(error))
        else:
            np.testing.assert_array_equal(loaded.predict_proba(X), expected)
    assert len(refusals) > 300
    assert all(text.isprintable() for text in refusals)


MIXED = [None, True, 0, 1, -1, 2**31, 2**63, 1e300, "", "a", "<f8", [0], [5], [], {}, "predict"]


@pytest.mark.parametrize("model", [FOREST, BOOSTED, HIST, SVC(), KNeighborsClassifier()])
def test_values_changed_by_chance(model, tmp_path, monkeypatch):
    """A well-packed file with other values: refused, or a model that works or raises."""
    monkeypatch.chdir(tmp_path)
    content, members = unpacked(model.fit(X, y))
    random = np.random.default_rng(1)
    loads = 0
    for _ in range(60):
        changed, arrays = copy.deepcopy(content), dict(members)
        part = changed["parts"][random.integers(len(changed["parts"]))]
        field = random.choice([name for name in part if name != "kind"])
        if isinstance(part[field], list) and part[field] and random.integers(4):
            part[field][random.integers(len(part[field]))] = MIXED[random.integers(len(MIXED))]
        elif random.integers(2):
            part[field] = MIXED[random.integers(len(MIXED))]
        name = f"{random.integers(len(arrays))}.npy"
        data = bytearray(arrays[name])
        if len(data) > 128:
            data[random.integers(128, len(data))] ^= 1 << int(random.integers(8))
        arrays[name] = bytes(data)
        (tmp_path / "model").write_bytes(packed(changed, arrays))
        try:
            loaded = load_model(tmp_path / "model")
        except ModelFileError:
            continue
        loads += 1
        with np.errstate(all="ignore"), warnings.catch_warnings(), suppress(Exception):
            warnings.simplefilter("ignore")
            loaded.predict(X[:5])
    assert 3 < loads < 57


def unchecked_file(model, tmp_path):
    """A file of a model, without the checks of ``save_model``."""
    content, arrays = take_apart(model, Types(()))
    path = tmp_path / "unchecked.model"
    with open(path, "wb") as file:
        write_archive(file, content, arrays)
    return path


def test_binning_is_known_in_its_place_only(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    boosted = HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    save_model(boosted, tmp_path / "good.model")
    np.testing.assert_array_equal(
        load_model(tmp_path / "good.model").predict(X), boosted.predict(X)
    )
    mapper = boosted._bin_mapper
    for bare in (mapper, Pipeline([("bin", mapper), ("model", DummyClassifier())]), [mapper]):
        path = unchecked_file(bare, tmp_path)
        with pytest.raises(ModelFileError, match="a binning outside of its model"):
            load_model(path)
    with pytest.raises(ModelFileError):
        save_model(mapper, tmp_path / "never.model")
    assert not (tmp_path / "never.model").exists()


def test_boosting_does_not_begin_with_a_model_of_the_file(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    boosted = GradientBoostingClassifier(n_estimators=2, init=LogisticRegression()).fit(X, y)
    path = unchecked_file(boosted, tmp_path)
    with pytest.raises(ModelFileError, match="a model of its own to begin with"):
        load_model(path)


def test_lists_that_are_shared_do_not_grow(tmp_path):
    shared = [0]
    for _ in range(40):
        shared = [shared, shared]
    path = unchecked_file(DummyClassifier(constant=shared), tmp_path)
    with pytest.raises(ModelFileError, match="stands for too many values"):
        load_model(path)


def test_a_sparse_machine_without_coefficients(tmp_path):
    X = sparse.csr_matrix(np.random.default_rng(0).normal(size=(30, 3)))
    machine = SVC().fit(X, np.arange(30) % 3)
    machine._dual_coef_ = sparse.csr_matrix(machine._dual_coef_.shape)
    path = unchecked_file(machine, tmp_path)
    with pytest.raises(ModelFileError, match="other coefficients"):
        load_model(path)


@pytest.mark.parametrize("name", ["probability", "_effective_probability"])
def test_a_sparse_machine_without_its_probabilities(name, tmp_path):
    machine = SVC().fit(sparse.csr_matrix(X), y)
    setattr(machine, name, True)
    path = unchecked_file(machine, tmp_path)
    with pytest.raises(ModelFileError, match="other probabilities"):
        load_model(path)


def test_a_file_does_not_say_how_many_work(start, tmp_path):
    model = KMeans(2, n_init=1).fit(X)
    content, arrays = take_apart(model, Types(()))
    for part in content["parts"]:
        if part.get("type", "").endswith("KMeans"):
            part["names"].append("n_jobs")
            part["values"].append(10**6)
            replaced("_n_threads", 10**6)(part, None, None)
    with open(tmp_path / "model", "wb") as file:
        write_archive(file, content, arrays)
    loaded = load_model(tmp_path / "model")
    assert (loaded.n_jobs, loaded._n_threads) == (None, 1)


@pytest.mark.parametrize(
    "many",
    [
        lambda one: Pipeline([("scale", one)] * 40_000),
        lambda one: [[[one] * 40] * 40] * 40,
    ],
)
def test_one_estimator_in_many_places(many, tmp_path):
    path = unchecked_file(many(StandardScaler().fit(X)), tmp_path)
    with pytest.raises(ModelFileError, match="stands for too many values"):
        load_model(path)


def test_arrays_that_stretch_others(tmp_path):
    model = StandardScaler().fit(X)
    model.mean_ = np.zeros((50_000, 1, 1))
    path = unchecked_file(model, tmp_path)
    with pytest.raises(ModelFileError, match="more than two dimensions"):
        load_model(path)
