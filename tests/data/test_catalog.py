"""The catalog: what is embedded, found, missing, downloaded, and refused."""

import os
from collections import Counter
from dataclasses import replace
from hashlib import sha1, sha256
from http.client import IncompleteRead
from unittest import mock

import numpy as np
import pytest
from scipy import io, sparse

from surelabel.data import catalog
from surelabel.data.catalog import Characteristics
from surelabel.exceptions import DataMissingError, DownloadError, ParameterError

EMBEDDED = ["deter", "dermatology", "ecoli", "glass"]
REAL_WORLD = ["lost", "msrcv2", "soccer-player", "yahoo-news", "fg-net", "italian", "bird-song"]
CROWDS = ["labelme", "cifar10n"]


# ---------------------------------------------------------------- facts


def test_the_names():
    assert sorted(catalog.names()) == sorted([*EMBEDDED, "usps", *REAL_WORLD, *CROWDS])


def test_the_paper_tables_are_transcribed():
    tables = {
        table: {spec.title: spec.expected for spec in catalog.SPECS.values() if spec.table == table}
        for table in ("Table 1", "Table 3")
    }
    assert tables == {
        "Table 1": {
            "deter": (358, 23, 6, None),
            "ecoli": (336, 7, 8, None),
            "glass": (214, 9, 6, None),
            "usps": (9298, 256, 10, None),
        },
        "Table 3": {
            "Lost": (1122, 108, 16, 2.23),
            "MSRCv2": (1758, 48, 23, 3.16),
            "Soccer Player": (17472, 279, 171, 2.09),
            "Yahoo! News": (22991, 163, 219, 1.91),
            "FG-NET": (1002, 262, 78, 7.48),
        },
    }


@pytest.mark.parametrize("name", catalog.names())
def test_every_set_says_where_it_comes_from_on_what_terms_and_how_to_verify_it(name):
    spec = catalog.describe(name)
    assert spec.task
    assert spec.origin
    assert spec.licence
    assert len(bytes.fromhex(spec.git_blob)) == 20
    # Two files were never measured by anyone here: their git blob id alone is known.
    assert (spec.sha256 is None) == (name in ("soccer-player", "yahoo-news"))
    assert spec.sha256 is None or len(bytes.fromhex(spec.sha256)) == 32
    assert spec.ordered == (name == "fg-net")


def test_an_unknown_name_is_answered_with_the_nearest():
    message = r"there is no data set 'Lots'; did you mean 'lost'\? The names are deter, "
    with pytest.raises(ParameterError, match=message):
        catalog.load("Lots")


# ---------------------------------------------------------------- embedded sets


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("dermatology", {1: 111, 2: 60, 3: 71, 4: 48, 5: 48, 6: 20}),
        (
            "ecoli",
            {"cp": 143, "im": 77, "pp": 52, "imU": 35, "om": 20, "omL": 5, "imS": 2, "imL": 2},
        ),
        ("glass", {1: 70, 2: 76, 3: 17, 5: 13, 6: 9, 7: 29}),
    ],
)
def test_embedded_sets_have_the_class_counts_of_uci(name, counts):
    data = catalog.load(name)
    assert Counter(data.y.tolist()) == counts
    assert data.candidates is None
    assert data.classes.tolist() == sorted(counts)


def test_deter_is_dermatology_with_the_histopathological_features_and_age():
    deter, dermatology = catalog.load("deter"), catalog.load("dermatology")
    with (catalog._EMBEDDED / "dermatology.csv").open(encoding="utf-8") as file:
        columns = file.readline().split(",")
    np.testing.assert_array_equal(deter.X, dermatology.X[:, 11:])
    assert columns[11] == "melanin_incontinence"
    assert columns[33] == "age"
    assert dermatology.X[:, 33].max() == 75
    assert deter.y.tolist() == dermatology.y.tolist()


