"""Candidate labels, where they come from, and the data sets of the paper (:mod:`.catalog`)."""

from typing import TYPE_CHECKING

from ..lazy import lazily

if TYPE_CHECKING:
    from .candidates import CandidateSets, as_candidates
    from .corruption import make_partial

__all__ = ["CandidateSets", "as_candidates", "make_partial"]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {"candidates": ["CandidateSets", "as_candidates"], "corruption": ["make_partial"]},
    )
