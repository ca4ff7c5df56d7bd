"""The model of a review: it learns from the answers in the background, as ``clean`` does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ..data.labelling import Labels
from ..tables.choosing import ChosenLabels


class RefittedModel:
    """Chooses the labels again, in the background, whenever answers change what is known."""

    def __init__(self, choose: Callable[[Labels], ChosenLabels], found: ChosenLabels) -> None:
        self._choose = choose
        self.found = found  # the labels as they were last chosen
        self.trouble = ""  # why they could not be chosen again
        self.seconds = 0.0  # how long the last refit took
        self._labels: Labels | None = None  # to learn from next, or being learned from
        self._changed, self._closing = threading.Condition(), False
        self._thread = threading.Thread(target=self._work, name="refit", daemon=True)
        self._thread.start()

    def learn(self, labels: Labels) -> None:
        """Learn from these labels as soon as any refit under way has ended."""
        with self._changed:
            self._labels = labels
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait until the model has learned from the last labels; return whether it has."""
        with self._changed:
            return self._changed.wait_for(lambda: self._labels is None, seconds)

    def close(self) -> None:
        """End the background thread, without waiting for a refit under way."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(1)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closing or self._labels is not None)
                labels = self._labels
            if self._closing or labels is None:
                return
            start = time.perf_counter()
            try:
                self.found, self.trouble = self._choose(labels), ""
            except Exception as error:  # such as labels from which nothing can be learned
                self.trouble = f"the model could not be refitted: {error}"
            self.seconds = time.perf_counter() - start
            with self._changed:
                if self._labels is labels:
                    self._labels = None
                    self._changed.notify_all()
