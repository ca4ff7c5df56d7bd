"""``clean``: each row's label, how sure it is, and the rows that a person should look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from ..data.frames import to_frame
from ..data.label_order import has_order, label_positions, written_order
from ..data.labelling import Labels
from ..evaluation.audits import share_still_wrong
from ..exceptions import ParameterError
from ..progress import stage
from ..text import count, percent
from .answers import use_answers, with_answers
from .auditing import Audit, apply_sheet, draw_sheet
from .choosing import ChosenLabels, choose_labels
from .columns import Feature
from .encoding import TableModel
from .methods import VOTES_ONLY, votes_suffice
from .new_columns import NEW_COLUMNS, add_columns, check_new_columns, label_column, rounded
from .overview import ONE_LABEL, Overview, Result, kinds, known, named, written_parameters
from .reading import Columns, TableRead, open_table
from .status import CERTIFIED, LOOK, PROBABLE, STATUSES

#: Number of answers whose worth the summary states.
ANSWERS = 30


@dataclass(frozen=True, kw_only=True, repr=False)
class Cleaned(ChosenLabels, Result):
    """What :func:`clean` found: the table with its new columns, the model, and how they came about.

    The arrays of :class:`ChosenLabels` have one entry per row of ``table``.

    Attributes
    ----------
    frame : data frame
        The rows with the columns that :func:`clean` adds; the same kind of frame as given.
    model : TableModel or None
        The encoder and the final classifier, as :func:`~surelabel.fit` gives them; None where the
        votes alone decide.
    labels : Labels
        The labels as they were read.
    features : list of Feature
        The columns that can be learned from.
    X : ndarray of shape (m, n)
        The matrix that encodes them.
    source : str
        The name of the table: its file, or "table".
    prefix : str
        Prefix of the names of the new columns.
    audit : Audit or None
        The result of random checks; None without checks.
    left_out : dict of str to str
        Columns left out because they hold the answer, and why we think so.
    """

    frame: Any
    model: TableModel | None
    labels: Labels
    features: list[Feature]
    X: np.ndarray
    source: str
    prefix: str
    audit: Audit | None
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def table(self) -> pa.Table:
        """The rows as they were; for long tables, one row per id."""
        return self.labels.table

    @property
    def learned_from(self) -> list[Feature]:
        """The columns that the method learned from: none if it goes by votes alone."""
        return [] if self.method in VOTES_ONLY else self.features

    @property
    def evidence(self) -> str:
        """What speaks for a label that was not given: features, or only votes."""
        return "features" if self.X.shape[1] else "votes"

    @property
    def status_counts(self) -> dict[str, int]:
        """Number of rows by status."""
        return {status: int(np.sum(self.status == status)) for status in STATUSES}

    def audit_sheet(self, n_checks: int = 300, *, random_state: int = 0) -> Any:
        """Draw rows at random from those to be kept, for a person to check.

        Write the true label of each row into the column ``answer``, starting with the first row
        (``?`` where nobody can tell). Then ``clean(…, audit=sheet)``, with all other arguments as
        before, corrects what was wrong and says how many of the rows can still be wrong.

        Parameters
        ----------
        n_checks : int, default=300
            Maximum number of rows; answer as many of the first ones as you like.
        random_state : int, default=0
            Seed of the random order.

        Returns
        -------
        data frame
            The same kind of frame as given.
        """
        if self.audit is not None:
            raise ParameterError(
                "these labels have been audited already; draw from a result without an audit"
            )
        sheet = draw_sheet(
            self, self.table, n_checks=n_checks, random_state=random_state, prefix=self.prefix
        )
        return to_frame(sheet, self.frame)

    def report(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        text: str | None = None,
        image: str | None = None,
        folder: str | Path | None = None,
    ) -> Path:
        """Write the result as one page, which opens offline and needs no other files.

        Parameters
        ----------
        path : path-like
            Where to write the page (``.html``).
        title : str, default=None
            Its title; by default the name of the table.
        text : str, default=None
            A column whose text is shown with every row to look at; by default the first text column
            learned from.
        image : str, default=None
            A column of image paths, relative to ``folder``; the images are shown with the rows.
        folder : path-like, default=None
            Where the images are; by default the folder of the table's file. Images elsewhere are
            not read, whatever the table says.

        Returns
        -------
        Path
            The page written.
        """
        from .page import write_page  # draws with matplotlib

        return write_page(self, path, title=title, text=text, image=image, folder=folder)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        return {
            "rows": len(self.label),
            "classes": self.classes,
            "status": self.status_counts,
            "max_error": self.max_error,
            "expected_error": self.expected_error,
            "outside": int(np.sum(self.outside > 0)),
            "features_role": self.features_role
            and {"word": self.features_role.word, **vars(self.features_role)},
            "audit": self.audit and self.audit.to_dict(),
            "gold_rows": self.n_gold,
            "gold_error": self.gold_error,
            "annotators": [
                {
                    "name": person.name,
                    "votes": person.n_votes,
                    "agreement": person.agreement,
                    "gold_votes": person.n_gold,
                    "gold_agreement": person.gold_agreement,
                    "remark": person.remark,
                }
                for person in self.annotators
            ],
            "features": {feature.name: feature.kind for feature in self.learned_from},
            "left_out": self.left_out,
            "method": self.method,
            "parameters": self.parameters,
            "solver": getattr(self.classifier, "solver_", None),
            "covering_rate": self.cv_score,
            "problems": self._problems(),
            "notes": self._notes(),
        }

    def overview(self) -> Overview:
        """A short summary of the result."""
        solver = getattr(self.classifier, "solver_", None)
        details = [written_parameters(self.parameters)] if self.parameters else []
        details += [f"solver {solver}"] if solver else []
        agreement = (
            f"{person.name} {percent(person.agreement)}"
            + (f" ({person.remark})" if person.remark else "")
            for person in self.annotators
        )
        wrong = (
            f"{percent(self.gold_error)} of {self.n_gold:,} would be wrong if they were not known"
        )
        facts = [
            *self._statuses(),
            ("audit", self.audit.sentence() if self.audit else None),
            ("known-true labels", wrong if self.n_gold else None),
            *self._contradicted(int(np.sum(self.outside > 0))),
            ("agree with result", named(agreement) or None),
            ("learned from", kinds(self.learned_from) or "the votes alone"),
            ("features", self.features_role.sentence() if self.features_role else None),
            ("order", self.order_of_labels()),
            ("left out", named(self.left_out) or None),
            ("method", self.method + (f" ({', '.join(details)})" if details else "")),
        ]
        return Overview(
            title=f"{count(len(self.label))}, {count(len(self.classes), 'class', 'classes')}",
            facts=known(facts),
            problems=self._problems(),
            notes=self._notes(),
        )

    def order_of_labels(self) -> str | None:
        """The order of the labels, and how many doubtful rows are between neighbours."""
        if not has_order(self.labels.ordered):
            return None
        places = label_positions(self.labels.ordered, self.classes).argsort().argsort()
        doubtful = (self.status == LOOK) & (self.second >= 0)
        steps = np.abs(places[self.label[doubtful]] - places[self.second[doubtful]])
        text = written_order(self.labels.ordered, self.classes)
        if len(steps) and len(places) > 2:
            text += f"; of the rows to look at, {percent(np.mean(steps == 1))} are a doubt between "
            text += "neighbours"
        return text

    def _statuses(self) -> list[tuple[str, str]]:
        """How many rows have each status, and what it means."""
        estimate = 1 - self.confidence[self.status == PROBABLE].astype(float)
        meanings = STATUSES | {LOOK: f"{STATUSES[LOOK]}; the column look says which first"}
        if len(estimate):
            wrong = percent(estimate.mean())
            meanings[PROBABLE] = (
                f"probably right (the model's estimate: {wrong} wrong; not checked)"
            )
        width = max(len(f"{n:,}") for n in self.status_counts.values())
        return [
            (status, f"{n:>{width},} rows ({percent(n / len(self.label)):>7})  {meanings[status]}")
            for status, n in self.status_counts.items()
            if n or status != CERTIFIED
        ]

    def _contradicted(self, n_rows: int) -> list[tuple[str, str]]:
        """The fact about rows whose true label was probably not given."""
        if not n_rows:
            return []
        if len(self.labels.annotators) == 1:
            return [("probably wrong", f"the labels of {count(n_rows)}; see the column outside")]
        rows = f"{count(n_rows)} whose {self.evidence} speak for a label that was not given"
        return [("outside", f"{rows} (1 in the column outside: most likely so)")]

    def _problems(self) -> list[str]:
        found = [self.audit.warning()] if self.audit else []
        if not self.n_kept:
            found.append(
                "no label is probable: allow a larger max_error, or give some known labels (gold, "
                "or surelabel review)"
            )
        return list(filter(None, found))

    def _notes(self) -> list[str]:
        one = self.labels.votes is None and np.all(self.labels.candidates.sizes == 1)
        return list(filter(None, [ONE_LABEL if one else "", self.worth_of_answers()]))

    def worth_of_answers(self) -> str:
        """What a person's answers to 30 rows would gain; empty if there are known labels."""
        if self.n_gold or self.audit:
            return ""
        buys = (
            "the estimated error rests on other tables, because no true label is known here: on "
            "real tables it was 6 points off on average, and 3 points off with "
            f"{ANSWERS} known labels"
        )
        if self.n_kept <= ANSWERS:
            return f"{buys} (surelabel review asks for them)"
        return (
            f"{buys}; surelabel audit draws rows to check, and {ANSWERS} without a mistake show "
            f"that at most {percent(share_still_wrong(self.n_kept, ANSWERS, 0))} of the labels "
            "kept are wrong (90 % sure)"
        )

    def what_decided(self) -> str:
        """What decided the labels, in a sentence without its full stop."""
        if self.features_role:
            return f"Beside the votes, the features are {self.features_role.sentence()}"
        if self.labels.votes is None and not self.labels.soft:
            return "The features decide among the candidates"
        if not self.learned_from:
            return "The votes alone decide"
        return f"{self.method} learns from the features; its probabilities count beside the votes"


