"""A small table with known truth under review, also behind its server."""

import csv
import http.client
import json
import sys
import threading

import numpy as np
import pytest

from surelabel.data.table_files import read_table
from surelabel.review.session import Review
from surelabel.tables.reading import TableRead

TOKEN = "a-token-for-tests"
NAMES = ("cat", "cow", "dog", "emu")


def write_rows(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def make_rows(n=160, seed=0):
    """Animals of four kinds in the plane, each with two or three candidates."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0, 0], [3, 0], [0, 3], [3, 3]])
    rows, truth = [], {}
    for i in range(n):
        kind = int(rng.integers(4))
        x, y = centres[kind] + rng.normal(0, 1.0, 2)
        others = rng.permutation([k for k in range(4) if k != kind])[: int(rng.integers(1, 3))]
        candidates = "|".join(NAMES[k] for k in sorted([kind, *others.tolist()]))
        note = f"seen at {i} o'clock"
        rows.append({"pet": f"p{i}", "x": f"{x:.3f}", "y": f"{y:.3f}", "note": note,
                     "candidates": candidates})  # fmt: skip
        truth[f"p{i}"] = NAMES[kind]
    return rows, truth


@pytest.fixture(scope="session")
def pets():
    return make_rows()


@pytest.fixture
def table(pets, tmp_path):
    return write_rows(tmp_path / "pets.csv", pets[0])


OPTIONS = {"labels": "candidates", "id": "pet", "exclude": "note"}


@pytest.fixture
def read_pets(table):
    def read(path=table, **changed):
        return TableRead(read_table(path), OPTIONS | changed)

    return read


class Served:
    """A review behind its server, in a thread."""

    def __init__(self, review, finish=None):
        from surelabel.review.server import listen, make_app, make_server

        self.review, self.place = review, listen()
        self.port = self.place.getsockname()[1]
        app = make_app(review, title="pets.csv", token=TOKEN, port=self.port, finish=finish)
        self.server = make_server(app)
        self._thread = threading.Thread(
            target=self.server.run, kwargs={"sockets": [self.place]}, daemon=True
        )
        self._thread.start()
        self.address = f"http://127.0.0.1:{self.port}/{TOKEN}/"

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        sent = {"Content-Type": "application/json"} | {
            name.replace("_", "-"): text for name, text in headers.items()
        }
        try:
            connection.request(method, path, body, sent)
            reply = connection.getresponse()
            return reply.status, reply.read().decode(), dict(reply.getheaders())
        finally:
            connection.close()

    def say(self, action, **said):
        status, text, _ = self.ask("POST", f"/{TOKEN}/{action}", json.dumps(said))
        return status, json.loads(text)

    def close(self):
        self.server.should_exit = True
        self._thread.join(10)
        self.place.close()
        self.review.close()


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """Start a review of so many pets behind a server."""
    servers = []
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-3)  # as the command does

    def go(n_rows, finish=None, **options):
        folder = tmp_path_factory.mktemp("served")
        rows, truth = make_rows(n_rows)
        path = write_rows(folder / "pets.csv", rows)
        read = TableRead(read_table(path), OPTIONS)
        review = Review(read, folder / "a.jsonl", **{"max_error": 0.1} | options)
        servers.append(Served(review, finish))
        servers[-1].truth = truth
        return servers[-1]

    yield go
    for server in servers:
        server.close()
    sys.setswitchinterval(before)
