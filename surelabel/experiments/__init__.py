"""Studies: the paper's experiments and your own, as trials that run once and are recorded."""

from typing import TYPE_CHECKING

from ..lazy import lazily

if TYPE_CHECKING:
    from .runner import run_study
    from .study import Study, StudyError, paper_study, read_study

__all__ = ["Study", "StudyError", "paper_study", "read_study", "run_study"]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {"runner": ("run_study",), "study": ("Study", "StudyError", "paper_study", "read_study")},
    )
