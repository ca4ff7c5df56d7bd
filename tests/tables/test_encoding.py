"""Columns become numbers: which are used, what becomes of them, and that a model file carries it
all.
"""

import numpy as np
import pyarrow as pa
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from surelabel import PLKNNClassifier, load_model, save_model
from surelabel.data.arrow_tables import source_of
from surelabel.data.labelling import Labelling
from surelabel.data.table_files import read_table
from surelabel.exceptions import ParameterError, TableError
from surelabel.tables import encoding
from surelabel.tables.columns import Feature, Guess, check_features, choose_features, guess_kinds
from surelabel.tables.encoding import TableEncoder, TableModel

M = 120
WORDS = ["the", "small", "red", "fox", "runs", "over", "green", "hills", "while", "old", "dogs"]


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(0)
    number = rng.normal(5, 3, M)
    number[::7] = np.nan
    return {
        "number": pa.array(number, from_pandas=True),
        "whole": rng.integers(0, 9, M),
        "truth": rng.random(M) < 0.5,
        "category": [None if i % 11 == 0 else "abcd"[i % 4] for i in range(M)],
        "text": [" ".join(rng.choice(WORDS, 6)) for _ in range(M)],
        "vector": pa.array(rng.normal(size=(M, 5)).tolist()),
        "json": [str(row) for row in rng.normal(size=(M, 2)).tolist()],
        "name": [f"{i:08x}" for i in rng.permutation(M)],
        "counter": range(M),
        "constant": ["x"] * M,
        "empty": pa.nulls(M),
        "day": pa.array(rng.integers(0, 9999, M), pa.int32()).cast(pa.date32()),
        "tags": [["a", "b"]] * M,
        "labels": ["a|b"] * M,
        "gold": ["a"] * M,
    }


USED = {
    "number": "number",
    "whole": "number",
    "truth": "category",
    "category": "category",
    "text": "text",
    "vector": "vector",
    "json": "vector",
    "day": "time",
}


# -------------------------------------------------------------------- which columns


def features_of(table, **options):
    features, unused = choose_features(table, **options)
    check_features(features, unused, source_of(table), may_be_none=False)
    return features


def test_columns_that_can_tell_something_are_chosen(columns):
    chosen = features_of(pa.table(columns), labelling=Labelling(labels="labels", gold="gold"))
    assert {feature.name: feature.kind for feature in chosen} == USED


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("name", "nearly all its values differ"),
        ("counter", "it counts the rows"),
        ("constant", "it has only one value"),
        ("empty", "it is empty"),
        ("tags", "it holds lists of text"),
    ],
)
def test_others_are_not_and_the_reason_is_told(columns, name, reason):
    table = pa.table(columns)
    assert guess_kinds(table, [name]) == [Guess(None, reason)]
    with pytest.raises(TableError, match=r"column '\w+' cannot be learned from: ") as caught:
        features_of(table, features=[name])
    assert reason in str(caught.value)


def test_a_choice_can_be_made(columns):
    table = pa.table(columns)
    assert features_of(table, features=["whole", "number"]) == [
        Feature("number", "number"),
        Feature("whole", "number"),
    ]
    without = features_of(table, exclude=["text", "vector", "json", "labels", "gold"])
    assert [feature.name for feature in without] == ["number", "whole", "truth", "category", "day"]
    kinds = features_of(
        table, features=["whole", "name"], kinds={"whole": "category", "name": "text"}
    )
    assert kinds == [Feature("whole", "category"), Feature("name", "text")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ["nubmer"]}, r"^table: there is no column 'nubmer'; did you mean 'number'\?"),
        ({"exclude": ["texts"]}, r"there is no column 'texts'; did you mean 'text'\?"),
        ({"kinds": {"none": "text"}}, "there is no column 'none'"),
        ({"features": ["gold"]}, "column 'gold' holds labels or names of rows: it cannot be"),
        ({"features": []}, "no column is left to learn from"),
    ],
)
def test_a_wrong_choice_is_refused(columns, options, message):
    with pytest.raises((TableError, ParameterError), match=message):
        features_of(pa.table(columns), labelling=Labelling(labels="labels", gold="gold"), **options)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["red", "blue"] * 50, "category"),
        ([f"street {i % 70}" for i in range(700)], "category"),
        ([f"He went to place number {i}." for i in range(100)], "text"),
        ([f"私は{i}番目の場所に行きました" for i in range(100)], "text"),
        ([f"{i:05d}" for i in range(100)], None),
        (["[1, 2.5]", "[-1e3, 0]", None], "vector"),
        (["yes", None, None, "yes"], "category"),
        (pa.array(["p", "q"] * 9).dictionary_encode(), "category"),
        ([f"user{i:03}" for i in range(120)], None),
        ([f"Town{chr(97 + i % 26)}{chr(97 + i % 3)}" for i in range(120)], "category"),
        (["red", "blue", "green"] * 40, "category"),
        ([f"the price was too high by {i % 90}" for i in range(120)], "text"),
    ],
)
def test_texts_are_told_apart(values, kind):
    assert guess_kinds(pa.table({"a": values}), ["a"])[0][0] == kind


