"""A review: which row is shown to whom, what was answered, and the progress.

One lock guards the state. A background thread settles the model and judges all rows again whenever
there is time; nobody waits for it.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from ..data.labelling import Labels
from ..estimators import CrowdClassifier
from ..exceptions import SurelabelError, TableError
from ..progress import stage
from ..solvers.equal_rows import equal_rows
from ..tables.answered_labels import checked, known_labels, labels_with, with_classes
from ..tables.answers import LABEL, NONE, SKIP, UNDO, UNKNOWN, has_half_characters
from ..tables.auditing import Audit
from ..tables.choosing import choose_labels
from ..tables.placed_answers import PlacedAnswers, keys_for, place_answers, remarks
from ..tables.reading import TableRead
from ..tables.status import PROBABLE, decide
from ..text import did_you_mean
from .following import CrowdFollower, Follower, Interrupted, PeerFollower, resized
from .progress import curve, worth_of_checks, worth_of_help
from .queues import CHECK, HELP, Standing, Variety, moved, next_help, standing_of
from .showing import RowView, choices, reasons
from .store import AnswersFile

#: The model is settled after this many seconds without an answer, or after this many seconds in any
#: case.
IDLE, OVERDUE = 0.2, 6.0
#: If a refit takes longer than this many seconds, the next row is shown without it.
SLOW = 0.7
#: A row shown to one person is not shown to others for this many seconds.
RESERVED = 900.0
#: Maximum length of a label, a note and a name.
LABEL_LENGTH, NOTE_LENGTH, WHO_LENGTH = 200, 2000, 80


class ReviewError(SurelabelError):
    """A request of the page cannot be fulfilled; the page shows the message."""


@dataclass(frozen=True)
class Shown:
    """A row that was shown."""

    row: int
    queue: str
    draw: int | None
    client: str
    when: float


class Review:
    """A table under review.

    Parameters
    ----------
    read : TableRead
        The table.
    path : Path
        The answers file.
    who : str
        Who answers, unless the page says otherwise.
    max_error : float, default=0.1
        Labels are kept as long as their estimated error is at most this.
    check_share : float, default=0.5
        Share of the rows shown that are checks; the others help the model.
    new_labels : bool, default=False
        Whether answers may be labels that the table does not have.
    image : str, default=None
        The column of image paths.
    folder : Path, default=None
        The folder of the images.
    random_state : int, default=0
        Seed.
    verbose : bool, default=False
        Show progress on a terminal.
    """

    def __init__(
        self,
        read: TableRead,
        path: Path,
        *,
        who: str = "",
        max_error: float = 0.1,
        check_share: float = 0.5,
        new_labels: bool = False,
        image: str | None = None,
        folder: Path | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.who, self.new_labels = who, new_labels
        self.check_share = float(np.clip(check_share, 0, 1))
        self._max_error, self._seed = max_error, random_state
        self._given = read.labels
        seconds: dict[str, float] = {}
        labelling = read.labelling
        self.file = AnswersFile(
            path, {"id": labelling.id, "columns": list(read.labels.table.column_names)}
        )
        self._server = secrets.token_hex(4)
        self.file.log.shows.clear()  # most likely by servers that have ended: go on where they were
        self._keys = keys_for(self.file.log, read.labels, labelling.id, read.source)
        with read.named():
            with stage("encode", seconds, verbose=verbose):
                X = read.encoded()[1]
            self._place()
            found = choose_labels(
                X, self._labels, max_error=max_error, random_state=random_state, verbose=verbose
            )
        with stage("prepare", seconds, verbose=verbose):
            groups = equal_rows([X]) if X.shape[1] else np.arange(len(X))
            follower: Follower = (
                CrowdFollower(X, found.classifier, groups, self._labels)
                if isinstance(found.classifier, CrowdClassifier)
                else PeerFollower(X, found.classifier, groups)
            )
            self._follower = follower.settle(self._labels, lambda: False)
            self._standing = standing_of(found, self._follower.shares())
            self._variety = Variety(X) if X.shape[1] else None
            hidden = set(labelling.columns)
            self._view = RowView(read.labels, hidden, read.features, X, image, folder)
        self._shown: dict[str, Shown] = {}
        self._open: dict[str, str] = {}
        self._history: dict[str, list[str]] = {}
        self._done: set[str] = set()
        self._skipped: set[int] = set()
        self._recent: list[int] = []
        self._asked: Counter[str] = Counter()
        self._times: list[float] = []
        self._follow_seconds = 0.0
        self.trouble = ""
        self.lock = threading.RLock()
        self._serial, self._busy, self._closing = 0, False, False
        self._published = time.monotonic()
        self._wake = threading.Event()
        self._settled = threading.Event()
        self._settled.set()
        self._worker = threading.Thread(target=self._work, name="settle", daemon=True)
        self._worker.start()

    # ---------------------------------------------------------------- what is known

    def _place(self) -> None:
        self._placed: PlacedAnswers = place_answers(self.file.log, self._keys)
        self._labels = labels_with(self._given, self._placed)
        self._known = known_labels(self._labels, self._placed)

    def _judge(self, follower: Follower, labels: Labels) -> Standing:
        found = decide(follower.judge(labels), labels, self._max_error)
        return standing_of(found, follower.shares())

    def _moved(self, standing: Standing, shares: np.ndarray) -> Standing:
        classes = self._labels.candidates.classes
        return moved(standing, resized(shares, len(classes)), self._known, classes, self._max_error)

    def _take_in(self, changed: np.ndarray) -> None:
        """Refit the model to the answers in the file."""
        self._busy = True  # the background thread yields
        try:
            self._place()
            shares, start = self._standing.shares, time.perf_counter()
            if self._follow_seconds < SLOW:
                self._follower.follow(self._labels, changed)
                self._follow_seconds = time.perf_counter() - start
                shares = self._follower.shares()
            self._standing = self._moved(self._standing, shares)
            self._serial += 1
        finally:
            self._busy = False
        self._settled.clear()
        self._wake.set()

    def refresh(self) -> None:
        """Read what others have answered in the meantime."""
        n_before = len(self.file.log.answers)
        if self.file.refresh() and len(self.file.log.answers) > n_before:
            self._follow_from(n_before)

    def _follow_from(self, n_before: int) -> None:
        rows = (self._keys.row_of.get(a.row, -1) for a in self.file.log.answers[n_before:])
        self._take_in(np.unique([row for row in rows if row >= 0]).astype(np.int64))

    def _work(self) -> None:
        """Settle the model and judge the rows when there is time."""
        while True:
            self._wake.wait()
            if self._closing:
                return
            self._wake.clear()
            overdue = time.monotonic() - self._published > OVERDUE
            if self._wake.wait(0 if overdue else IDLE) and not overdue:
                continue  # another answer has arrived
            with self.lock:
                labels, serial, follower = self._labels, self._serial, self._follower

            def stop(serial: int = serial, overdue: bool = overdue) -> bool:
                return self._closing or ((self._busy or self._serial != serial) and not overdue)

            try:
                start = time.perf_counter()
                settled = follower.settle(labels, stop)
                if stop():
                    raise Interrupted
                standing = self._judge(settled, labels)
                seconds = time.perf_counter() - start
            except Interrupted:
                self._wake.set()
                continue
            except Exception as error:  # such as labels from which nothing can be learned
                self.trouble = f"the model could not be refitted: {error}"
                self._settled.set()
                continue
            with self.lock:
                self.trouble, self._published = "", time.monotonic()
                if self._serial == serial:
                    self._follower, self._standing = settled, standing
                    self._follow_seconds = min(self._follow_seconds, seconds)
                    self._settled.set()
                else:
                    self._standing = self._moved(standing, self._standing.shares)
                    self._wake.set()

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until the model is settled; return whether it is."""
        return self._settled.wait(seconds)

    def close(self) -> None:
        """End the background thread."""
        self._closing = True
        self._wake.set()
        self._worker.join(10)

    # ---------------------------------------------------------------- the next row

    def next(self, client: str) -> dict[str, Any]:
        """The row to show next, or None, and the progress."""
        with self.lock:
            self.refresh()
            self._open.pop(client, None)
            if self.check_share and self._placed.draw is None:
                self.draw()
            return self._next(client)

    def _next(self, client: str) -> dict[str, Any]:
        wanted = [HELP, CHECK]
        if self._asked[CHECK] + 1 <= self.check_share * (self._asked.total() + 1):
            wanted.reverse()
        for queue in wanted:
            if (queue == CHECK and not self.check_share) or (
                queue == HELP and self.check_share == 1
            ):
                continue
            choose = self._next_check if queue == CHECK else self._next_help
            while (row := choose(client)) is not None:
                if self._claim(client, row):
                    return {"row": self._show(client, row, queue), "progress": self.progress()}
        return {"row": None, "progress": self.progress()}

    def _taken(self, client: str) -> set[int]:
        """Rows that others are looking at, here or on other servers."""
        row_of = self._keys.row_of
        elsewhere = {row_of[key] for key in self._shown_elsewhere() if key in row_of}
        return elsewhere.union(self._shown_here(client))

    def _shown_here(self, client: str) -> list[int]:
        """Rows that other pages of this server show."""
        now = time.monotonic()
        return [
            shown.row
            for other, ticket in self._open.items()
            if other != client and now - (shown := self._shown[ticket]).when < RESERVED
        ]

    def _shown_elsewhere(self) -> set[str]:
        """The keys of rows that other servers show."""
        since = _now(-RESERVED)
        return {
            key
            for server, (keys, when) in self.file.log.shows.items()
            if server != self._server and when > since
            for key in keys
        }

    def _claim(self, client: str, row: int) -> bool:
        """Tell other servers which rows are shown here; False if one of them shows this row or has
        answered it.
        """
        n_before = len(self.file.log.answers)
        key = self._keys.keys[row]
        shown = [self._keys.keys[other] for other in self._shown_here(client)]
        free = self.file.show(
            {"server": self._server, "shows": [*shown, key], "when": _now()},
            lambda: key not in self._shown_elsewhere(),
        )
        if len(self.file.log.answers) > n_before:
            self._follow_from(n_before)
            free = free and row not in self._placed.rows
        return free

    def _next_check(self, client: str) -> int | None:
        if self._placed.draw is None:
            self.draw()
        draw, taken = self._placed.draw, self._taken(client)
        if draw is None:
            return None
        checks = self._placed.checks
        waiting = []
        for place, row in enumerate(self._placed.drawn.tolist()):
            open_ = place >= len(checks) or checks[place] is None
            if open_ and row >= 0 and row not in taken and row not in self._placed.rows:
                if row not in self._skipped:
                    return int(row)
                waiting.append(int(row))
        return waiting[0] if waiting else None

    def _next_help(self, client: str) -> int | None:
        closed = {*self._placed.rows, *self._taken(client), *self._drawn()}
        variety = self._variety(self._recent) if self._variety else np.ones(len(self._keys.keys))
        found = next_help(self._standing, variety, closed | self._skipped)
        return next_help(self._standing, variety, closed) if found is None else found

    def _drawn(self) -> set[int]:
        """Rows of the draw: these are checked in their order only."""
        return set(self._placed.drawn[self._placed.drawn >= 0].tolist())

    def draw(self) -> None:
        """Fix the rows that would be kept now, and the order in which they are checked."""
        with self.lock:
            standing = self._standing
            open_ = standing.status == PROBABLE
            open_[list(self._placed.rows)] = False
            number = len(self.file.log.draws)
            rng = np.random.default_rng([self._seed, number])
            rows = rng.permutation(np.flatnonzero(open_)).tolist()
            if not rows:
                return
            self.file.draw(
                {
                    "draw_rows": [self._keys.keys[row] for row in rows],
                    "draw_labels": [str(standing.classes[standing.label[row]]) for row in rows],
                    "draw_contents": [self._keys.contents[row] for row in rows]
                    if self._keys.columns and self._given.ids is not None
                    else [],
                    "when": _now(),
                },
                number,
            )
            self._place()

    def _show(self, client: str, row: int, queue: str) -> dict[str, Any]:
        ticket = secrets.token_hex(8)
        draw = len(self.file.log.draws) - 1 if queue == CHECK else None
        self._shown[ticket] = Shown(row, queue, draw, client, time.monotonic())
        self._open[client] = ticket
        standing = self._standing
        # The candidates of the table, whatever was answered before.
        names = map(str, self._labels.candidates.classes.tolist())
        labels = with_classes(self._given, names)
        options, another = choices(row, labels, standing)
        if queue == CHECK:  # the order must not suggest an answer
            options.sort(key=lambda choice: str(choice["label"]))
        return {
            "ticket": ticket,
            "queue": queue,
            "name": self._view.name(row),
            "why": reasons(row, queue, labels, standing),
            "cells": self._view.cells(row),
            "choices": options,
            "another": another,
            "votes": self._view.votes(row, standing),
            "neighbours": self._view.neighbours(row, standing),
        }

    # ---------------------------------------------------------------- answers

    def answer(
        self,
        client: str,
        ticket: str,
        verdict: str,
        label: str = "",
        *,
        note: str = "",
        who: str = "",
        new: bool = False,
    ) -> dict[str, Any]:
        """Save an answer, refit the model, and return the next row.

        Parameters
        ----------
        client : str
            The browser tab that answers.
        ticket : str
            The ticket of the row shown; an answer that is sent twice counts once.
        verdict : {"label", "none", "unknown", "skip"}
            The answer.
        label : str
            The label, where the verdict is one.
        note, who : str
            A note, and who answers.
        new : bool
            Whether the label may be new.

        Returns
        -------
        dict
            As :meth:`next`.
        """
        with self.lock:
            shown = self._shown.get(ticket)
            if shown is None:
                raise ReviewError(
                    "this row was shown before the review was restarted; here is another one"
                )
            for text in filter(has_half_characters, (label, note, who)):
                raise ReviewError(
                    f"{text[:40]!r} contains half a character, which cannot be saved; type it again"
                )
            if ticket not in self._done:
                label = self._checked_label(label, new) if verdict == LABEL else ""
                if verdict not in (LABEL, NONE, UNKNOWN, SKIP):
                    raise ReviewError(f"there is no answer {verdict[:40]!r}")
                self._append(shown, verdict, label, note[:NOTE_LENGTH], who)
                self._done.add(ticket)
                self._history.setdefault(client, []).append(ticket)
                self._asked[shown.queue] += 1
                self._times.append(time.monotonic())
                if verdict == SKIP:
                    self._skipped.add(shown.row)
                elif shown.queue == HELP:
                    self._recent.append(shown.row)
            self._open.pop(client, None)
            return self._next(client)

    def _checked_label(self, label: str, new: bool) -> str:
        label = " ".join(label.split())
        known = list(map(str, self._labels.candidates.classes.tolist()))
        if label in known:
            return label
        if not label or len(label) > LABEL_LENGTH:
            raise ReviewError("type a label")
        if not new or not self.new_labels:
            allow = "" if self.new_labels else " (new labels: start with --new-labels)"
            raise ReviewError(
                f"there is no label {label!r}; {did_you_mean(label, known)}choose an existing "
                f"one{allow}"
            )
        try:
            with_classes(self._given, [label])
        except TableError as error:
            raise ReviewError(str(error)) from None
        return label

    def _append(self, shown: Shown, verdict: str, label: str, note: str, who: str) -> None:
        row, (standing, audit) = shown.row, self._audit()
        options, _ = choices(row, self._labels, self._standing)
        record: dict[str, Any] = {"row": self._keys.keys[row]}
        record |= {"label": label} if verdict == LABEL else {"verdict": verdict}
        record |= {
            "who": who[:WHO_LENGTH] or self.who,
            "when": _now(),
            "queue": shown.queue,
            "draw": shown.draw,
            "note": note,
            "content": self._keys.contents[row] if self._keys.columns else None,
            "shown": {choice["label"]: choice["probability"] for choice in options[:20]},
            "progress": {
                "settled": round(standing.n_kept / len(standing.label), 4),
                "still_wrong": round(audit.still_wrong, 4) if audit else None,
            },
        }
        n_before = len(self.file.log.answers)
        self.file.append({name: value for name, value in record.items() if value not in (None, "")})
        self._follow_from(n_before)

    def undo(self, client: str, who: str = "") -> dict[str, Any]:
        """Undo the last answer of this tab, and show its row again."""
        with self.lock:
            history = self._history.get(client)
            if not history:
                raise ReviewError("there is no answer from this page to undo")
            shown = self._shown[history.pop()]
            key = self._keys.keys[shown.row]
            if shown.row in self._placed.rows:
                n_before = len(self.file.log.answers)
                own = self._placed.rows[shown.row].who
                self.file.append({"row": key, "verdict": UNDO, "who": own, "when": _now()})
                self._follow_from(n_before)
            self._skipped.discard(shown.row)
            self._asked[shown.queue] -= 1
            if self._recent[-1:] == [shown.row]:
                self._recent.pop()
            self._claim(client, shown.row)
            return {
                "row": self._show(client, shown.row, shown.queue),
                "progress": self.progress(),
            }

    # ---------------------------------------------------------------- how far it is

    def _audit(self) -> tuple[Standing, Audit | None]:
        return checked(self._standing, self._labels, self._placed)

    def progress(self) -> dict[str, Any]:
        """The progress of the review, and what the next answers are worth."""
        with self.lock:
            standing, audit = self._audit()
            m = len(standing.label)
            given = self._placed.rows
            certified = int(np.sum(standing.status == "certified"))
            minute = [moment for moment in self._times if self._times[-1] - moment < 300]
            rate = None
            if len(minute) > 1 and minute[-1] > minute[0]:
                rate = 60 * (len(minute) - 1) / (minute[-1] - minute[0])
            return {
                "rows": m,
                "answers": len(given),
                "mistakes": audit.n_wrong if audit else 0,
                "settled": standing.n_kept,
                "certified": certified,
                "look": m - standing.n_kept,
                "audit": audit.sentence() if audit else None,
                "still_wrong": audit.still_wrong if audit else None,
                "level": audit.level if audit else None,
                "rate": rate,
                "share": self.check_share,
                "curve": curve(self.file.log, standing, audit),
                "worth": [
                    worth_of_checks(self._standing, self._placed.draw, audit),
                    worth_of_help(self._standing, [*given, *self._drawn()], m - standing.n_kept),
                ],
                "labels": list(map(str, standing.classes.tolist())),
                "remarks": remarks(self._placed) + ([self.trouble] if self.trouble else []),
                "draw": len(self._placed.draw.rows) if self._placed.draw else 0,
                "could_draw": int(np.sum(self._standing.status == PROBABLE)),
            }


def _now(more: float = 0.0) -> str:
    """The time, or that of some seconds later."""
    return (datetime.now(UTC) + timedelta(seconds=more)).isoformat(timespec="seconds")
