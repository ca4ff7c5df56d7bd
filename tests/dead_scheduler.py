"""A Dask cluster in a process of its own, to be killed."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

CODE = """
import time
from dask.distributed import LocalCluster
cluster = LocalCluster(
    n_workers=1, threads_per_worker=1, processes=False, protocol="tcp",
    dashboard_address=None, silence_logs=50,
)
print(cluster.scheduler_address, flush=True)
time.sleep(600)
"""


@contextmanager
def cluster() -> Iterator[tuple[str, subprocess.Popen]]:
    """The address of its scheduler, and its process."""
    process = subprocess.Popen([sys.executable, "-c", CODE], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.communicate()
