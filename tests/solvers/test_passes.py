"""Passes over blocks: order, threads, and features that are kept in memory, on disk or
not at all.
"""

import os
import tempfile
import threading

import numpy as np
import pytest

from surelabel.solvers.memory import BLOCK, block_rows, feature_rows
from surelabel.solvers.out_of_core import ordered_map
from surelabel.solvers.threads import _libraries
from tests.solvers.test_lowrank import fit, local_passes, problem


def test_results_come_in_order_whatever_the_number_of_threads():
    expected = [number**2 for number in range(50)]
    for n_jobs in (None, 1, 2, 7, -1):
        assert list(ordered_map(lambda number: number**2, range(50), n_jobs)) == expected
    assert list(ordered_map(len, [], 2)) == []


def test_no_more_items_are_read_than_are_worked_on():
    read = []

    def items():
        for number in range(100):
            read.append(number)
            yield number

    results = ordered_map(lambda number: number, items(), 2)
    for number in range(10):
        assert next(results) == number
        assert len(read) <= number + 4  # two at work, one read ahead, one given back
    results.close()
    assert len(read) < 20


def test_an_error_in_the_work_or_in_the_reading_comes_out_and_ends_the_threads():
    before = threading.active_count()

    def work(number):
        if number == 3:
            raise KeyError("in the work")
        return number

    def items():
        yield from range(3)
        raise OSError("in the reading")

    with pytest.raises(KeyError, match="in the work"):
        list(ordered_map(work, range(1000), 2))
    with pytest.raises(OSError, match="in the reading"):
        list(ordered_map(work, items(), 2))
    assert threading.active_count() == before


def test_blas_gets_its_threads_back():
    def numbers():
        return [library["num_threads"] for library in _libraries().info()]

    with _libraries().limit(limits=2):
        before = numbers()
        inside = [set(numbers()) for _ in ordered_map(lambda number: number, range(3), 2)]
        assert inside == [{1}] * 3
        assert numbers() == before


def test_blocks_do_not_depend_on_the_machine():
    assert block_rows(1000) == feature_rows(1000) == BLOCK // 1000
    assert (block_rows(10**9), feature_rows(10**9)) == (1, 256)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_where_features_are_kept_changes_no_bit(dtype):
    Z, Y = problem(150)
    Z = Z.astype(dtype)
    expected = fit(Z, Y, features=lambda X: X * 2)
    for keep in ("memory", "disk", "recompute"):
        for n_jobs in (1, 3):
            P, W, b, objective, _ = fit(Z, Y, keep=keep, n_jobs=n_jobs, features=lambda X: X * 2)
            assert np.array_equal(P, expected[0])
            assert np.array_equal(W, expected[1])
            assert np.array_equal(b, expected[2])
            assert np.array_equal(objective, expected[3])


@pytest.mark.parametrize(("keep", "times"), [("memory", 1), ("disk", 1), ("recompute", 6)])
def test_features_are_made_once_or_in_every_pass(keep, times):
    Z, Y = problem(80)
    made = []
    fit(
        Z, Y, keep=keep, features=lambda X: made.append(len(X)) or X.copy(), options={"max_iter": 4}
    )
    assert made == [40, 40] * times  # factor, start, four iterations


def open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(
    not os.path.isdir("/proc/self/fd"), reason="counts open files as Linux shows them"
)
def test_nothing_is_left_of_features_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    Z, Y = problem(100)
    before = open_files()

    def look(_):
        assert list(tmp_path.iterdir()) == []  # the file has no name even while it is used
        assert open_files() == before + 1

    fit(Z, Y, keep="disk", callback=look)
    assert open_files() == before

    def broken(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(Z, Y, keep="disk", callback=broken)
    assert open_files() == before
    assert list(tmp_path.iterdir()) == []


def test_reads_and_writes_that_do_a_part_only(monkeypatch):
    Z, Y = problem(100)
    expected = fit(Z, Y)
    pwrite, preadv = os.pwrite, os.preadv
    monkeypatch.setattr(os, "pwrite", lambda file, content, at: pwrite(file, content[:100], at))
    monkeypatch.setattr(os, "preadv", lambda file, parts, at: preadv(file, [parts[0][:77]], at))
    P, W, *_ = fit(Z, Y, keep="disk")
    assert np.array_equal(P, expected[0])
    assert np.array_equal(W, expected[1])


def test_a_file_that_was_cut_short_is_an_error_not_an_endless_loop():
    Z, Y = problem(100)
    with local_passes(Z, Y, keep="disk") as passes:
        passes.moments()
        os.ftruncate(passes._store._descriptor, 1000)
        with pytest.raises(OSError, match="features ends too early"):
            passes.start("uniform")
