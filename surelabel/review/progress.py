"""The progress of a review: its curve, and what the next answers are worth, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..tables.answers import Answer, AnswerLog, Draw
from ..tables.auditing import Audit
from ..tables.status import LOOK, PROBABLE, Decision
from ..text import count, percent
from .queues import gains

#: Maximum number of points of the curve.
POINTS = 150


def curve(log: AnswerLog, found: Decision, audit: Audit | None) -> list[list[float | None]]:
    """Number of answers, share of rows settled, and bound on the share still wrong, over time."""
    points: list[list[float | None]] = [
        [number, _noted_share(answer, "settled"), _noted_share(answer, "still_wrong")]
        for number, answer in enumerate(log.answers)
        if _noted_share(answer, "settled") is not None
    ]
    step = len(points) // POINTS + 1
    now = [
        len(log.answers),
        found.n_kept / len(found.label),
        audit.still_wrong if audit else None,
    ]
    return [*points[::step], now]


def worth_of_checks(found: Decision, draw: Draw | None, audit: Audit | None) -> str:
    """What further checks would certify."""
    n_rows = len(draw.rows) if draw else int(np.sum(found.status == PROBABLE))
    if not n_rows:
        return "No label is sure enough to be kept yet, so there is nothing to check."
    audit = audit or Audit(n_rows, 0, 0)
    share = percent((n_rows - audit.n_changed) / len(found.label))
    for level, more in audit.more_checks.items():
        if more is not None:
            return (
                f"{count(more, 'more check', 'more checks')} without a mistake "
                f"{'certifies' if more == 1 else 'certify'} {share} of the rows at "
                f"{100 * level:g} %"
            )
    if audit.level is None:
        return (
            "These rows have too many mistakes to be certified; help the model, then draw new "
            "checks"
        )
    return f"{share} of the rows are certified at {100 * audit.level:g} %"


def worth_of_help(found: Decision, closed: Sequence[int], n_open: int) -> str:
    """How many labels the next answers would correct; rows in ``closed`` are not asked."""
    score = gains(found)
    score[closed] = 0
    score[found.status != LOOK] = 0
    best = np.argsort(-score)[:10]
    best = best[score[best] > 0]
    if not n_open or not len(best):
        return "No row is left in doubt."
    right = float(np.sum(1 - found.confidence[best]))
    return (
        f"The next {count(len(best), 'answer', 'answers')} correct about {right:.1f} labels, of "
        f"{count(n_open)} in doubt"
    )


def _noted_share(answer: Answer, name: str) -> float | None:
    value = answer.progress.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
