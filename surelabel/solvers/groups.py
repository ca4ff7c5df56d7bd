"""Rows that share one list of labels, such as the faces of one picture and the names below it.

Every label of the list belongs to some row of the group with probability 0.9: a labelling of the
rows that leaves a label out counts a tenth. With ``p_k`` the confidences of row ``k`` and
``p_k(T)`` their sum over the labels ``T``, the chance that the rows other than ``i`` and a label
``j`` of row ``i`` cover the list ``U`` is, by inclusion and exclusion,

    C_ij = Σ_{T ⊆ U∖{j}} (-1)^|T| Π_{k≠i} (1 - p_k(T)),

and the posterior of row ``i`` is ``p_ij (0.1 + 0.9 C_ij)``, normalised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .confidence import SortedSets

LARGEST = 8  # maximum number of labels in a list; there are 2^8 sets T
EXCEPTION = 0.1


def group_posterior(P: np.ndarray) -> np.ndarray:
    """Confidences of the rows of one group (rows × labels of its list, each row summing to 1),
    given that each label belongs to one of them.
    """
    n, u = P.shape
    inside = (np.arange(2**u)[:, None] >> np.arange(u)) & 1  # sets × labels
    sign = 1 - 2 * (inside.sum(axis=1) % 2)
    missed = np.clip(1 - P @ inside.T, 0, 1)  # Π over rows of this is the chance that T is missing
    others = np.ones((n, 2**u))
    others[1:] = np.cumprod(missed[:-1], axis=0)
    others[:-1] *= np.cumprod(missed[:0:-1], axis=0)[::-1]
    covered = np.clip((others * sign) @ (1 - inside), 0, 1)
    posterior = P * (EXCEPTION + (1 - EXCEPTION) * covered)
    return posterior / posterior.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class _Group:
    """Rows of a group (ambiguous ones first), its labels, and the positions of its entries."""

    rows: np.ndarray  # position in the matrix of each entry
    labels: np.ndarray
    entries: np.ndarray
    fixed: np.ndarray  # the confidences of all its rows, 0 at the ambiguous entries


class GroupPosterior:
    """The posterior for all groups, as the ``refine`` of
    :func:`~surelabel.solvers.leave_one_out.alternate_peers`; ``groups`` are the numbers of the
    rows' groups, with rows in their original order.
    """

    def __init__(self, sets: SortedSets, groups: np.ndarray) -> None:
        ordered = groups[sets.row_order]
        own = ordered[sets.n_clean + sets.rows]  # group of each ambiguous entry
        by_group = np.argsort(own, kind="stable")
        clean = np.argsort(ordered[: sets.n_clean], kind="stable")
        names = np.unique(own)
        starts = np.searchsorted(own[by_group], names)
        stops = np.searchsorted(own[by_group], names, side="right")
        clean_groups = ordered[: sets.n_clean][clean]
        self._groups = []
        for name, start, stop in zip(names, starts, stops, strict=True):
            entries = by_group[start:stop]
            certain = clean[slice(*np.searchsorted(clean_groups, [name, name + 1]))]
            given = sets.clean_columns[certain]
            labels = np.unique(np.concatenate([sets.columns[entries], given]))
            rows, position = np.unique(sets.rows[entries], return_inverse=True)
            count = len(rows) + len(certain)
            # Fewer rows than labels cannot cover the list.
            if len(labels) > LARGEST or count < len(labels):
                continue
            fixed = np.zeros((count, len(labels)))
            fixed[np.arange(len(rows), count), np.searchsorted(labels, given)] = 1
            columns = np.searchsorted(labels, sets.columns[entries])
            self._groups.append(_Group(position, columns, entries, fixed))

    def __call__(self, p: np.ndarray) -> np.ndarray:
        """Confidences of the ambiguous entries, given their groups."""
        refined = p.copy()
        for group in self._groups:
            P = group.fixed.copy()
            P[group.rows, group.labels] = p[group.entries]
            refined[group.entries] = group_posterior(P)[group.rows, group.labels]
        return refined
