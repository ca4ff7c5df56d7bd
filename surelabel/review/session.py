"""A review: which row is shown to whom, what was answered, and the progress.

One lock guards the state. The model learns from the answers in the background.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..data.label_order import has_order
from ..data.labelling import Labels
from ..exceptions import SurelabelError, TableError
from ..progress import stage
from ..tables.answers import (
    LABEL,
    NONE,
    SKIP,
    UNDO,
    UNKNOWN,
    PlacedAnswers,
    has_half_characters,
    keys_for,
    labels_with,
    place_answers,
    remarks,
    with_answers,
    with_classes,
)
from ..tables.auditing import Audit
from ..tables.choosing import choose_labels
from ..tables.methods import DEFAULT
from ..tables.reading import TableRead
from ..tables.status import CERTIFIED, PROBABLE, Decision
from ..text import did_you_mean
from .progress import curve, worth_of_checks, worth_of_help
from .queues import CHECK, HELP, Variety, next_help
from .refitting import RefittedModel
from .row_view import RowView, choices, reasons
from .store import AnswersFile

#: After an answer, the next row waits for the model if it learns in less than this many seconds; on
#: larger tables the next row appears at once, and the model learns meanwhile.
PATIENCE = 0.3
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
    """A table under review."""

    def __init__(
        self,
        read: TableRead,
        path: Path,  # of the answers file
        *,
        who: str = "",  # who answers, unless the page says otherwise
        max_error: float = 0.1,  # labels are kept as long as their estimated error is at most this
        method: str = DEFAULT,
        estimator: Any = None,  # the model of the features beside votes
        check_share: float = 0.5,  # share of the rows shown that are checks; others help the model
        new_labels: bool = False,  # whether answers may be labels that the table does not have
        image: str | None = None,  # the column of image paths
        folder: Path | None = None,  # of the images
        random_state: int = 0,  # seed of the random order of the checks
        verbose: bool = False,
    ) -> None:
        self.who, self.new_labels = who, new_labels
        self.check_share = float(np.clip(check_share, 0, 1))
        self._seed, self._given = random_state, read.labels
        labelling = read.labelling
        self.file = AnswersFile(
            path, {"id": labelling.id, "columns": list(read.labels.table.column_names)}
        )
        self._server = secrets.token_hex(4)
        self.file.log.shows.clear()  # most likely of servers that have ended: continue there
        self._keys = keys_for(self.file.log, read.labels, labelling.id, read.source)
        self._place()
        with read.named():
            with stage("encode", verbose=verbose):
                X = read.encoded()[1]
            choose = partial(
                choose_labels, X, method=method, max_error=max_error, estimator=estimator
            )
            first = choose(read.labels, verbose=verbose)
            choose = partial(choose, like=first)
            found = choose(self._labels, verbose=verbose) if self._placed.rows else first
        self.model = RefittedModel(choose, found)
        self._variety = Variety(X) if X.shape[1] else None
        self._view = RowView(read.labels, set(labelling.columns), read.features, X, image, folder)
        self._shown: dict[str, Shown] = {}
        self._open: dict[str, str] = {}
        self._history: dict[str, list[str]] = {}
        self._done: set[str] = set()
        self._skipped: set[int] = set()
        self._recent: list[int] = []
        self._asked: Counter[str] = Counter()
        self._times: list[float] = []
        self.lock = threading.RLock()

    # ---------------------------------------------------------------- what is known

    def _place(self) -> None:
        self._placed: PlacedAnswers = place_answers(self.file.log, self._keys)
        self._labels: Labels = labels_with(self._given, self._placed)

    def found(self) -> tuple[Decision, Audit | None]:
        """What the model found, with all answers put in, and the bound that the checks give."""
        found = self.model.found.with_classes(self._labels.candidates.classes)
        return with_answers(found, self._labels, self._placed)

    def _drawable(self) -> np.ndarray:
        """Whether a row may be drawn to be checked: it is kept by the model's estimate alone."""
        open_ = self.model.found.status == PROBABLE
        open_[list(self._placed.rows)] = False
        return np.asarray(open_)

    def refresh(self) -> None:
        """Read what others have answered in the meantime."""
        n_before = len(self.file.log.answers)
        if self.file.refresh() and len(self.file.log.answers) > n_before:
            self._learn()

    def _learn(self) -> None:
        """Learn from the answers in the file."""
        self._place()
        self.model.learn(self._labels)

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until the model has learned from all answers; return whether it has."""
        return self.model.wait(seconds)

    def _wait_a_moment(self) -> None:
        if self.model.seconds < PATIENCE:
            self.wait(PATIENCE)

    def close(self) -> None:
        """End the background thread."""
        self.model.close()

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
            self._learn()
            free = free and row not in self._placed.rows
        return free

    def _next_check(self, client: str) -> int | None:
        if self._placed.draw is None:
            self.draw()
        checks, taken = self._placed.checks, self._taken(client)
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
        found, _ = self.found()
        row = next_help(found, variety, closed | self._skipped)
        return next_help(found, variety, closed) if row is None else row

    def _drawn(self) -> set[int]:
        """Rows of the draw: they are asked only as checks, in their order."""
        return set(self._placed.drawn[self._placed.drawn >= 0].tolist())

    def draw(self) -> None:
        """Fix the rows that would be kept now, and the order in which they are checked."""
        with self.lock:
            number = len(self.file.log.draws)
            rng = np.random.default_rng([self._seed, number])
            rows = rng.permutation(np.flatnonzero(self._drawable())).tolist()
            found = self.model.found
            if not rows:
                return
            self.file.draw(
                {
                    "draw_rows": [self._keys.keys[row] for row in rows],
                    "draw_labels": [str(found.classes[found.label[row]]) for row in rows],
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
        found, _ = self.found()
        # The candidates of the table, whatever was answered before.
        names = map(str, self._labels.candidates.classes.tolist())
        labels = with_classes(self._given, names)
        options, another = choices(row, labels, found)
        if queue == CHECK and not has_order(labels.ordered):  # the place must not suggest an answer
            options.sort(key=lambda choice: str(choice["label"]))
        return {
            "ticket": ticket,
            "queue": queue,
            "name": self._view.name(row),
            "why": reasons(row, queue, labels, found),
            "cells": self._view.cells(row),
            "choices": options,
            "another": another,
            "votes": self._view.votes(row, found),
            "neighbours": self._view.neighbours(row, found),
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
        """Save an answer, refit the model, and return the next row, as :meth:`next`.

        The ``client`` is the browser tab that answers. An answer that is sent twice for the same
        ``ticket`` counts once. If the ``verdict`` is "label", there is a ``label``, which may be
        ``new``; otherwise it is "none", "unknown" or "skip".
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
        self._wait_a_moment()
        with self.lock:
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
        row, (found, audit) = shown.row, self.found()
        options, _ = choices(row, self._labels, found)
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
                "settled": round(found.n_kept / len(found.label), 4),
                "still_wrong": round(audit.still_wrong, 4) if audit else None,
            },
        }
        self.file.append({name: value for name, value in record.items() if value not in (None, "")})
        self._learn()

    def undo(self, client: str) -> dict[str, Any]:
        """Undo the last answer of this tab, and show its row again."""
        with self.lock:
            history = self._history.get(client)
            if not history:
                raise ReviewError("there is no answer from this page to undo")
            shown = self._shown[history.pop()]
            key = self._keys.keys[shown.row]
            if shown.row in self._placed.rows:
                own = self._placed.rows[shown.row].who
                self.file.append({"row": key, "verdict": UNDO, "who": own, "when": _now()})
                self._learn()
            self._skipped.discard(shown.row)
            self._asked[shown.queue] -= 1
            if self._recent[-1:] == [shown.row]:
                self._recent.pop()
        self._wait_a_moment()
        with self.lock:
            self._claim(client, shown.row)
            return {
                "row": self._show(client, shown.row, shown.queue),
                "progress": self.progress(),
            }

    # ---------------------------------------------------------------- progress

    def progress(self) -> dict[str, Any]:
        """The progress of the review, and what the next answers are worth."""
        with self.lock:
            (found, audit), given = self.found(), self._placed.rows
            m, n_open = len(found.label), len(found.label) - found.n_kept
            minute = [moment for moment in self._times if self._times[-1] - moment < 300]
            rate = None
            if len(minute) > 1 and minute[-1] > minute[0]:
                rate = 60 * (len(minute) - 1) / (minute[-1] - minute[0])
            return {
                "rows": m,
                "answers": len(given),
                "mistakes": audit.n_wrong if audit else 0,
                "settled": found.n_kept,
                "certified": int(np.sum(found.status == CERTIFIED)),
                "look": n_open,
                "audit": audit.sentence() if audit else None,
                "still_wrong": audit.still_wrong if audit else None,
                "level": audit.level if audit else None,
                "rate": rate,
                "share": self.check_share,
                "curve": curve(self.file.log, found, audit),
                "worth": [
                    worth_of_checks(found, self._placed.draw, audit),
                    worth_of_help(found, [*given, *self._drawn()], n_open),
                ],
                "labels": list(map(str, found.classes.tolist())),
                "learned": self.wait(0),
                "remarks": [*remarks(self._placed), *filter(None, [self.model.trouble])],
                "draw": len(self._placed.draw.rows) if self._placed.draw else 0,
                "could_draw": int(np.sum(self._drawable())),
            }


def _now(more: float = 0.0) -> str:
    """The time now, or some seconds later."""
    return (datetime.now(UTC) + timedelta(seconds=more)).isoformat(timespec="seconds")