def test_decimal_commas_are_not_guessed_at(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b;labels\n" + "".join(f"{i},5;{i};1,2\n" for i in range(99)))
    message = r"a\.csv: no column is left .*'a': .* \('0,5'\); --settings decimal=, reads them, if"
    with pytest.raises(TableError, match=message):
        features_of(read_table(path), labelling=Labelling(labels="labels", separator=","))
    chosen = features_of(read_table(path, decimal=","), exclude=["b", "labels"])
    assert chosen == [Feature("a", "number")]


def test_a_word_among_numbers_is_not_passed_over(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f"{i / 7},x\n" for i in range(5000)) + "unknown,y\n")
    message = r"a\.csv: row 5001, column 'a': 'unknown' in a column of numbers; empty the cell"
    with pytest.raises(TableError, match=message):
        features_of(read_table(path))
    assert features_of(read_table(path), kinds={"a": "category"})[0] == Feature("a", "category")


def test_numbers_that_name_rows_are_not_learned_from():
    numbers = np.random.default_rng(0).permutation(100) * 7
    kinds = guess_kinds(pa.table({"user_id": numbers, "size": numbers}), ["user_id", "size"])
    assert kinds[0][0] is None
    assert "names the rows" in kinds[0][1]
    assert kinds[1][0] == "number"


# -------------------------------------------------------------------- what becomes of them


def encode(**columns):
    table = pa.table(columns)
    encoder = TableEncoder([Feature(name, USED[name]) for name in columns]).fit(table)
    return encoder.transform(table), encoder.get_feature_names_out().tolist()


def test_numbers_are_as_scikit_learn_has_them(columns):
    X, names = encode(number=columns["number"], whole=columns["whole"])
    numbers = columns["number"].to_numpy(zero_copy_only=False)[:, None]
    imputed = SimpleImputer(strategy="median").fit_transform(numbers)
    np.testing.assert_allclose(X[:, [0]], StandardScaler().fit_transform(imputed), atol=1e-12)
    np.testing.assert_array_equal(X[:, [1]], np.isnan(numbers))
    np.testing.assert_allclose(
        X[:, [2]], StandardScaler().fit_transform(columns["whole"][:, None]), atol=1e-12
    )
    assert names == ["number", "number is missing", "whole"]


def test_categories_are_as_scikit_learn_has_them(columns):
    X, names = encode(category=columns["category"])
    expected = OneHotEncoder(sparse_output=False).fit_transform(
        np.array(columns["category"], object)[:, None]
    )
    order = [f"category is {value}" for value in ("a", "b", "c", "d", "missing")]
    np.testing.assert_array_equal(X[:, [names.index(name) for name in order]], expected)
    assert sorted(names) == order


def test_rare_categories_share_a_column_and_strange_ones_are_in_none():
    values = [f"c{i}" for i in range(encoding.MOST_CATEGORIES)] * 2 + ["rare1", "rare2"]
    encoder = TableEncoder([Feature("a", "category")]).fit(pa.table({"a": values}))
    X = encoder.transform(pa.table({"a": ["c3", "rare1", "rare2", "never seen", None]}))
    assert X.sum(axis=1).tolist() == [1, 1, 1, 0, 0]
    assert X[1:3, -1].tolist() == [1, 1]
    assert encoder.get_feature_names_out()[-1] == "a is another"


def test_texts_keep_the_distances_of_tf_idf(columns):
    texts = columns["text"]
    X, names = encode(text=texts)
    letters = TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=(2, 4), min_df=2)
    tfidf = letters.fit_transform(texts).toarray()
    expected, found = cdist(tfidf, tfidf), cdist(X, X)
    np.testing.assert_allclose(found / found.mean(), expected / expected.mean(), atol=0.1)
    assert names[0] == "text direction 1"


def test_long_texts_are_reduced_and_similar_ones_stay_near():
    rng = np.random.default_rng(0)
    topics = [[f"{topic}word{i}" for i in range(300)] for topic in "pq"]
    texts = [" ".join(rng.choice(topics[i % 2], 30)) for i in range(200)]
    X = TableEncoder([Feature("t", "text")]).fit_transform(pa.table({"t": texts}))
    assert X.shape == (200, encoding.TEXT_DIMENSIONS)
    distances = cdist(X, X) + np.diag(np.full(200, np.inf))
    assert np.mean(distances.argmin(axis=1) % 2 == np.arange(200) % 2) > 0.95


