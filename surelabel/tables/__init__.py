"""Tables in, clean labels out: the table commands as Python functions, on files and data frames."""

from ..extras import extra

with extra("cli", "surelabel.tables"):
    from .auditing import Audit
    from .cleaning import Cleaned, clean
    from .columns import Feature
    from .comparison import Comparison, compare
    from .conversion import convert
    from .encoding import TableEncoder, TableModel
    from .fitting import Fitted, fit, predict
    from .inspection import Inspection, inspect
    from .reading import Columns

__all__ = [
    "Audit",
    "Cleaned",
    "Columns",
    "Comparison",
    "Feature",
    "Fitted",
    "Inspection",
    "TableEncoder",
    "TableModel",
    "clean",
    "compare",
    "convert",
    "fit",
    "inspect",
    "predict",
]
