"""Columns that hold the answer: what an earlier run added, forgotten annotators, the truth in
another spelling. A model that learns from them learns nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
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
from ..data.spelling import NUMBER, blanked, canonical
from ..solvers.sparse_rows import row_max
from ._columns import Reader, is_plain
from .new_columns import ADDED, NEW_COLUMNS, STATUSES
from .tool_columns import answer_columns

#: Which of our new columns hold labels, and which hold shares.
LABEL_LIKE, SHARES = ("label", "second", "best"), ("confidence", "margin", "outside_probability")
#: An earlier run is recognised if at least this many columns have the names and the form of ours.
ENOUGH = 3
#: A column of labels has at least this share of class names, and at least this many cells.
MOSTLY, FEWEST = 0.9, 4
#: Words that occur as answers of many kinds, so that equal ones say little.
WORDS = """
yes no true false positive negative none some all other
low medium high small large big good bad left right
agree disagree strongly somewhat neutral neither nor never rarely sometimes often always
excellent very fair poor male female
"""
COMMON_WORDS = frozenset(WORDS.split())
#: Names of columns that hold answers of people.
TELLING = re.compile(
    r"(?i)(^|[_\W])(labels?|truth|true|gold|target|class|answers?|checked|verified|reviewed|votes?"
    r"|annotat\w*|raters?|labell?ers?)([_\W\d]|$)"
)
#: Class names are labels if their agreement beyond chance (Cohen's κ) is at least this: if the name
#: of the column or of the classes suggests it; otherwise, for numbers and common words, with three
#: or more classes, or with two.
KAPPA_NAMED, KAPPA_MANY, KAPPA_TWO = 0.2, 0.5, 0.9
#: A column determines the label if this share of the sets agrees.
DETERMINED = 0.99
#: Chance would need 2**BITS tables for such an agreement; fewer where the name says what it is.
BITS, BITS_NAMED = 20, 3
#: The place of a vote against a class in a list of classes.
RULED_OUT = -2
#: Number of rows examined first to see whether a column has few values, and number of values
#: examined to see whether it holds several class names in a cell.
FIRST_ROWS, FIRST_VALUES = 1000, 20


def find_leaks(
    table: pa.Table, labels: Labels, labelling: Labelling, names: Sequence[str]
) -> dict[str, str]:
    """Columns that should not be learned from, because they hold the answer, and why.

    Parameters
    ----------
    table : pyarrow.Table
        The instances, aligned with ``labels``.
    labels : Labels
        What the columns of labels say.
    labelling : Labelling
        Which columns these are.
    names : sequence of str
        The columns that could be learned from.

    Returns
    -------
    dict of str to str
        In the order of ``names``.
    """
    ours = _earlier_output(table, labels, labelling)
    answers = answer_columns(table, labelling.columns)
    found = {}
    judge = _Judge(table, labels, labelling)
    for name in names:
        if name in ours:
            found[name] = "an earlier run of surelabel made this"
        elif name in answers:
            found[name] = answers[name]
        elif reason := judge.reason(name):
            found[name] = reason
    return found


# -------------------------------------------------------------------- our own columns


def _earlier_output(table: pa.Table, labels: Labels, labelling: Labelling) -> set[str]:
    """Columns that ``clean`` or ``predict`` added: by what the file says, else by name and
    shape.
    """
    ours = {field.name for field in table.schema if ADDED in (field.metadata or {})}
    there: dict[str, list[str]] = {}  # long form has dropped the labels
    for name in dict.fromkeys((*table.column_names, *labelling.columns)):
        there.setdefault(_plain(name), []).append(name)
    prefixes = {
        name.removesuffix(end)
        for name in there
        for end in (*LABEL_LIKE, "status")
        if name.endswith(end)
    }
    for prefix in prefixes:
        fitting = {
            new: found
            for new in NEW_COLUMNS
            if (
                found := [
                    name for name in there.get(prefix + new, ()) if _fits(table, name, new, labels)
                ]
            )
        }
        if _suffice(table, fitting, labelling):
            ours |= {name for found in fitting.values() for name in found}
    return ours


def _plain(name: str) -> str:
    """A name without case, and without what pandas adds to the names of merged tables."""
    return re.sub(r"_[xy]$", "", name.casefold())


def _suffice(table: pa.Table, fitting: dict[str, list[str]], labelling: Labelling) -> bool:
    """Whether columns with the names and the form of ours can only be ours."""
    if len(fitting) >= ENOUGH or (len(fitting) > 1 and "status" in fitting):
        return True
    if "status" in fitting:
        return any(len(set(_texts(table[name]) or ())) > 1 for name in fitting["status"])
    # people state how sure they are of their own labels, too
    return set(fitting) == {"label", "confidence"} and not {*fitting["label"]} & {
        *labelling.columns
    }


def _fits(table: pa.Table, name: str, new: str, labels: Labels) -> bool:
    """Whether a column looks like one of our new columns."""
    if name not in table.column_names:  # it holds the labels themselves
        return new in LABEL_LIKE
    if new in LABEL_LIKE or new == "status":
        known = STATUSES if new == "status" else map(str, labels.candidates.classes.tolist())
        texts = _texts(table[name])
        return texts is not None and set(texts) <= {*map(_folded, known)}
    reader = Reader(table, decimal_of(table) or ".")
    if not (is_text(reader.holds(name)) or is_plain(reader.holds(name))):
        return bool(pa.types.is_null(reader.holds(name)))
    values, wrong = reader.parsed([name], np.array([True]))
    values = values[~np.isnan(values)]
    if wrong.any():
        return False
    if new in SHARES:
        return bool(np.all((values >= 0) & (values <= 1)))
    if new == "outside":
        return bool(np.all(np.isin(values, (0, 1))))
    return bool(np.all((values >= 1) & (values == np.floor(values))))


def _texts(column: pa.ChunkedArray) -> list[str] | None:
    """The different texts of a column, in the form in which they are compared; None if not text."""
    if not (is_text(column.type) or is_plain(column.type)):
        return None
    different = pc.unique(column.cast(pa.large_string())).drop_null()
    return [_folded(text) for text in canonical(different).to_pylist() if text.strip()]


def _folded(text: str) -> str:
    return text.strip().casefold()


def _is_common(name: str) -> bool:
    """Whether a class has a name that other columns have for other reasons: a number, a letter, a
    word of many scales, or one for "missing".
    """
    if len(name) == 1 or name in PLACEHOLDERS or re.match(NUMBER["."], name):
        return True
    return all(word in COMMON_WORDS or len(word) < 2 for word in re.split(r"[\W_]+", name))


# -------------------------------------------------------------------- other people's answers


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
        """The share a beyond chance, (a - p) / (1 - p); 0 if there is none."""
        return max(0.0, (self.share - self.chance) / (1 - self.chance)) if self.chance < 1 else 0.0

    @property
    def at_most(self) -> float:
        """An upper bound of κ, two standard errors away (Agresti and Coull 1998)."""
        share = (self.n * self.share + 2) / (self.n + 4)
        most = share + 2 * np.sqrt(share * (1 - share) / (self.n + 4))
        return float((most - self.chance) / (1 - self.chance)) if self.chance < 1 else 0.0

    @property
    def bits(self) -> float:
        """By chance, a share a > p has a probability of at most 2^(-n KL) (Chernoff), where KL is
        a log2 (a/p) + (1 - a) log2 ((1 - a)/(1 - p)); n KL.
        """
        if self.share <= self.chance:
            return 0.0
        p, a = self.chance, self.share
        return float(self.n * rel_entr([a, 1 - a], [p, 1 - p]).sum() / np.log(2))


class _Judge:
    """Judges what a column says about the candidates."""

    def __init__(self, table: pa.Table, labels: Labels, labelling: Labelling) -> None:
        self.table, self.separator = table, labelling.separator
        self.decimal = decimal_of(table) or "."
        candidates = labels.candidates
        self.n_classes = candidates.shape[1]
        self.labels = labels
        self.classes = {_folded(str(name)): i for i, name in enumerate(candidates.classes.tolist())}
        #: Class names that other columns have for other reasons.
        self.common = all(map(_is_common, self.classes))
        self.stems = {_stem(name) for name in labelling.votes}
        self.not_prefix = labelling.not_prefix
        self.separators = tuple(dict.fromkeys((self.separator, *SEPARATORS)))

    @cached_property
    def sets(self) -> sparse.csr_array:
        """The candidates of each row, or those with the most votes of annotators who tell
        something; none in rows that say nothing.
        """
        candidates = weighed_votes(self.labels.candidates)
        rows, columns, counts = candidates.rows, candidates.indices, candidates.counts
        if counts is not None:
            most = counts == row_max(counts, candidates.indptr)[rows]
            rows, columns = rows[most], columns[most]
        sizes = np.bincount(rows, minlength=len(candidates))
        mute = self.labels.unlabelled | (sizes == self.n_classes)
        told = ~mute[rows]
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
        # labels repeat; a table may have very many columns of numbers that do not
        most = min(4 * self.n_classes + 50, max(FEWEST, self.table.num_rows / 2))
        first = pc.unique(column.slice(0, FIRST_ROWS))
        if len(first) > most + 1:  # one may be null
            if not (is_text(first.type) and self._lists_names(first.slice(0, FIRST_VALUES))):
                return None
            most = self.table.num_rows
        texts = pc.utf8_trim_whitespace(column.cast(pa.large_string()).combine_chunks())
        encoded = blanked(texts, pc.equal(texts, "")).dictionary_encode()
        if not 2 <= len(encoded.dictionary) <= most:
            return None
        decimal = self.decimal if is_text(column.type) else "."
        values = _canonical(tuple(encoded.dictionary.to_pylist()), decimal)
        codes = pc.fill_null(encoded.indices, -1).to_numpy()
        return self._class_names(name, codes, values) or self._determines(codes, len(values))

    def _lists_names(self, values: pa.Array) -> bool:
        """Whether most values are several class names: there may be many different lists."""
        cells = [value for value in values.drop_null().to_pylist() if value.strip()]
        others = 0
        for cell in cells:  # not all of them: a table may have very many columns
            others += all(-1 in self._parts(cell, sign) for sign in SEPARATORS)
            if others > (1 - MOSTLY) * len(cells):
                return False
        return len(cells) > 0

    def _parts(self, value: str, sign: str) -> list[int]:
        """The classes that a value names, with a separator between them; -1 for other names, and
        ``RULED_OUT`` for a vote against a class.
        """
        found = []
        for part in value.split(sign):
            code = self.classes.get(_folded(part), -1)
            if code < 0 and self.not_prefix and part.strip().startswith(self.not_prefix):
                named = _folded(part.strip().removeprefix(self.not_prefix))
                code = RULED_OUT if named in self.classes else -1
            found.append(code)
        return found

    def _named_classes(self, counts: np.ndarray, values: list[str]) -> list[list[int]] | None:
        """The classes that each value names, with the first separator with which most of them are
        class names; None if there is none.
        """
        for sign in self.separators:
            if sign != self.separator and all(map(_is_number, values)):  # such as 1,5
                return None
            parts = [self._parts(value, sign) for value in values]
            good = np.array([-1 not in part for part in parts])
            named = {code for part, fits in zip(parts, good, strict=True) if fits for code in part}
            if counts[good].sum() >= MOSTLY * counts.sum() and len(named) > 1:
                return parts
        return None

    def _class_names(self, name: str, codes: np.ndarray, values: list[str]) -> str | None:
        """Whether the values are class names, alone or several with a separator."""
        counts = np.bincount(codes[codes >= 0], minlength=len(values))
        parts = self._named_classes(counts, values) if counts.sum() >= FEWEST else None
        if parts is None:
            return None
        first = np.array([part[0] for part in parts])
        agreement = self._agreement(np.where(codes >= 0, first[codes], -1))
        named = TELLING.search(name) or _stem(name) in self.stems
        if self.common:
            kappa, bits = KAPPA_TWO if self.n_classes == 2 else KAPPA_MANY, BITS
            if named:
                kappa, bits = KAPPA_NAMED, BITS_NAMED
            if agreement.kappa < kappa or agreement.bits < bits:
                return None
        elif not named and agreement.at_most < KAPPA_NAMED:  # as where a train departs and arrives
            return None
        return "the values are class names, as of an annotator or the truth"

    def _agreement(self, labels: np.ndarray) -> _Agreement:
        """How often labels, -1 for none, are among the candidates."""
        rows = np.flatnonzero((labels >= 0) & self.telling)
        if len(rows) < FEWEST:
            return _Agreement(0, 0.0, 0.0)
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
        # Of a share a, p is at least a² / n_values (Cauchy-Schwarz), and KL at most log2 (1/p).
        needed = BITS + n_values * np.log2(self.n_classes)
        if len(rows) * np.log2(n_values / DETERMINED**2) < needed:
            return None
        one = sparse.csr_array(
            (np.ones(len(rows)), (codes[rows], np.arange(len(rows)))), (n_values, len(rows))
        )
        together = (one @ self.sets[rows]).toarray()
        _, label = linear_sum_assignment(together, maximize=True)
        agreement = self._agreement(np.where(codes >= 0, label[codes], -1))
        # the best of at most n_classes**n_values ways to assign classes to the values
        if agreement.share < DETERMINED or agreement.bits < needed:
            return None
        return "each value belongs to one class, so the column is the label in other words"


@lru_cache
def _canonical(values: tuple[str, ...], decimal: str) -> list[str]:
    """What texts mean; very many columns may hold the same ones."""
    return canonical(pa.array(values, pa.large_string()), decimal).to_pylist()  # type: ignore[no-any-return]


def _is_number(text: str) -> bool:
    return any(re.match(form, text) for form in NUMBER.values())


def _stem(name: str) -> str:
    """A name without its number, because annotators are often numbered."""
    return re.sub(r"\d+", "#", name)
