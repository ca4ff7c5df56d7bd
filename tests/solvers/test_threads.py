from concurrent.futures import ThreadPoolExecutor

from threadpoolctl import threadpool_info

from surelabel.solvers.threads import blas_threads, one_thread_of_scipy


def threads():
    return {
        each["filepath"]: each["num_threads"]
        for each in threadpool_info()
        if each["user_api"] == "blas"
    }


def test_scipy_has_one_thread_and_numpy_keeps_its_own():
    before = threads()
    with one_thread_of_scipy, ThreadPoolExecutor(1) as others:
        others.submit(one_thread_of_scipy.__enter__).result()
        within = threads()
    assert threads() == within  # another thread is still inside
    one_thread_of_scipy.__exit__()
    assert threads() == before
    for path, number in within.items():
        assert number == (1 if "/scipy" in path else before[path])


def test_few_rows_have_one_thread():
    before = threads()
    with blas_threads(100) as others:
        assert others == max(before.values())
        assert set(threads().values()) == {1}
    with blas_threads(10_000):
        assert threads() == before
