"""``ordered`` in tables: read, used, offered, and told."""

import numpy as np
import pandas as pd
import pytest

import surelabel
from surelabel.data.label_order import usual_order
from surelabel.exceptions import ParameterError

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


def test_words_and_numbers_at_even_distances_are_the_same(grades):
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
        ({"ordered": "poor,fair"}, "every class once; see good, great"),
        ({"ordered": GRADES, "method": "PLKNN"}, "PLKNN does not use the order"),
    ],
)
def test_what_is_no_order_is_refused(grades, how, said):
    with pytest.raises(ParameterError, match=said):
        surelabel.clean(grades.drop(columns="number"), labels="grade", **how)


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
