"""Candidate labels, where they come from, and the data sets of the paper (:mod:`.catalog`)."""

from typing import TYPE_CHECKING

from ..lazy import lazily

if TYPE_CHECKING:
    from .candidates import CandidateSets, as_candidates
    from .corruption import drop_truth, make_partial, make_partial_instance

__all__ = [
    "CandidateSets",
    "as_candidates",
    "drop_truth",
    "make_partial",
    "make_partial_instance",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "candidates": ("CandidateSets", "as_candidates"),
            "corruption": [name for name in __all__ if name.startswith(("drop_", "make_"))],
        },
    )
