"""``ordered`` in tables: read, used, offered, and told."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import surelabel
from surelabel.data.label_order import label_positions, usual_order
from surelabel.exceptions import ParameterError
from surelabel.tables.reading import TableRead

GRADES = ["poor", "fair", "good", "great"]


@pytest.fixture(scope="module")
def grades():
    """Grades on a line, each beside a neighbour or two."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 160)
    sets = [
        sorted({k, int(np.clip(k + rng.integers(-1, 2), 0, 3)), int(rng.integers(4))}) for k in y
    ]
    return pd.DataFrame(
        {
            "x": y + rng.normal(0, 0.6, 160),
            "z": rng.normal(size=160),
            "grade": ["|".join(GRADES[k] for k in one) for one in sets],
            "number": ["|".join(str(10 * k) for k in one) for one in sets],
        }
    )


def test_words_and_numbers_at_even_distances_are_the_same(grades, tmp_path):
    words = surelabel.clean(grades.drop(columns="number"), labels="grade", ordered=GRADES)
    numbers = surelabel.clean(grades.drop(columns="grade"), labels="number", ordered=True)
    by_text = surelabel.clean(
        grades.drop(columns="number"), labels="grade", ordered="poor,fair,good,great"
    )
    assert words.classifier.ordered == tuple(GRADES)
    np.testing.assert_array_equal(by_text.confidence, words.confidence)
    place = {name: k for k, name in enumerate(GRADES)}
    found = [place[name] for name in words.classes[words.label]]
    assert found == (numbers.classes[numbers.label].astype(int) // 10).tolist()
    page = words.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "The labels have an order: poor &lt; fair &lt; good &lt; great; of the rows" in page
    facts = dict(words.overview().facts)
    assert facts["order"].startswith("poor < fair < good < great; of the rows to look at")


def test_the_order_is_offered_once(grades):
    plain = surelabel.inspect(grades.drop(columns="number"), labels="grade")
    assert plain.order == "poor,fair,good,great"
    assert "--ordered poor,fair,good,great" in plain.overview().notes[-1]
    assert surelabel.inspect(grades, labels="number").order == "numbers"
    assert surelabel.inspect(grades, labels="number", ordered="numbers").order == ""


@pytest.mark.parametrize(
    ("classes", "order"),
    [
        (["high", "low", "Medium"], ["low", "Medium", "high"]),
        (["cat", "dog", "emu"], False),
        (["yes", "no"], False),
        ([1, 2], False),
        (["1", "2.5", "-3"], True),
    ],
)
def test_usual_scales(classes, order):
    assert usual_order(classes) == order


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"ordered": True}, "different numbers"),
        ({"ordered": "poor,fair"}, "every class once; missing: good, great"),
        ({"ordered": [*GRADES, "best", "best"]}, "once; repeated: best"),
        ({"ordered": set(GRADES)}, "must be True or a list"),
        ({"ordered": 4}, "must be True or a list"),
        ({"ordered": ""}, "once; missing: fair, good, great, poor"),
        ({"ordered": GRADES, "method": "PLKNN"}, "PLKNN does not use the order"),
    ],
)
def test_what_is_no_order_is_refused(grades, how, said):
    with pytest.raises(ParameterError, match=said):
        surelabel.clean(grades.drop(columns="number"), labels="grade", **how)


def test_numbers_whose_distance_overflows_are_no_order():
    classes = ["-1e308", "0", "1e308"]
    assert not usual_order(classes)
    with pytest.raises(ParameterError, match="different numbers"):
        label_positions(True, np.array(classes))


@pytest.mark.parametrize(
    "order",
    [
        "0,10,20,30",
        ["0", "10", "20", "30"],
        [0, 10, 20, 30],
        np.arange(0, 40, 10),
        range(0, 40, 10),
    ],
)
def test_an_order_is_a_text_or_any_sequence(grades, order):
    read = TableRead(grades, {"labels": "number", "ordered": order})
    assert read.labels.ordered == ("0", "10", "20", "30")


def test_labels_in_a_list_may_hold_commas(grades):
    names = [f"{name}, or so" for name in GRADES]
    table = grades.replace({"grade": dict(zip(GRADES, names, strict=True))}, regex=True)
    read = TableRead(table, {"labels": "grade", "ordered": names})
    assert read.labels.ordered == tuple(names)


@pytest.mark.parametrize("how", [{"normalise": True}, {"map": {"POOR": "poor", "Great": "great"}}])
def test_the_order_is_renamed_with_the_labels(grades, how):
    table = grades.replace({"grade": {"^poor": "POOR", "great$": "Great"}}, regex=True)
    order = ["POOR", "poor", "fair", "good", "Great"]
    labels = TableRead(table, {"labels": "grade", "ordered": order} | how).labels
    assert [name.lower() for name in labels.ordered] == GRADES
    assert sorted(labels.ordered) == labels.candidates.classes.tolist()


def test_distances_between_numbers_are_theirs(grades):
    found = [
        surelabel.compare(
            grades.drop(columns="grade"), labels="number", ordered=order, methods=["SURE"]
        )
        for order in ("numbers", "0,10,20,30")
    ]
    assert found[0].results[0].distance == pytest.approx(10 * found[1].results[0].distance)


def test_methods_are_compared_by_distance(grades):
    found = surelabel.compare(
        grades.drop(columns="number"),
        labels="grade",
        ordered=GRADES,
        methods=["PURE", "PLKNN", "SURE"],
    )
    assert found.ordered
    distances = [result.distance for result in found]
    assert distances == sorted(distances)
    assert "distance" in found.overview().listings[0].columns
    assert not surelabel.compare(grades, labels="number", methods=["PLKNN"]).ordered


def test_a_fitted_table_keeps_the_order(grades, tmp_path):
    table = grades.drop(columns="number")
    model = surelabel.fit(table, labels="grade", ordered=GRADES).model
    surelabel.save_model(model, tmp_path / "m.surelabel")
    again = surelabel.load_model(tmp_path / "m.surelabel")
    assert list(again.classifier.ordered) == GRADES
    X = np.random.default_rng(0).normal(size=(5, model.classifier.n_features_in_))
    found = [one.classifier.predict(X, loss="absolute").tolist() for one in (again, model)]
    assert found[0] == found[1]
    labelled = surelabel.predict(again, table[:9])
    X = again.encoder.transform(pa.Table.from_pandas(table[:9]))
    expected = again.classifier.predict(X, loss="absolute").tolist()
    assert labelled["median"].tolist() == expected
    labelled.to_csv(tmp_path / "labelled.csv", index=False)
    learned = surelabel.inspect(tmp_path / "labelled.csv", labels="grade").features
    assert [feature.name for feature in learned] == ["x", "z"]


def test_only_an_order_has_a_median(grades):
    fitted = surelabel.fit(grades.drop(columns="number"), labels="grade")
    assert "median" not in surelabel.predict(fitted, grades[:3])