def test_no_text_is_near_to_all_others():
    rng = np.random.default_rng(0)
    common = [f"{a}{b}" for a in ("data", "text", "fast") for b in ("base", "tool", "file")]
    texts = [" ".join(rng.choice(common, 4)) for _ in range(150)]
    texts += [f"zq{i}xj wv{i}kk" for i in range(50)]
    X = TableEncoder([Feature("t", "text")]).fit_transform(pa.table({"t": texts}))
    distances = cdist(X, X) + np.diag(np.full(200, np.inf))
    assert np.bincount(distances.argmin(axis=1)).max() < 40


def test_text_without_words_or_blanks():
    table = pa.table(
        {"a": [" ", None, ""], "b": ["今日は天気がいい", "今日は雨が降る", "明日は雪が降る"]}
    )
    X = TableEncoder([Feature("a", "text"), Feature("b", "text")]).fit_transform(table)
    assert np.isfinite(X).all()
    assert np.all(X[:, 0] == 0)
    distances = cdist(X, X)
    assert 0 < distances[1, 2] < distances[0, 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: rows.tolist(),
        lambda rows: pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1]),
        lambda rows: pa.chunked_array([rows[:10].tolist(), rows[10:].tolist()]),
        lambda rows: pa.array(rows.tolist(), pa.large_list(pa.float64())),
        lambda rows: [str(row.tolist()) for row in rows],
    ],
    ids=["list", "fixed", "chunked", "large", "json"],
)
def test_vectors_stay_as_they_are_but_for_origin_and_scale(make):
    rows = np.random.default_rng(0).normal(3, [1, 2, 5], (40, 3))
    X = TableEncoder([Feature("vector", "vector")]).fit_transform(pa.table({"vector": make(rows)}))
    centred = rows - rows.mean(axis=0)
    np.testing.assert_allclose(X, centred / np.sqrt(centred.var(axis=0).sum()), atol=1e-12)


@pytest.mark.parametrize(
    "vectors", [[[1.0, 2.0], None, [3.0, 6.0]], ["[1.0, 2.0]", None, "[3.0, 6.0]"]]
)
def test_a_missing_vector_is_the_mean(vectors):
    table = pa.table({"v": vectors})
    encoder = TableEncoder([Feature("v", "vector")]).fit(table)
    assert encoder.transform(table)[1].tolist() == [0, 0]
    assert encoder.transform(pa.table({"v": pa.nulls(2)})).tolist() == [[0, 0], [0, 0]]


def test_no_kind_drowns_the_others(columns):
    table = pa.table(columns)
    encoder = TableEncoder([Feature(name, kind) for name, kind in USED.items()]).fit(table)
    variance = dict.fromkeys(USED.values(), 0.0)
    parts = np.split(encoder.transform(table), encoder._ends()[:-1], axis=1)
    for feature, part in zip(encoder.features_, parts, strict=True):
        variance[feature.kind] += part.var(axis=0).sum()
    assert 3 < variance["number"] + variance["category"] < 4
    plain = variance["number"] + variance["category"] + variance["time"]
    assert variance["text"] == pytest.approx(plain)
    assert variance["vector"] == pytest.approx(2 * plain), "there are two columns of vectors"


def test_large_tables_are_float32_also_when_predicting(monkeypatch, columns):
    monkeypatch.setattr(encoding, "LARGE", 50)
    table = pa.table(columns).select(list(USED))
    encoder = TableEncoder().fit(table)
    for rows in (table, table.slice(0, 3)):
        assert encoder.transform(rows).dtype == np.float32
    monkeypatch.setattr(encoding, "LARGE", 10**6)
    np.testing.assert_allclose(
        encoder.transform(table), TableEncoder().fit_transform(table), atol=1e-4
    )


def test_equal_numbers_large_ones_and_none():
    empty = pa.array([None] * 5, pa.float64())
    table = pa.table({"a": [0.1] * 5, "b": [1e99, -1e99, 0.0, 1.0, None], "c": empty})
    X = TableEncoder([Feature(name, "number") for name in "abc"]).fit_transform(table)
    assert np.isfinite(X).all()
    assert not X[:, 0].any()
    assert not X[:, -1].any()


def test_rows_are_encoded_one_by_one_as_together(columns):
    table = pa.table(columns).select(list(USED))
    encoder = TableEncoder().fit(table)
    together = encoder.transform(table)
    np.testing.assert_allclose(
        np.vstack([encoder.transform(table.slice(i, 1)) for i in range(M)]), together, atol=1e-12
    )
    np.testing.assert_array_equal(clone(encoder).fit(table).transform(table), together)


# -------------------------------------------------------------------- other tables


