"""The server of the review page: on this machine only, and only for those who know the address.

Every address contains a random token. A request is refused if its ``Host`` is not this server's own
name (as when another site resolves its name to 127.0.0.1), if its ``Origin`` or ``Sec-Fetch-Site``
is another site, or if it is not JSON (forms of other sites can send anything else).
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from ..extras import extra

with extra("review", "the review page"):
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route

from ..exceptions import SurelabelError
from ..report import html
from ..text import plain, printable
from .session import Review

#: Maximum size of a request in bytes.
LARGEST = 2**16
HOST = "127.0.0.1"
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
Said = dict[str, Any]


def make_app(
    review: Review,
    *,
    title: str,
    token: str,
    port: int,
    finish: Callable[[], list[str]] | None = None,
) -> Any:
    """The ASGI application for a review of the table ``title``; ``token`` is the secret first part
    of every address. ``finish`` writes the results, and returns the names of the files written.
    """
    actions = _make_actions(review, finish)

    async def page(_: Request) -> Response:
        can_finish, new_labels = finish is not None, review.new_labels
        shown = html.fill_template(
            "review", title=title, can_finish=can_finish, new_labels=new_labels
        )
        return Response(shown, media_type="text/html; charset=utf-8")

    async def act(request: Request) -> Response:
        said = await _json_object(request)
        if isinstance(said, Response):
            return said
        try:
            found = await run_in_threadpool(actions[request.path_params["action"]], said)
        except Exception as error:  # the page stays usable, and saved answers stay saved
            return JSONResponse({"error": printable(_explained(error))}, 409)
        return JSONResponse(plain(found))

    inner = Starlette(
        routes=[
            Route(f"/{token}/", page, methods=["GET"]),
            Route(f"/{token}/{{action:str}}", act, methods=["POST"]),
        ]
    )
    return _Guard(inner, token=token, port=port, actions=set(actions))


def _make_actions(
    review: Review, finish: Callable[[], list[str]] | None
) -> dict[str, Callable[[Said], Said]]:
    """What the page can ask for, by name."""
    finishing = threading.Lock()

    def client(said: Said) -> str:
        return _text(said, "client")[:80]

    def finished(_: Said) -> Said:
        if finish is None:
            return {"error": "this review does not write results"}
        if not finishing.acquire(blocking=False):
            return {"error": "the results are already being written"}
        try:
            return {"written": finish(), "progress": review.progress()}
        finally:
            finishing.release()

    def shared(said: Said) -> Said:
        share = said.get("share")
        if not isinstance(share, int | float) or not 0 <= share <= 1:
            return {"error": "the share of checks must be a number from 0 to 1"}
        review.check_share = float(share)
        return {"progress": review.progress()}

    def drawn(_: Said) -> Said:
        review.draw()
        return {"progress": review.progress()}

    return {
        "next": lambda said: review.next(client(said)),
        "answer": lambda said: review.answer(
            client(said),
            _text(said, "ticket"),
            _text(said, "verdict"),
            _text(said, "label"),
            note=_text(said, "note"),
            who=_text(said, "who"),
            new=said.get("new") is True,
        ),
        "undo": lambda said: review.undo(client(said)),
        "progress": lambda _: {"progress": review.progress()},
        "share": shared,
        "draw": drawn,
        "finish": finished,
    }


async def _json_object(request: Request) -> Said | Response:
    """The JSON object that a request sends, or the refusal of anything else."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return PlainTextResponse("send JSON", 415)
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST:
            return PlainTextResponse("too long", 413, {"Connection": "close"})
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    return said if isinstance(said, dict) else PlainTextResponse("this is not a JSON object", 400)


def _explained(error: Exception) -> str:
    """What went wrong, for the page; unexpected errors are raised again to show their traceback."""
    if isinstance(error, SurelabelError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror or error}; the answer was not saved; try again"
    if "SURELABEL_TRACEBACK" in os.environ:
        raise error
    return f"unexpected: {type(error).__name__}: {error}; restart the review, and please report it"


def _text(said: Said, name: str) -> str:
    value = said.get(name, "")
    return value if isinstance(value, str) else ""


class _Guard:
    """Lets through only requests from this server's own page."""

    def __init__(self, app: Any, *, token: str, port: int, actions: set[str]) -> None:
        self._app, self._token, self._actions = app, token, actions
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}

    async def __call__(
        self,
        scope: Any,
        receive: Callable[[], Awaitable[Any]],
        send: Callable[[Any], Awaitable[None]],
    ) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # other protocols are not served: the connection is closed

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), text.encode()) for name, text in HEADERS.items()]
                message["headers"] = [*message["headers"], *own]
            await send(message)

        refusal = self._refusal(Request(scope))
        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, request: Request) -> Response | None:
        headers = request.headers
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return PlainTextResponse("this server has another name", 421)
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self._hosts}:
            return PlainTextResponse("requests of other pages are refused", 403)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return PlainTextResponse("requests of other pages are refused", 403)
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > LARGEST:
            return PlainTextResponse("too long", 413, {"Connection": "close"})
        given, _, rest = request.url.path.lstrip("/").partition("/")
        known = secrets.compare_digest(given.encode(), self._token.encode())
        if not known or not (rest == "" or rest in self._actions):
            return PlainTextResponse("there is nothing here", 404)
        return None


def listen(port: int = 0) -> socket.socket:
    """A socket that accepts connections from this machine only, by default on a free port."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen()
    except OSError as error:
        found.close()
        error.filename = f"port {port}"
        raise
    return found


def make_server(app: Any) -> uvicorn.Server:
    """The server of an application; ``run(sockets=[listen()])`` serves until Ctrl-C."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
        )
    )
