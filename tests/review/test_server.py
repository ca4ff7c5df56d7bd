"""The server: this machine, this page, whoever knows the address, and nobody else."""

import os
import socket

import pytest

pytest.importorskip("uvicorn", reason="needs surelabel[review]")

from surelabel.review.server import LARGEST
from surelabel.tables.answers import read_answers

TOKEN = "a-token-for-tests"  # as in conftest


@pytest.fixture(scope="module")
def served(serve):
    return serve(60, finish=lambda: ["cleaned.csv"], max_error=0.3)


def test_the_page_and_its_headers(served):
    status, text, headers = served.ask("GET", f"/{TOKEN}/")
    assert status == 200
    assert "pets.csv" in text
    assert "default-src 'none'" in text
    assert TOKEN not in text
    for name in ("x-frame-options", "referrer-policy", "cache-control", "x-content-type-options"):
        assert name in headers
    assert "server" not in headers


def test_it_listens_on_this_machine_only(served):
    assert served.place.getsockname()[0] == "127.0.0.1"
    address = next(
        (info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
         if not info[4][0].startswith("127.")),
        None,
    )  # fmt: skip
    if address:
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((address, served.port), timeout=2)


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 404),
        ("/next", {}, 404),
        ("/another-token/next", {}, 404),
        (f"/{TOKEN}x/next", {}, 404),
        (f"/{TOKEN[:-1]}/next", {}, 404),
        (f"/{TOKEN}/other", {}, 404),
        (f"/{TOKEN}/../{TOKEN}/next", {}, 404),
        (f"/{TOKEN}/next", {"Host": "evil.example"}, 421),
        (f"/{TOKEN}/next", {"Host": "evil.example:80"}, 421),
        (f"/{TOKEN}/next", {"Host": "127.0.0.1"}, 421),
        (f"/{TOKEN}/next", {"Origin": "http://evil.example"}, 403),
        (f"/{TOKEN}/next", {"Origin": "null"}, 403),
        (f"/{TOKEN}/next", {"Origin": "http://127.0.0.1:1"}, 403),
        (f"/{TOKEN}/next", {"Sec_Fetch_Site": "cross-site"}, 403),
        (f"/{TOKEN}/next", {"Sec_Fetch_Site": "same-site"}, 403),
        (f"/{TOKEN}/next", {"Content_Type": "text/plain"}, 415),
        (f"/{TOKEN}/next", {"Content_Type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_others_are_refused(served, path, headers, status):
    found, text, _ = served.ask("POST", path, '{"client": "c"}', **headers)
    assert found == status
    assert TOKEN not in text
    assert not served.review._open.get("c")


def test_wrong_host_and_token_do_not_even_see_the_page(served):
    assert served.ask("GET", f"/{TOKEN}/", Host="evil.example")[0] == 421
    assert served.ask("GET", "/guess/")[0] == 404
    assert served.ask("GET", f"/{TOKEN}/next")[0] == 405
    assert served.ask("OPTIONS", f"/{TOKEN}/next", Origin="http://evil.example")[0] == 403
    assert served.ask("GET", f"/{TOKEN}/", Host=f"localhost:{served.port}")[0] == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [("{", 400), ("[]", 400), ("3", 400), ("[" * 30_000, 400), ("x" * (LARGEST + 1), 413)],
)
def test_bodies_that_are_none(served, body, status):
    assert served.ask("POST", f"/{TOKEN}/next", body)[0] == status


def test_a_body_without_an_end_is_cut_off(served):
    connection = socket.create_connection(("127.0.0.1", served.port), timeout=20)
    with connection:
        connection.sendall(
            f"POST /{TOKEN}/next HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )
        chunk = b"1000\r\n" + b" " * 4096 + b"\r\n"
        reply = b""
        try:
            for _ in range(40):
                connection.sendall(chunk)
            reply = connection.recv(4096)
        except OSError:  # it has hung up
            reply = reply or b"413"
        assert b"413" in reply


def test_answers_through_the_server(served):
    status, first = served.say("next", client="c")
    assert status == 200
    row = first["row"]
    given = {"client": "c", "ticket": row["ticket"], "verdict": "label"}
    status, wrong = served.say("answer", **given, label="x")
    assert status == 409
    assert "there is no label 'x'" in wrong["error"]
    label = row["choices"][0]["label"]
    status, second = served.say("answer", **given, label=label, note=3, who=["no"])
    assert status == 200
    assert second["progress"]["answers"] == 1
    assert served.say("undo", client="c")[1]["row"]["name"] == row["name"]
    assert served.say("share", share=0.3)[1]["progress"]["share"] == 0.3
    assert "number from 0 to 1" in served.say("share", share="all")[1]["error"]
    assert served.say("draw")[1]["progress"]["draw"] > 0
    assert served.say("finish")[1]["written"] == ["cleaned.csv"]
    for said in ({}, {"client": 5, "ticket": {"a": 1}, "verdict": None}):
        status, found = served.say("answer", **said)
        assert status == 409
        assert found["error"]


def test_half_a_character_is_refused(serve):
    served = serve(60, new_labels=True)
    row = served.say("next", client="c")[1]["row"]
    given = {"client": "c", "ticket": row["ticket"], "verdict": "label", "new": True}
    label = row["choices"][0]["label"]
    half = "x\ud800"
    for said in ({"label": half}, {"label": label, "note": half}, {"label": label, "who": half}):
        status, found = served.say("answer", **given, **said)
        assert status == 409
        assert found["error"].startswith(r"'x\ud800' contains half a character")
    assert served.say("progress")[1]["progress"]["answers"] == 0
    assert not read_answers(served.review.file.path).answers
    assert served.say("answer", **given, label="𐐷")[0] == 200
    assert read_answers(served.review.file.path).answers[0].label == "𐐷"


def test_what_nobody_expected_is_one_sentence(served, monkeypatch):
    def fail(client):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(served.review, "next", fail)
    status, found = served.say("next", client="c")
    assert status == 409
    assert found["error"].startswith("unexpected: ZeroDivisionError: by zero; restart the review")
    monkeypatch.setattr(served.review, "next", lambda _: os.stat("/no/such/file"))
    assert served.say("next", client="c")[1]["error"].startswith("/no/such/file: No such file")
