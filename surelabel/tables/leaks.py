"""Columns that hold the answer. A model that learns from them learns nothing else.

Three rules find them: an earlier run made the column; its values are class names that agree with
the labels; or each of its values belongs to one class.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import rel_entr

from ..data.arrow_tables import decimal_of, is_text
from ..data.ballots import weighed_votes
from ..data.label_hints import PLACEHOLDERS, SEPARATORS
from ..data.labelling import Labelling, Labels
from ..data.text_values import NUMBER, blanked, canonical
from ..solvers.sparse_rows import row_max
from .columns import is_plain
from .new_columns import ADDED, MEDIAN, NEW_COLUMNS
from .status import STATUSES

#: A column of labels has at least this share of class names.
MOSTLY = 0.9
#: Agreement beyond chance (Cohen's κ) that is fair, and substantial (Landis and Koch 1977).
FAIR, SUBSTANTIAL = 0.2, 0.6
#: A column determines the label if this share of the sets agrees.
DETERMINED = 0.99
#: Chance would need 2**BITS tables for such an agreement.
BITS = 20
#: Rows and values examined first: a table may have very many columns.
FIRST_ROWS, FIRST_VALUES = 1000, 20
#: Class names that features have for other reasons, such as numbers and single letters.
WORDS = """
yes no true false positive negative none some all other low medium high small large big good bad
left right agree disagree strongly somewhat neutral neither nor never rarely sometimes often
always excellent very fair poor male female
"""
COMMON_WORDS = frozenset(WORDS.split())
#: Names of columns that hold answers of people.
OF_PEOPLE = re.compile(
    r"(?i)(^|[_\W])(labels?|truth|true|gold|target|class|answers?|checked|verified|reviewed|votes?"
    r"|annotat\w*|raters?|labell?ers?)([_\W\d]|$)"
)


def find_leaks(
    table: pa.Table, labels: Labels, labelling: Labelling, names: Sequence[str]
) -> dict[str, str]:
    """Those of the columns ``names`` that should not be learned from, because they hold the answer,
    and why. The rows of the table are those of ``labels``.
    """
    ours = _earlier_output(table, labelling)
    judge = _Judge(table, labels, labelling)
    found = {}
    for name in names:
        if name in ours:
            found[name] = "an earlier run of surelabel made this"
        elif reason := judge.reason(name):
            found[name] = reason
    return found


def _earlier_output(table: pa.Table, labelling: Labelling) -> set[str]:
    """Columns that ``clean`` or ``predict`` added: the file marks them; or their names say so, if
    all three of ``predict`` or the statuses are there.
    """
    ours = {field.name for field in table.schema if ADDED in (field.metadata or {})}
    there = {*table.column_names, *labelling.columns}  # reading a long table drops its labels
    for name in there:
        prefix = re.sub("(confidence|status)$", "", name)
        three = {prefix + new for new in ("label", "confidence", "second")} <= there
        if prefix != name and (three or _holds_statuses(table, name)):
            ours |= {prefix + new for new in (*NEW_COLUMNS, MEDIAN)} & there
    return ours


def _holds_statuses(table: pa.Table, name: str) -> bool:
    return (
        name in table.column_names
        and is_text(table[name].type)
        and {*pc.unique(table[name]).to_pylist()} <= {*STATUSES}
    )


def _folded(text: str) -> str:
    return text.strip().casefold()


def _is_common(name: str) -> bool:
    """Whether a class has a name that other columns have for other reasons."""
    if len(name) == 1 or name in PLACEHOLDERS or re.match(NUMBER["."], name):
        return True
    return all(word in COMMON_WORDS or len(word) < 2 for word in re.split(r"[\W_]+", name))


class _Agreement(NamedTuple):
    """How often labels of n rows are among the candidates.

    If they had nothing to do with the candidates, label k would be in a share f_k of the sets, and
    all n labels in a share p = Σ_k n_k f_k / n.
    """

    n: int
    share: float
    chance: float

    @property
    def kappa(self) -> float:
        """The share a beyond chance, (a - p) / (1 - p); 0 if chance explains all."""
        return (self.share - self.chance) / (1 - self.chance) if self.chance < 1 else 0.0

    @property
    def bits(self) -> float:
        """The bits n KL, where KL = a log2 (a/p) + (1 - a) log2 ((1 - a)/(1 - p)). By chance, a
        share a > p has a probability of at most 2^(-n KL) (Chernoff).
        """
        p, a = self.chance, self.share
        return float(self.n * rel_entr([a, 1 - a], [p, 1 - p]).sum() / np.log(2)) if a > p else 0.0


class _Judge:
    """Judges what a column says about the candidates."""

    def __init__(self, table: pa.Table, labels: Labels, labelling: Labelling) -> None:
        self.table, self.labels = table, labels
        self.decimal = decimal_of(table) or "."
        names = map(str, labels.candidates.classes.tolist())
        self.classes = {_folded(name): i for i, name in enumerate(names)}
        self.n_classes = labels.candidates.shape[1]
        self.common = all(map(_is_common, self.classes))
        self.separators = re.compile("|".join(map(re.escape, (labelling.separator, *SEPARATORS))))

    @cached_property
    def sets(self) -> sparse.csr_array:
        """The candidates of each row, or those with the most votes of informative annotators; none
        in rows that say nothing.
        """
        candidates = weighed_votes(self.labels.candidates)
        rows, columns, counts = candidates.rows, candidates.indices, candidates.counts
        if counts is not None:
            most = counts == row_max(counts, candidates.indptr)[rows]
            rows, columns = rows[most], columns[most]
        sizes = np.bincount(rows, minlength=len(candidates))
        told = ~(self.labels.unlabelled | (sizes == self.n_classes))[rows]
        return sparse.csr_array(
            (np.ones(told.sum()), (rows[told], columns[told])), candidates.shape
        )

    @cached_property
    def telling(self) -> np.ndarray:
        """Rows that say something."""
        return np.asarray(np.diff(self.sets.indptr) > 0)

    def reason(self, name: str) -> str | None:
        """Why a column should not be learned from; None if it may be."""
        column = self.table[name]
        if not (is_text(column.type) or is_plain(column.type)):
            return None
        first = pc.unique(column.slice(0, FIRST_ROWS)).drop_null()
        if len(first) > self.n_classes + 1:  # one may be empty
            if not is_text(column.type):
                return None
            some = [value for value in first.slice(0, FIRST_VALUES).to_pylist() if value.strip()]
            if sum(self._named(value) is None for value in some) > len(some) / 2:
                return None
        decimal = self.decimal if is_text(column.type) else "."
        texts = pc.utf8_trim_whitespace(column.cast(pa.large_string()).combine_chunks())
        encoded = blanked(texts, pc.equal(texts, "")).dictionary_encode()
        values = canonical(encoded.dictionary, decimal).to_pylist()
        codes = pc.fill_null(encoded.indices, -1).to_numpy()
        return self._class_names(name, codes, values) or self._determines(codes, len(values))

    def _named(self, value: str) -> list[int] | None:
        """The classes that a value names, alone or with separators between them; None if it holds
        anything else.
        """
        alone = _folded(value) in self.classes or re.match(NUMBER[","], value)
        names = map(_folded, [value] if alone else self.separators.split(value))
        found = [self.classes.get(name, -1) for name in names]
        return None if -1 in found else found

    def _class_names(self, name: str, codes: np.ndarray, values: list[str]) -> str | None:
        """Whether the values are class names that agree with the labels. There are two clues:
        unusual class names, and the name of the column. With both, any agreement counts; with one,
        it must be fair; with none, substantial, and there must be more than two classes.
        """
        named = [self._named(value) for value in values]
        known = np.array([part is not None for part in named], bool)
        different = {code for part in named for code in part or ()}
        if len(different) < 2 or np.mean(known[codes[codes >= 0]]) < MOSTLY:
            return None
        first = np.array([part[0] if part else -1 for part in named])
        agreement = self._agreement(np.where(codes >= 0, first[codes], -1))
        if agreement is None:
            return None
        clues = (not self.common) + bool(OF_PEOPLE.search(name))
        if clues < 2 and agreement.kappa < (FAIR if clues else SUBSTANTIAL):
            return None
        if not clues and (self.n_classes == 2 or agreement.bits < BITS):
            return None
        return "the values are class names, like those of an annotator or the truth"

    def _agreement(self, labels: np.ndarray) -> _Agreement | None:
        """How often labels, -1 for none, are among the candidates."""
        rows = np.flatnonzero((labels >= 0) & self.telling)
        if not len(rows):
            return None
        frequency = np.asarray(self.sets[rows].mean(axis=0)).ravel()
        return _Agreement(
            len(rows),
            float(np.mean(self.sets[rows, labels[rows]])),
            float(frequency[labels[rows]].mean()),
        )

    def _determines(self, codes: np.ndarray, n_values: int) -> str | None:
        """Whether each value stands for a class of its own."""
        if not self.n_classes / 2 < n_values <= self.n_classes:
            return None
        rows = np.flatnonzero((codes >= 0) & self.telling)
        # the best of at most n_classes**n_values ways to assign classes to the values
        needed = BITS + n_values * np.log2(self.n_classes)
        # For a share a, p ≥ a² / n_values (Cauchy-Schwarz), and KL ≤ log2 (1/p).
        if len(rows) * np.log2(n_values / DETERMINED**2) < needed:
            return None
        one = sparse.csr_array(
            (np.ones(len(rows)), (codes[rows], np.arange(len(rows)))), (n_values, len(rows))
        )
        _, label = linear_sum_assignment((one @ self.sets[rows]).toarray(), maximize=True)
        agreement = self._agreement(np.where(codes >= 0, label[codes], -1))
        if agreement is None or agreement.share < DETERMINED or agreement.bits < needed:
            return None
        return "each value belongs to one class, so the column is the label in other words"
