from pathlib import Path

import pytest

from surelabel.solvers import memory


def test_what_is_free_here_is_a_sensible_number():
    assert 10**6 < memory.available_memory() < 10**15


def test_the_smaller_of_machine_and_control_group(monkeypatch):
    for machine, group, expected in (
        (100, 30, 30),
        (100, None, 100),
        (None, 30, 30),
        (100, 0, 0),
        (None, None, None),
    ):
        monkeypatch.setattr(memory, "_machine", lambda value=machine: value)
        monkeypatch.setattr(memory, "_control_group", lambda value=group: value)
        assert memory.available_memory() == expected


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "Path", lambda path: tmp_path / Path(path).relative_to("/"))
    folder = tmp_path / "sys/fs/cgroup"
    (folder / "memory").mkdir(parents=True)
    return folder


def test_control_groups_of_both_versions(root):
    assert memory._control_group() is None
    (root / "memory/memory.limit_in_bytes").write_text("5000\n")
    (root / "memory/memory.usage_in_bytes").write_text("2000\n")
    assert memory._control_group() == 3000
    (root / "memory.max").write_text("900\n")
    (root / "memory.current").write_text("1000\n")
    assert memory._control_group() == 0  # over its limit
    (root / "memory.max").write_text("max\n")
    assert memory._control_group() == 3000


def test_machines_that_do_not_tell_what_is_free(root, monkeypatch):
    monkeypatch.setattr(
        "os.sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}[name]
    )
    assert memory._machine() == 4_096_000
    info = root.parents[2] / "proc/meminfo"
    info.parent.mkdir()
    info.write_text("MemTotal: 900 kB\nMemAvailable:   123 kB\n")
    assert memory._machine() == 123 * 1024