@pytest.fixture
def home(monkeypatch, tmp_path):
    """The data home of a test."""
    monkeypatch.setenv("SURELABEL_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


def test_embedded_files_have_their_checksums_and_attribution(home):
    states = {status.spec.name: status for status in catalog.status()}
    for name in EMBEDDED:
        assert states[name].state == "embedded"
        assert states[name].measured == catalog.describe(name).expected
        assert catalog.describe(name).file in (catalog._EMBEDDED / "ATTRIBUTION.md").read_text(
            encoding="utf-8"
        )


# ---------------------------------------------------------------- the data home


def made_up_file(path, *, sparse_labels=True, seed=0, m=30, n=5, l=4):
    """A small file of the form of the real ones."""
    rng = np.random.default_rng(seed)
    truth = np.eye(l)[rng.integers(l, size=m)].T
    partial = np.maximum(truth, rng.random((l, m)) < 0.3)
    form = sparse.csc_matrix if sparse_labels else lambda labels: labels.astype(np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    labels = {"partial_target": form(partial), "target": form(truth)}
    io.savemat(path, {"data": rng.normal(size=(m, n))} | labels)
    return partial, truth


@pytest.mark.parametrize("folder", ["", "realworld", "uci"])
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("soccer-player", "Soccer Player.mat"),
        ("yahoo-news", "Yahoo! News.mat"),
        ("bird-song", "BirdSong.mat"),
    ],
)
def test_files_of_the_same_form_are_loaded_from_each_folder(home, folder, name, file):
    partial, truth = made_up_file(home / folder / file, sparse_labels=name != "yahoo-news")
    data = catalog.load(name)
    np.testing.assert_array_equal(data.candidates.to_indicator(), partial.T)
    np.testing.assert_array_equal(data.y, truth.argmax(axis=0))
    assert data.name == name
    assert data.measure() == Characteristics(30, 5, 4, round(partial.sum() / 30, 2))


def test_the_environment_variable_names_the_home(tmp_path, monkeypatch):
    made_up_file(tmp_path / "lost.mat")
    monkeypatch.setenv("SURELABEL_DATA", str(tmp_path))
    assert catalog.load("lost").X.shape == (30, 5)
    monkeypatch.setenv("SURELABEL_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(DataMissingError):
        catalog.load("lost")


def test_without_it_the_home_is_in_the_cache_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv("SURELABEL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert catalog.data_home().name == "surelabel"


@pytest.mark.parametrize(
    ("name", "place"), [("lost", "realworld/lost.mat"), ("usps", "uci/usps.npz")]
)
def test_absent_data_is_an_error_that_says_where_the_file_belongs(home, name, place):
    with pytest.raises(DataMissingError) as caught:
        catalog.load(name)
    assert str(home / place) in str(caught.value)
    assert ("surelabel datasets --fetch" in str(caught.value)) == (name == "lost")


def test_status_tells_present_missing_differing_and_unreadable(home, monkeypatch):
    made_up_file(home / "lost.mat", seed=1)
    made_up_file(home / "MSRCv2.mat", seed=2)
    (home / "FG-NET.mat").write_bytes(b"torn")
    monkeypatch.setitem(catalog.SPECS, "lost", spec_of("lost", (home / "lost.mat").read_bytes()))
    found = {status.spec.name: status for status in catalog.status()}
    states = [found[name].state for name in ("lost", "msrcv2", "fg-net", "italian")]
    assert states == ["present", "differs", "unreadable", "missing"]
    assert found["lost"].measured[:3] == (30, 5, 4)
    assert "FG-NET.mat" in found["fg-net"].problem
    assert str(home / "realworld" / "italian.mat") in found["italian"].problem


# ---------------------------------------------------------------- download


def spec_of(name, content):
    """The facts of a data set as if ``content`` were its file; a checksum that is not known stays
    unknown.
    """
    spec = catalog.describe(name)
    blob = sha1(b"blob " + str(len(content)).encode() + b"\0" + content).hexdigest()
    return replace(spec, git_blob=blob, sha256=spec.sha256 and sha256(content).hexdigest())


@pytest.fixture
def server(monkeypatch, tmp_path):
    """The folder that is downloaded from."""
    folder = tmp_path / "server"
    folder.mkdir()
    monkeypatch.setattr(catalog, "BASE_URL", f"{folder.as_uri()}/")
    return folder


@pytest.fixture(params=["lost", "soccer-player", "yahoo-news"])
def published(request, monkeypatch, tmp_path):
    """A data set (with SHA-256 and git blob id, or the latter only) and the content of its file."""
    made_up_file(tmp_path / "original.mat")
    content = (tmp_path / "original.mat").read_bytes()
    monkeypatch.setitem(catalog.SPECS, request.param, spec_of(request.param, content))
    return catalog.describe(request.param), content


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_good_file_is_kept_and_not_asked_for_again(server, published, home):
    spec, content = published
    (server / spec.file).write_bytes(content)
    path = catalog.fetch(spec.name)
    assert path.read_bytes() == content
    assert files_below(home) == [os.path.join("realworld", spec.file)]
    assert catalog.load(spec.name).X.shape == (30, 5)
    (server / spec.file).unlink()
    assert catalog.fetch(spec.name) == path


@pytest.mark.parametrize(("name", "agrees"), [("yahoo-news", True), ("lost", False)])
def test_the_blob_id_is_that_of_git_and_a_sha256_must_agree_too(
    server, monkeypatch, home, name, agrees
):
    # echo hello | git hash-object --stdin
    spec = replace(catalog.describe(name), git_blob="ce013625030ba8dba906f756967f9e9ca394464a")
    monkeypatch.setitem(catalog.SPECS, name, spec)
    (server / spec.file).write_bytes(b"hello\n")
    if agrees:
        assert catalog.fetch(name).read_bytes() == b"hello\n"
    else:
        with pytest.raises(DownloadError, match="checksum differs"):
            catalog.fetch(name)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("cut", "its checksum differs"),
        ("other content", "its checksum differs"),
        ("empty", "its checksum differs"),
        ("absent", "No such file"),
        ("cut on the way", "IncompleteRead"),
    ],
)
def test_what_is_not_the_file_is_refused_and_the_old_file_kept(
    server, published, home, monkeypatch, kind, reason
):
    spec, content = published
    (home / "realworld").mkdir(parents=True)
    (home / "realworld" / spec.file).write_bytes(b"older")
    found = {"cut": content[:50], "other content": content[::-1], "empty": b""}
    if kind in found:
        (server / spec.file).write_bytes(found[kind])
    if kind == "cut on the way":
        cut = mock.Mock(side_effect=IncompleteRead(content[:50], 100))
        monkeypatch.setattr(catalog, "urlopen", cut)
    with pytest.raises(DownloadError) as caught:
        catalog.fetch(spec.name)
    message = str(caught.value)
    assert server.as_uri() in message
    assert str(home / "realworld" / spec.file) in message
    assert reason in message
    assert "\n" not in message
    assert files_below(home) == [os.path.join("realworld", spec.file)]
    assert (home / "realworld" / spec.file).read_bytes() == b"older"


