"""Columns that hold the answer are named and left out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from typer.testing import CliRunner

import surelabel
from surelabel.cli import app
from surelabel.data.table_files import read_table, write_table
from surelabel.tables.new_columns import NEW_COLUMNS
from surelabel.tables.status import CERTIFIED, LOOK, PROBABLE, STATUSES
from tests.cli.pets import make_table

COLUMNS = {"labels": "candidates"}


@pytest.fixture(scope="module")
def pets():
    return make_table(90).drop_columns(["note", "truth"]).to_pandas()


@pytest.fixture(scope="module")
def cleaned(pets):
    return surelabel.clean(pets, **COLUMNS, exclude="name")


def learned_from(frame, **columns):
    found = surelabel.inspect(frame, **(COLUMNS | columns))
    return {feature.name for feature in found.features}, found


def with_column(pets, values):
    return pets.assign(extra=list(values))


def truth(m=90):
    return np.array(["cat", "cow", "dog"])[np.arange(m) % 3]


def test_the_statuses_are_those_that_are_given():
    assert [*STATUSES] == [CERTIFIED, PROBABLE, LOOK]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("prefix", ["", "first_"])
def test_our_own_columns_are_not_learned_from(tmp_path, pets, ending, prefix):
    first = surelabel.clean(
        read(pets, tmp_path / f"pets{ending}"), **COLUMNS, exclude="name", prefix=prefix
    )
    write_table(first.frame, tmp_path / f"cleaned{ending}")
    with pytest.warns(UserWarning, match="an earlier run of surelabel made this"):
        again = surelabel.clean(tmp_path / f"cleaned{ending}", **COLUMNS, prefix="again_")
    assert {feature.name for feature in again.features} == {"size", "weight", "colour"}
    assert set(again.left_out) == {prefix + name for name in NEW_COLUMNS}
    np.testing.assert_array_equal(again.label, first.label)
    np.testing.assert_allclose(again.confidence, first.confidence)


def read(frame, path):
    import pyarrow as pa

    write_table(pa.Table.from_pandas(frame), path)
    return path


def test_columns_of_predict_are_recognised_by_name_and_shape(pets, cleaned):
    named, found = learned_from(surelabel.predict(cleaned, pets, prefix="old_"))
    assert named == {"size", "weight", "colour"}
    (leak,) = [problem for problem in found.problems if problem.kind == "leak"]
    assert leak.message.startswith("columns 'old_label', 'old_confidence', 'old_second' are not")


def test_a_renamed_column_of_a_typed_file_says_what_it_is(tmp_path, pets):
    path = read(pets, tmp_path / "pets.parquet")
    table = surelabel.clean(path, **COLUMNS, exclude="name").frame
    table = table.rename_columns({"margin": "distance"}).select(
        [*pets.columns[:4], "candidates", "distance"]
    )
    write_table(table, tmp_path / "one.parquet")
    assert "distance" in learned_from(tmp_path / "one.parquet")[1].unused


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (truth(), "class names"),
        ([f" {name.upper()}" for name in truth()], "class names"),
        ([name if i % 10 == 0 else None for i, name in enumerate(truth())], "class names"),
        ([f"{name}|dog" for name in truth()], "class names"),
        (np.roll(truth(), 1), "belongs to one class"),  # an annotator who is always wrong
        (np.arange(90) % 3, "belongs to one class"),
        ([("chat", "vache", "chien")[i % 3] for i in range(90)], "belongs to one class"),
    ],
)
def test_answers_are_not_learned_from(pets, values, reason):
    named, found = learned_from(with_column(pets, values))
    assert "extra" not in named
    assert reason in found.unused["extra"]
    named, _ = learned_from(with_column(pets, values), features="size,extra")
    assert named == {"size", "extra"}
    named, _ = learned_from(with_column(pets, values), features="*,extra", exclude="name")
    assert named == {"size", "weight", "colour", "extra"}


@pytest.mark.parametrize(
    "values",
    [
        np.arange(90) % 2,
        np.arange(90) % 5,
        ["red", "green", "blue"] * 30,  # determines the label: see the next test
        np.arange(90) % 30,
        [f"cat number {i % 9}" for i in range(90)],
    ],
)
def test_other_columns_are_learned_from(pets, values):
    shuffled = np.random.default_rng(0).permutation(np.asarray(values))
    assert "extra" in learned_from(with_column(pets, shuffled))[0]


def test_numbers_that_are_also_classes_must_agree_with_the_labels():
    rng = np.random.default_rng(0)
    labels = rng.integers(1, 6, 300)
    table = pd.DataFrame({"x": labels + rng.normal(size=300), "labels": labels})
    rooms = np.clip(labels + rng.integers(-2, 3, 300), 1, 5)
    often = np.where(rng.random(300) < 0.8, labels, rng.integers(1, 6, 300))
    rarely = np.where(rng.random(300) < 0.4, labels, rng.integers(1, 6, 300))
    table = table.assign(rooms=rooms, someone=often, rater_2=rarely)
    found = surelabel.inspect(table, labels="labels")
    assert set(found.unused) == {"someone", "rater_2"}


def test_common_words_and_truth_values_are_not_taken_for_answers():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    flipped = np.where(rng.random(200) < 0.8, y, 1 - y)
    words = np.array(["no", "yes"])
    table = pd.DataFrame({"smokes": words[flipped], "labels": words[y], "x": rng.normal(size=200)})
    assert {f.name for f in surelabel.inspect(table, labels="labels").features} == {"smokes", "x"}
    table = table.assign(rater_b=words[flipped]).drop(columns="smokes")
    assert {f.name for f in surelabel.inspect(table, labels="labels").features} == {"x"}


@pytest.mark.parametrize(
    "scale", [["1", "2", "NA"], ["agree", "strongly agree", "n/a"], ["A", "C", "T"]]
)
def test_items_of_a_questionnaire_are_not_annotators(scale):
    rng = np.random.default_rng(0)
    items = {f"item{i}": rng.choice(scale, 200, p=[0.5, 0.4, 0.1]) for i in range(4)}
    found = surelabel.inspect(pd.DataFrame(items), labels="item0")
    assert {feature.name for feature in found.features} == {"item1", "item2", "item3"}


def test_places_of_departure_are_not_annotators_of_where_people_arrive():
    rng = np.random.default_rng(0)
    cities = np.array(["Graz", "Linz", "Wien", "Steyr"])
    table = pd.DataFrame({"to": rng.choice(cities, 200), "departs": rng.choice(cities, 200)})
    table["price"] = rng.normal(size=200)
    assert not surelabel.inspect(table, labels="to").unused
    table["label_by_anna"] = table["departs"]
    assert set(surelabel.inspect(table, labels="to").unused) == {"label_by_anna"}
    table["departs"] = np.where(rng.random(200) < 0.3, table["to"], table["departs"])
    assert set(surelabel.inspect(table, labels="to").unused) == {"departs", "label_by_anna"}


def pixels(n_rows):
    """Digits, with 64 columns of numbers; many are seldom other than 0, which is a class, too."""
    X, y = load_digits(return_X_y=True)
    frame = pd.DataFrame(X[:n_rows].astype(int), columns=[f"x{i}" for i in range(64)])
    return frame, y[:n_rows]


@pytest.mark.parametrize("constant", [0, 3])
def test_a_label_that_every_row_has_makes_no_column_the_answer(constant):
    frame, y = pixels(500)
    rng = np.random.default_rng(0)
    fair = np.where(rng.random(500) < 0.8, y, rng.integers(0, 10, 500))
    frame = frame.assign(fair=fair, lazy=constant)
    found = surelabel.inspect(frame, votes="fair,lazy")
    assert not [problem.message for problem in found.problems if problem.kind == "leak"]
    frame = frame.assign(x100=np.where(rng.random(500) < 0.95, y, rng.integers(0, 10, 500)))
    assert "class names" in surelabel.inspect(frame, votes="fair,lazy").unused["x100"]


def test_a_handful_of_labels_makes_no_column_the_answer():
    rng = np.random.default_rng(0)
    rooms = np.concatenate([[1, 2, 3, 4, 5, 1, 2], rng.integers(1, 6, 43)])
    labels = [*map(str, rooms[:7]), *[None] * 43]
    table = pd.DataFrame({"rooms": rooms, "x": rng.normal(size=50), "labels": labels})
    assert not surelabel.inspect(table, labels="labels").unused
    table["labels"] = rooms.astype(str)
    assert set(surelabel.inspect(table, labels="labels").unused) == {"rooms"}


@pytest.mark.filterwarnings("always:.*class names")
def test_a_forgotten_annotator_is_named_on_the_command_line(tmp_path, pets):
    rng = np.random.default_rng(0)
    votes = {
        f"rater_{i}": np.where(rng.random(90) < 0.8, truth(), rng.permutation(truth()))
        for i in range(4)
    }
    table = pets.drop(columns=["candidates", "name"]).assign(**votes)
    path = read(table, tmp_path / "votes.csv")
    words = ["clean", str(path), "-o", str(tmp_path / "out.csv"), "--votes", "rater_0,rater_1"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "columns 'rater_2', 'rater_3' are not learned from: the values are" in result.stderr
    assert "rater_3" in read_table(tmp_path / "out.csv").column_names


def sets_and_texts(n_classes, m=1500):
    """A table with two candidates in each row; the names of the classes, and the pairs."""
    rng = np.random.default_rng(0)
    names = np.array([f"kind {'abcdefghijklmnop'[i]}" for i in range(n_classes)])
    y = rng.integers(0, n_classes, m)
    pairs = [rng.permutation([k, (k + rng.integers(1, n_classes)) % n_classes]) for k in y]
    frame = pd.DataFrame({"x": y + rng.normal(size=m)})
    return frame.assign(labels=["|".join(names[pair]) for pair in pairs]), names, pairs


@pytest.mark.parametrize("n_classes", [3, 16])
@pytest.mark.parametrize("sign", [", ", ";", "/", " | ", "\n"])
def test_several_class_names_with_another_separator_are_answers(n_classes, sign):
    frame, names, pairs = sets_and_texts(n_classes)
    frame["tags"] = [sign.join(names[pair]) for pair in pairs]
    found = surelabel.inspect(frame, labels="labels")
    assert "class names" in found.unused["tags"]
    # those of other rows tell nothing, and words beside them are no class names
    rng = np.random.default_rng(1)
    other = frame.assign(tags=rng.permutation(frame["tags"]))
    assert "tags" not in surelabel.inspect(other, labels="labels").unused
    words = rng.choice(["old", "new"], len(frame))
    notes = frame.assign(tags=[f"{a}{sign}{b}" for a, b in zip(frame["tags"], words, strict=True)])
    assert "class names" not in surelabel.inspect(notes, labels="labels").unused.get("tags", "")


def test_decimal_commas_are_not_two_class_names():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 400)
    rating = [f"{k},{d}" for k, d in zip(y, rng.integers(0, 10, 400), strict=True)]
    frame = pd.DataFrame({"rating": rating, "labels": y.astype(str), "x": rng.normal(size=400)})
    found = surelabel.inspect(frame, labels="labels")
    assert "numbers with a comma" in found.unused["rating"]
    assert all(problem.kind != "leak" for problem in found.problems)


def test_statuses_show_whose_columns_these_are(pets, cleaned):
    kept = pd.DataFrame(cleaned.frame)[["label", "margin"]].assign(status=["look", "probable"] * 45)
    _, found = learned_from(pd.concat([pets, kept], axis=1))
    for name in kept.columns:
        assert "earlier run" in found.unused[name]


def test_columns_of_users_with_such_names_are_learned_from(pets):
    rng = np.random.default_rng(0)
    sure, places = rng.random(90).round(2), rng.choice(["new", "look", "old"], 90)
    frame = pets.drop(columns="name").assign(status=places, confidence=sure)
    assert learned_from(frame)[0] >= {"status", "confidence"}
    frame = frame.rename(columns={"candidates": "label"})
    assert learned_from(frame, labels="label")[0] >= {"status", "confidence"}
    frame = frame.assign(label=frame["label"], status=["look", *[None] * 44] * 2)
    assert "earlier run" not in str(
        learned_from(frame.drop(columns="confidence"), labels="label")[1]
    )