def test_types_that_mean_the_same_are_taken(columns):
    encoder = TableEncoder([Feature("whole", "number"), Feature("category", "category")])
    table = pa.table({"whole": [1, 2, 3, 5], "category": ["1", "2", "1", "2"]})
    expected = encoder.fit_transform(table)
    others = pa.table(
        {"category": [1, 2, 1, 2], "more": [0] * 4, "whole": [" 1", "2", "3.0", "5e0"]}
    )
    np.testing.assert_array_equal(encoder.transform(others), expected)
    floats = pa.table(
        {"category": [1.0, 2.0, 1.0, 2.0], "whole": pa.array([1, 2, 3, 5], pa.int8())}
    )
    np.testing.assert_array_equal(encoder.transform(floats), expected)
    missing = encoder.transform(pa.table({"category": pa.nulls(1), "whole": pa.nulls(1)}))
    assert np.isfinite(missing).all()


FIVE = "[1, 2, 3, 4, 5]"


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("number", ["1", "x"], "row 2, column 'number': 'x' where a number is needed"),
        ("number", [1.0, float("inf")], "row 2, column 'number': inf cannot be used; empty the"),
        ("number", [-1e101, 1.0], r"row 1, column 'number': -1e\+101 cannot be used"),
        ("number", [[1.0], [2.0]], "column 'number' holds lists of numbers, not numbers; leave"),
        ("category", [{"a": 1}] * 2, "column 'category' holds objects, which cannot be a cat"),
        ("category", [pa.MonthDayNano([1, 2, 3])] * 2, "column 'category' holds times, which"),
        ("vector", [[1.0] * 5, [1.0] * 4], "row 2, column 'vector': a vector of 4 numbers where 5"),
        ("vector", [[1.0] * 4] * 2, "row 1, column 'vector': a vector of 4 numbers where 5 are"),
        ("vector", [None, [1.0, None] * 2 + [1.0]], "row 2, .*: a vector with a number missing or"),
        ("vector", [None, [float("nan")] * 5], "row 2, .*: a vector with a number missing or inf"),
        ("vector", [1.0, 2.0], "column 'vector' holds numbers, not vectors of numbers"),
        ("vector", [["x"] * 5] * 2, "column 'vector' holds lists of text, not vectors"),
        ("vector", [f"{FIVE},{FIVE}", FIVE], "row 1, .*: this is not a vector such as"),
        *(
            ("vector", [FIVE, text], "row 2, column 'vector': this is not a vector such as")
            for text in (
                "[1, x]",
                "[]",
                "hello",
                "[1 2, 3]",
                "[1.0, 2)",
                "[1.0, 2",
                "(1.0)",
                "[1e]",
            )
        ),
    ],
)
def test_another_type_is_refused(columns, name, values, message):
    encoder = TableEncoder([Feature(name, USED[name])]).fit(pa.table(columns))
    with pytest.raises(TableError, match=f"^table: {message}"):
        encoder.transform(pa.table({name: values}))


def test_a_missing_column_is_refused_with_the_file(columns, tmp_path):
    encoder = TableEncoder([Feature("number", "number")]).fit(pa.table(columns))
    (tmp_path / "new.csv").write_text("Number,x\n1,2\n")
    message = r"new\.csv: the model needs a column 'number', .* did you mean 'Number'\?"
    with pytest.raises(TableError, match=message):
        encoder.transform(read_table(tmp_path / "new.csv"))


def test_vectors_of_different_length_or_none_are_refused_at_fit():
    for values, message in (
        ([[1.0], [1.0, 2.0]], "row 2"),
        ([None, None], "holds no vector"),
        ([[], []], "holds no vector"),
    ):
        with pytest.raises(TableError, match=message):
            TableEncoder([Feature("v", "vector")]).fit(
                pa.table({"v": pa.array(values, pa.list_(pa.float64()))})
            )


# -------------------------------------------------------------------- model files


def test_a_model_file_carries_the_encoder(columns, tmp_path):
    table = pa.table(columns)
    features = [Feature(name, kind) for name, kind in USED.items()]
    encoder = TableEncoder(features).fit(table)
    y = ["a" if i % 2 else "b" for i in range(M)]
    model = TableModel(encoder, PLKNNClassifier(n_neighbors=3).fit(encoder.transform(table), y))
    save_model(model, tmp_path / "m.model")
    loaded = load_model(tmp_path / "m.model")
    np.testing.assert_array_equal(loaded.encoder.transform(table), encoder.transform(table))
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    assert loaded.encoder.features_ == features


def test_numbers_that_are_all_0_or_1_stay_as_they_are():
    table = pa.table({"a": [0, 1, 0, 0, None], "b": [1.0, 0.0, 0.0, 0.0, 0.0]})
    X = TableEncoder([Feature("a", "number"), Feature("b", "number")]).fit_transform(table)
    assert X.tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 1, 0]]
    more = table.append_column("c", pa.array([1, 2, 3, 4, 5]))
    features = [Feature(name, "number") for name in "abc"]
    assert np.allclose(TableEncoder(features).fit_transform(more)[:, 2].std(), 1)
