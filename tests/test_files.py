"""Files appear complete or not at all, one or several."""

import os
import signal
import stat
from pathlib import Path

import pytest

from surelabel import SUREClassifier, load_model, save_model
from surelabel.exceptions import ParameterError, TableError
from surelabel.experiments import read_study
from surelabel.files import (
    all_or_none,
    checked_path,
    replacing,
    temporary_folder,
)
from surelabel.interrupts import remove_unfinished, unfinished
from surelabel.report import write_report


def write(path):
    with replacing(path) as file:
        file.write(b"new")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o444])
def test_a_file_keeps_the_mode_of_the_one_it_replaces(tmp_path, mode):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as file:
        (temporary,) = tmp_path.glob(".a*")
        assert stat.S_IMODE(temporary.stat().st_mode) == mode, "others could read it meanwhile"
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644)])
def test_a_new_file_follows_the_umask(tmp_path, umask, mode):
    path, before = tmp_path / "a", os.umask(umask)
    try:
        with replacing(path) as file:
            file.write(b"new")
            assert not path.exists()
    finally:
        os.umask(before)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_what_is_unfinished_can_be_removed_at_once(tmp_path):
    with (  # noqa: PT012
        temporary_folder() as folder,
        pytest.raises(FileNotFoundError),
        replacing(tmp_path / "a"),
    ):
        remove_unfinished(unfinished)
        assert not os.path.exists(folder)
        assert not list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_nothing_is_left_of_a_failure(tmp_path, error):
    (tmp_path / "a").write_text("old")

    def fail():
        with replacing(tmp_path / "a") as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        fail()
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def test_links_are_followed(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "link").symlink_to("a")
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_text() == "new"


def test_folders_and_devices_are_not_replaced(tmp_path):
    for path in (tmp_path, "/dev/null"):
        with (
            pytest.raises(FileExistsError, match="not a file that can be replaced"),
            replacing(path),
        ):
            pytest.fail("it was opened")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "none" / "a"):
        pytest.fail("it was opened")
    assert caught.value.filename == str(tmp_path / "none" / "a")


def test_several_files_come_together(tmp_path):
    with all_or_none():
        write(tmp_path / "a.csv")
        write(tmp_path / "b.html")
        assert not (tmp_path / "a.csv").exists()
        assert not (tmp_path / "b.html").exists()
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.html"]
    write(tmp_path / "c")
    assert (tmp_path / "c").read_text() == "new"


@pytest.fixture
def interruptible():
    """Ctrl-C raises, as in a program; the processes of parallel tests ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_waits_until_all_are_replaced(tmp_path, monkeypatch):
    paths = [tmp_path / "a.csv", tmp_path / "b.html"]
    replace = Path.replace

    def interrupted(self, target):
        replace(self, target)
        signal.raise_signal(signal.SIGINT)

    def write_both():
        with all_or_none():
            for path in paths:
                write(path)
            monkeypatch.setattr(Path, "replace", interrupted)

    with pytest.raises(KeyboardInterrupt):
        write_both()
    assert [path.read_text() for path in paths] == ["new", "new"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_several_files_fail_together(tmp_path):
    paths = [tmp_path / "a.csv", tmp_path / "b.html"]
    for path in paths:
        path.write_text("old")

    def fail():
        with all_or_none():
            write(paths[0])
            raise TableError("full")

    with pytest.raises(TableError, match="full"):
        fail()
    assert [path.read_text() for path in paths] == ["old", "old"]
    assert len(os.listdir(tmp_path)) == 2


@pytest.mark.parametrize("path", ["a\0b", "\ud800", 5, None, b"x", 1.5, [], True], ids=ascii)
def test_what_is_no_path(path):
    with pytest.raises(ParameterError, match=r"not the path|cannot be the name") as caught:
        checked_path(path)
    assert str(caught.value).isprintable()
    for function in (load_model, lambda path: save_model(None, path), read_study):
        with pytest.raises(ParameterError):
            function(path)
    with pytest.raises(ParameterError):
        write_report("results", path)


@pytest.mark.parametrize("path", [".", "nowhere/model", "file/model", "m" * 300, "/dev/full"])
def test_places_where_no_model_can_be_written(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ParameterError, match=r"cannot be written there .*name another file"):
        save_model(SUREClassifier().fit([[0.0], [1.0]], ["a", "b"]), path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
