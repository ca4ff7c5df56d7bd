"""What model files hold about tables: the values of each class, as in
:mod:`surelabel.estimators.stored`.
"""

from __future__ import annotations

from typing import Any

from ..estimators.stored import Known
from .encoding import ENCODERS, MOST_CATEGORIES, TEXT_DIMENSIONS
from .images import WIDTH
from .times import ORDERS

TABLES = "surelabel.tables."


def _has_matching_columns(encoder: Any) -> bool:
    """Whether features differ, and each group of them has its column encoder."""
    groups, names = encoder._groups(), {feature.name for feature in encoder.features_}
    each = 0 < len(names) == len(encoder.features_) == len(encoder.scales_)
    return (
        each
        and len(groups) == len(encoder.encoders_)
        and all(
            type(part) is ENCODERS[encoder.features_[group[0]].kind]
            and len(part.widths) == len(group)
            for group, part in zip(groups, encoder.encoders_, strict=True)
        )
    )


def _has_distinct_words(column: Any) -> bool:
    distinct = len(set(column.words)) == len(column.words)
    return distinct and len(column.mean) <= TEXT_DIMENSIONS


KNOWN = {
    "TableModel": Known(
        TABLES + "encoding",
        "encoder TableEncoder; classifier classifier",
        lambda model: model.classifier.n_features_in_ == model.encoder._ends()[-1],
        "table model",
    ),
    "TableEncoder": Known(
        TABLES + "encoding",
        "features_ Feature*1000000; encoders_ column*1000000; scales_ f[*]; decimal_ .|,; "
        "dtype_ float32|float64",
        _has_matching_columns,
        "encoder",
    ),
    "Feature": Known(
        TABLES + "columns",
        "name text; kind number|category|text|vector|time|image",
        role="part",
    ),
    "NumberColumns": Known(
        TABLES + "encoding",
        "tells_missing b[c]; median f[c]; mean f[c]; deviation f[c]",
        lambda column: (column.deviation > 0).all(),
        "column",
    ),
    "CategoryColumn": Known(
        TABLES + "encoding",
        "by_value flag; categories categories; others categories",
        lambda column: 0 < len(column.categories) <= MOST_CATEGORIES,
        "column",
    ),
    "TextColumn": Known(
        TABLES + "encoding",
        "by_letters flag; words texts[w]; idf f[w]; directions f[w,d]; mean f[d]",
        _has_distinct_words,
        "column",
    ),
    "VectorColumn": Known(TABLES + "encoding", "mean f[d]", role="column"),
    "TimeColumn": Known(
        TABLES + "encoding",
        "order text; mean number; deviation number; tells_missing flag; "
        "parts days|season|weekday|hour*4",
        lambda column: column.order in ("", *ORDERS) and column.deviation > 0,
        "column",
    ),
    "ImageColumn": Known(
        TABLES + "encoding",
        "mean f[d]",
        lambda column: len(column.mean) == WIDTH,
        "column",
    ),
}
