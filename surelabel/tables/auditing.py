"""Random checks: how an estimated error becomes a guaranteed bound.

The rows to be kept are put in a random order, a person gives their true labels in that order, and
an exact bound (:mod:`surelabel.evaluation.audits`) says how many of these rows can still be wrong.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, BinaryIO, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..data.arrow_tables import find_column, source_of
from ..data.table_files import write_as_text
from ..evaluation.audits import RISK, checks_needed, out_of_reach, share_still_wrong
from ..exceptions import ParameterError, TableError
from ..text import count, did_you_mean, percent
from .calibration import fit_calibration, with_confidence
from .choosing import ChosenLabels
from .new_columns import add_columns, check_new_columns, label_column
from .status import CERTIFIED, LOOK, PROBABLE, status_of

Found = TypeVar("Found", bound=ChosenLabels)

#: Error rates that can be certified.
LEVELS = (0.1, 0.05, 0.02)
#: The answer if nobody can tell or no label is right; it counts as a mistake.
NOBODY_KNOWS = "?"
#: The columns that an audit sheet has before and after those of the table.
BEFORE, AFTER = ("check", "row"), ("label", "answer", "audit")


@dataclass(frozen=True)
class Audit:
    """What random checks say about the rows that were to be kept.

    Attributes
    ----------
    n_rows : int
        Number of rows that were to be kept.
    n_checked, n_wrong : int
        Number of rows checked, and number of those whose label was wrong (and is now corrected).
    n_changed : int, default=0
        Number of rows that are no longer kept with the label they had.
    n_fallen : int, default=0
        Number of rows that are no longer kept because the answers have changed the estimate.
    still_wrong : float
        Upper bound on the share of rows that are still wrong; it holds with a probability of 90 %.
    """

    n_rows: int
    n_checked: int
    n_wrong: int
    n_changed: int = 0
    n_fallen: int = 0

    def without(self, n_fallen: int) -> Audit:
        """The audit after some rows fell back."""
        return replace(self, n_changed=self.n_changed + n_fallen, n_fallen=n_fallen)

    @property
    def still_wrong(self) -> float:
        """The bound; it holds whenever you stop checking."""
        share = share_still_wrong(self.n_rows, self.n_checked, self.n_wrong)
        # The number of wrong rows stays the same, but fewer rows are kept.
        return min(share / self._kept, 1.0) if self._kept else 0.0

    @property
    def level(self) -> float | None:
        """The smallest level (10, 5 or 2 %) that is certified, or None."""
        return min((level for level in LEVELS if self.still_wrong <= level), default=None)

    @property
    def _kept(self) -> float:
        return 1 - self.n_changed / max(self.n_rows, 1)

    @property
    def more_checks(self) -> dict[float, int | None]:
        """For each level not reached: the number of further checks without a mistake that would
        certify it; None where it is out of reach.
        """
        checked = (self.n_checked, self.n_wrong)
        return {
            level: None
            if out_of_reach(level, *checked)
            else checks_needed(self.n_rows, level * self._kept, *checked) - self.n_checked
            for level in LEVELS
            if self.still_wrong > level
        }

    def sentence(self) -> str:
        """The result in one line."""
        wrong = f", {self.n_wrong:,} wrong" if self.n_wrong else ""
        parts = [
            f"{self.n_checked:,} of {count(self.n_rows)} checked{wrong}: at most "
            f"{percent(self.still_wrong)} are wrong ({_short(1 - RISK)} sure)"
        ]
        if self.level is not None:
            parts.append(f"{_short(self.level)} certified")
        more = self.more_checks
        within = [f"{_short(level)} takes {n:,} more" for level, n in more.items() if n is not None]
        beyond = [_short(level) for level, n in more.items() if n is None]
        if within:
            parts.append(f"{', '.join(within)} without a mistake")
        if beyond:
            verb = "is" if len(beyond) == 1 else "are"
            parts.append(f"{' and '.join(beyond)} {verb} out of reach for these rows")
        return "; ".join(parts)

    def warning(self) -> str:
        """A warning if there were more mistakes than estimated; otherwise empty."""
        if not self.n_fallen:
            return ""
        reason = (
            "audit found more mistakes than the estimate allows"
            if self.n_wrong
            else "estimate has changed with the answers"
        )
        verb = "seemed probable, but needs" if self.n_fallen == 1 else "seemed probable, but need"
        return f"the {reason}: {count(self.n_fallen)} {verb} a look"

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        return {
            "rows": self.n_rows,
            "checked": self.n_checked,
            "wrong": self.n_wrong,
            "still_wrong": self.still_wrong,
            "fallen": self.n_fallen,
            "level": self.level,
            "more_checks": {f"{level:g}": more for level, more in self.more_checks.items()},
        }


def draw_sheet(
    found: ChosenLabels, table: pa.Table, *, n_checks: int, random_state: int, prefix: str
) -> pa.Table:
    """A random sample of the rows to be kept, with a column for the answers: ``check`` and ``row``,
    the columns of the table, then ``label``, ``answer`` and ``audit``.
    """
    for what, value, least in (("n_checks", n_checks, 1), ("random_state", random_state, 0)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
            raise ParameterError(f"{what} must be a whole number, at least {least}; got {value!r}")
    check_new_columns(table, BEFORE + AFTER, prefix)
    order = _order(found, random_state)[:n_checks]
    if not len(order):
        raise TableError(
            f"{source_of(table)}: no label is probable, so there is nothing to check; allow a "
            "larger max_error"
        )
    taken = table.take(pa.array(order)).add_column(0, f"{prefix}row", pa.array(order + 1))
    taken = taken.add_column(0, f"{prefix}check", pa.array(np.arange(1, len(order) + 1)))
    added = {
        "label": label_column(found.classes, found.label[order]),
        "answer": pa.nulls(len(order), pa.string()),
        "audit": pa.array([_code(found, table, random_state)] * len(order)),
    }
    return add_columns(taken, added, prefix)


def apply_sheet(
    found: Found, table: pa.Table, sheet: pa.Table, *, prefix: str
) -> tuple[Found, Audit]:
    """Correct the labels that were wrong, and compute the bound for the rest: the labels with the
    answers, and the status "certified" where it is earned; and the result of the checks.

    The labels are computed as for the sheet, and the sheet is as :func:`draw_sheet` made it, with
    answers.
    """
    order, answers = _read_sheet(found, table, sheet, prefix)
    rows, gold = order[: len(answers)], found.status == CERTIFIED
    code_of = {str(label): code for code, label in enumerate(found.classes.tolist())}
    codes = np.array([code_of.get(answer, -1) for answer in answers], np.int64)
    answered, right = codes >= 0, codes == found.label[rows]
    estimate = fit_calibration(
        found.score[np.concatenate([rows, np.flatnonzero(gold)])],
        np.concatenate([right, found.gold_right]),
        found.prior,
    )(found.score)
    estimate = np.maximum(estimate, 1 / len(found.classes))  # the best of l labels
    confidence = np.where(gold, 1.0, estimate)
    found = replace(
        found,
        confidence=confidence,
        shares=with_confidence(found.shares, found.label, confidence),
        status=status_of(confidence, gold, found.max_error),
    ).with_known(rows[answered], codes[answered])
    audit = Audit(len(order), len(rows), int(np.sum(~right)), int(np.sum(~answered)))
    status = found.status.copy()
    if audit.level is not None:  # the checks bound the error of all of them, whatever the estimate
        status[order] = CERTIFIED
    status[rows[~answered]] = LOOK
    audit = audit.without(int(np.sum(status[order[len(rows) :]] == LOOK)))
    return replace(found, status=status), audit


def _read_sheet(
    found: ChosenLabels, table: pa.Table, sheet: pa.Table, prefix: str
) -> tuple[np.ndarray, list[str]]:
    """All rows to be kept in the order drawn, and the answers to the first of them."""
    source = source_of(sheet)
    cells = {
        name: [
            "" if text is None else text.strip()
            for text in _cell_texts(find_column(sheet, f"{prefix}{name}", source))
        ]
        for name in ("check", "row", "label", "answer", "audit")
    }
    codes = set(cells.pop("audit"))
    if len(codes) != 1:
        raise TableError(
            f"{source}: column {prefix + 'audit'!r} holds {len(codes)} different texts, but it "
            "should be the same in all rows of an audit; keep the sheet as it was drawn, with "
            "answers"
        )
    code = codes.pop()
    seed = code.partition("-")[0]
    if not seed.isdecimal() or code != _code(found, table, int(seed)):
        raise TableError(
            f"{source}: the rows to keep are not those that this audit was drawn from: the table, "
            "an option or the version of surelabel has changed since; draw a new one (surelabel "
            "audit)"
        )
    order, answers = _order(found, int(seed)), {}
    for line, (check, row, label, answer) in enumerate(zip(*cells.values(), strict=True), start=1):
        number = int(check) if check.isdecimal() and len(check) < 10 else 0
        if not 0 < number <= len(order) or row != str(order[number - 1] + 1) or number in answers:
            raise TableError(
                f"{source}: row {line}: check {check!r} does not belong to row {row!r}; keep the "
                "columns check and row as they were"
            )
        if label != str(found.classes[found.label[order[number - 1]]]).strip():
            raise TableError(
                f"{source}: row {line}: the column {prefix + 'label'!r} holds {label!r}, which is "
                "not the label found; keep it as it was, and write the right one into "
                f"{prefix + 'answer'!r}"
            )
        answers[number] = answer
    return order, _in_order(answers, [*map(str, found.classes.tolist()), NOBODY_KNOWS], source)


def _in_order(answers: dict[int, str], known: list[str], source: str) -> list[str]:
    """The answers to the checks 1, 2, …, up to the last one answered."""
    given = [answers.get(number, "") for number in range(1, max(answers, default=0) + 1)]
    while given and not given[-1]:
        given.pop()
    for number, answer in enumerate(given, start=1):
        if not answer:
            raise TableError(
                f"{source}: check {number} has no answer, but later ones have; answer in the order "
                f"of the checks ({NOBODY_KNOWS} where nobody can tell): skipping rows would make "
                "the bound too optimistic"
            )
        if answer not in known:
            raise TableError(
                f"{source}: check {number}: {answer!r} is not one of the labels; "
                f"{did_you_mean(answer, known)}Write {NOBODY_KNOWS} if none of them is right"
            )
    return given


def _short(share: float) -> str:
    return f"{100 * share:g} %"


def _cell_texts(column: pa.ChunkedArray) -> list[str | None]:
    if pa.types.is_floating(column.type):  # spreadsheets and pandas turn whole numbers into these
        whole = pc.cast(column, pa.int64(), safe=False)
        if pc.all(pc.equal(column, whole.cast(column.type))).as_py() is not False:
            column = whole
    return list(column.cast(pa.string()).to_pylist())


def _order(found: ChosenLabels, random_state: int) -> np.ndarray:
    """The rows to be kept by the estimate alone, in the order drawn."""
    rows = np.flatnonzero(found.status == PROBABLE)
    return np.random.default_rng(random_state).permutation(rows)


def _code(found: ChosenLabels, table: pa.Table, random_state: int) -> str:
    """The seed, and a hash of these rows and their labels."""
    rows = np.flatnonzero(found.status == PROBABLE)
    labels = label_column(found.classes, found.label[rows])
    content = table.take(pa.array(rows)).append_column(" label", labels)
    digest = hashlib.sha256(rows.astype("<i8").tobytes())
    file = cast("BinaryIO", SimpleNamespace(write=digest.update))
    write_as_text(content, file)
    return f"{random_state}-{digest.hexdigest()[:16]}"