def test_a_damaged_file_is_replaced_where_it_lies(server, published, home):
    spec, content = published
    (server / spec.file).write_bytes(content)
    home.mkdir()
    (home / spec.file).write_bytes(b"torn")
    path = catalog.fetch(spec.name)
    assert path == home / spec.file
    assert path.read_bytes() == content


def test_a_home_that_cannot_be_written_is_named(published, home):
    home.mkdir()
    (home / "realworld").write_text("a file where the folder should be")
    with pytest.raises(DownloadError, match="cannot write into"):
        catalog.fetch(published[0].name)


def test_usps_has_no_known_address_and_embedded_sets_need_none(home):
    with pytest.raises(DownloadError, match=r"no public address of usps.npz .*put usps.npz at"):
        catalog.fetch("usps")
    assert catalog.fetch("glass").name == "glass.csv"


# ---------------------------------------------------------------- the real files, where they are


def real(name):
    home = os.environ.get("SURELABEL_DATA")
    if not home:
        pytest.skip("SURELABEL_DATA does not name a data home")
    if catalog._find(catalog.describe(name)) is None:
        pytest.skip(f"{catalog.describe(name).file} is not in SURELABEL_DATA")
    return catalog.load(name)


@pytest.mark.parametrize("name", ["usps", *REAL_WORLD])
def test_real_files_have_the_characteristics_of_the_tables(name):
    data = real(name)
    assert data.measure() == catalog.describe(name).expected
    assert np.isin(data.y, data.classes).all()
    if data.candidates is not None:
        # The true label is always a candidate in the published sets.
        assert (data.candidates.to_indicator()[np.arange(len(data.y)), data.y] == 1).all()


@pytest.mark.parametrize(("name", "covered"), [("labelme", 0.889), ("cifar10n", 0.982)])
def test_sets_of_people_are_the_unions_of_their_votes(name, covered):
    data = real(name)
    assert data.measure() == catalog.describe(name).expected
    votes = [set(row[row >= 0]) for row in data.candidates.votes]
    assert [set(row) for row in data.candidates] == [set(data.classes[[*row]]) for row in votes]
    assert data.candidates.contains(data.y).mean() == pytest.approx(covered)


def test_real_files_are_the_published_ones():
    real("lost")
    states = {status.spec.name: status.state for status in catalog.status()}
    assert set(states.values()) <= {"embedded", "present", "missing"}


def test_fg_net_labels_are_ages():
    data = real("fg-net")
    assert (data.y.min(), data.y.max(), len(np.unique(data.y))) == (0, 69, 63)