def clean(
    frame: Any,
    *,
    method: str = "PURE",
    max_error: float = 0.1,
    audit: Any = None,
    answers: Any = None,
    estimator: Any = None,
    prefix: str = "",
    random_state: int = 0,
    verbose: bool = False,
    **columns: Unpack[Columns],
) -> Cleaned:
    """Choose a label for every row of a table, say how sure it is, and list the rows that a person
    should look at.

    The columns added are ``label``, ``confidence``, ``margin``, ``second``, ``status`` (certified,
    probable or look), ``outside`` (1 for the row whose true label is most likely none of those
    given, 2 for the next), ``best`` (the most probable label of all), ``outside_probability`` (only
    with known labels) and ``look`` (1 for the row to look at first, 2 for the next). In a long
    table, the rows of an id become one, with the candidates as a list.

    Parameters
    ----------
    frame : data frame, pyarrow.Table or path
        The table.
    method : str, default="PURE"
        A name in :func:`surelabel.all_methods`; with votes, PURE means "Crowd", and "majority" and
        "Dawid-Skene" are also possible.
    max_error : float, default=0.1
        Keep labels whose estimated error is at most this: their status is "probable".
    audit : data frame, pyarrow.Table or path, default=None
        An answered sheet that :meth:`Cleaned.audit_sheet` drew from the same table with the same
        arguments.
    answers : path-like, default=None
        A file of answers that ``surelabel review`` wrote. They are taken as true, and the checks
        among them bound how many of the labels kept can be wrong.
    estimator : classifier or "module:name", default=None
        With votes (or ``noisy``), the model of the features: any scikit-learn classifier with
        ``predict_proba``, such as a random forest. Each row is judged by a fit that did not include
        it.
    prefix : str, default=""
        Prefix of the names of the new columns.
    random_state : int, default=0
        Seed.
    verbose : bool, default=False
        Show progress on a terminal.
    **columns
        Which columns hold what; see :class:`~surelabel.tables.Columns`.

    Returns
    -------
    Cleaned

    Examples
    --------
    >>> import pyarrow as pa
    >>> import surelabel
    >>> labels = ["cat", "cat", "cat|cow", "cat", "cow", "cow|cat", "cow", "cow"]
    >>> table = pa.table({"size": [1.0, 1.1, 1.2, 1.3, 8.0, 8.1, 8.2, 8.3], "labels": labels})
    >>> surelabel.clean(table, labels="labels").frame["label"].to_pylist()
    ['cat', 'cat', 'cat', 'cat', 'cow', 'cow', 'cow', 'cow']
    """
    if audit is not None and answers is not None:
        raise ParameterError(
            "an audit is about labels that no answer has changed: give audit or answers, not both"
        )
    with stage("labels", verbose=verbose):
        read = TableRead(frame, columns, votes_suffice=votes_suffice(method))
        rows = read.table
        if read.labelling.long:  # one row per id, with its candidates as a list
            rows = rows.append_column(str(read.labelling.labels), read.labels.lists())
        check_new_columns(rows, NEW_COLUMNS, prefix)
        labels, placed = read.labels, None
        if answers is not None:
            labels, placed = use_answers(answers, labels, read.labelling.id, read.source)
    with read.named():
        with stage("encode", verbose=verbose):
            encoder, X = read.encoded()
        choose = partial(
            choose_labels,
            X,
            method=method,
            max_error=max_error,
            random_state=random_state,
            verbose=verbose,
            estimator=estimator,
        )
        found, audited = choose(read.labels), None
        if placed is not None:
            found, audited = with_answers(choose(labels, like=found), labels, placed)
    if audit is not None:
        found, audited = apply_sheet(found, read.table, open_table(audit)[1], prefix=prefix)
    by_features = read.features and method not in VOTES_ONLY
    return Cleaned(
        **vars(found),
        frame=to_frame(add_columns(rows, _new_columns(found), prefix), read.frame),
        model=TableModel(encoder, found.classifier) if by_features else None,
        labels=labels,
        features=read.features,
        X=X,
        source=read.source,
        prefix=prefix,
        audit=audited,
        left_out=read.leaks,
    )


def _new_columns(found: ChosenLabels) -> dict[str, pa.Array]:
    rank = np.zeros(len(found.label), np.int64)
    rows = found.rows_to_look_at()
    rank[rows] = np.arange(1, len(rows) + 1)
    columns = (
        label_column(found.classes, found.label),
        rounded(found.confidence),
        rounded(found.margin),
        label_column(found.classes, found.second),
        pa.array(found.status),
        pa.array(found.outside, mask=found.outside == 0),
        label_column(found.classes, found.best),
        rounded(found.outside_probability),
        pa.array(rank, mask=rank == 0),
    )
    return dict(zip(NEW_COLUMNS, columns, strict=True))
