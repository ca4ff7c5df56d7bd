"""Excerpts of what Label Studio 1.23.2 and doccano 1.8.4 export."""

import json
import zipfile

import pyarrow as pa
import pytest

import surelabel
from surelabel.exceptions import TableError


def choice(label):
    return [
        {
            "from_name": "sentiment",
            "to_name": "text",
            "type": "choices",
            "value": {"choices": [label]},
        }
    ]


def annotation(number, who, label, **more):
    return {
        "id": number,
        "completed_by": who,
        "result": choice(label) if label else [],
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2026-11-17T04:37:06.259336Z",
        "lead_time": 1.5,
        "prediction": {},
        "parent_prediction": None,
    } | more


def task(number, *annotations, **more):
    return {
        "id": number,
        "annotations": list(annotations),
        "drafts": [],
        "predictions": [],
        "data": {"text": f"no {number}", "price": 5.0, "note": None},
        "meta": {},
        "total_annotations": len(annotations),
        "comment_authors": [],
    } | more


def test_label_studio_json(tmp_path):
    """The truth is no vote; skipped ones, drafts and predictions are nothing."""
    draft = {"id": 1, "user": "cyd@example.org", "result": choice("negative"), "annotation": None}
    tasks = [
        task(
            1,
            annotation(1, {"id": 2, "email": "ann@b.c"}, "negative"),
            annotation(2, 3, "so so"),
            predictions=[1],
        ),
        task(2, annotation(3, 3, None, was_cancelled=True), annotation(4, 2, "so so")),
        task(3, annotation(5, 4, "positive", was_cancelled=True)),
        task(4, drafts=[draft]),
        task(5, annotation(6, 2, "negative", ground_truth=True), annotation(7, 3, "positive")),
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    assert surelabel.convert(path, tool="label-studio").to_pydict() == {
        "text": [f"no {i}" for i in range(1, 6)],
        "price": [5.0] * 5,
        "note": [None] * 5,
        "vote_2": [None, "so so", None, None, None],
        "vote_3": ["so so", None, None, None, "positive"],
        "vote_ann@b.c": ["negative", None, None, None, None],
        "gold": [None, None, None, None, "negative"],
    }


def test_other_exports_of_label_studio_are_refused(tmp_path):
    """They do not say which of their columns are answers."""
    path = tmp_path / "long.csv"
    path.write_text("annotation_id,annotator,id,label,text\n1,2,3,x,a\n2,4,3,y,a\n")
    with pytest.raises(TableError, match="export JSON, not JSON-MIN, CSV or TSV"):
        surelabel.convert(path, tool="label-studio")


# -------------------------------------------------------------------- doccano

LINE = '{"id":%d,"text":"note %d","price":5.25,"code":"%03d","label":%s,"Comments":["hard one"]}\n'


def doccano(path, **files):
    """The archive that doccano makes; ``__`` stands for a point or a folder in a name."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", ".").replace("_in_", "/"), content)
    return path


def test_names_of_annotators_may_have_points(tmp_path):
    """One file each; the project's owner has approved nothing."""
    path = doccano(
        tmp_path / "export.zip",
        ann__lee__jsonl=LINE % (1, 1, 1, '["so so"]') + LINE % (2, 2, 2, '["negative"]'),
        ann__kim__jsonl=LINE % (1, 1, 1, '["negative"]') + LINE % (2, 2, 2, "[]"),
        admin__jsonl="\n",
    )
    expected = {
        "id": [1, 2],
        "text": ["note 1", "note 2"],
        "price": [5.25, 5.25],
        "code": ["001", "002"],
        "vote_ann.kim": ["negative", None],
        "vote_ann.lee": ["so so", "negative"],
    }
    assert surelabel.convert(path, tool="doccano").to_pydict() == expected
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path)
    assert surelabel.convert(tmp_path / "*.jsonl", tool="doccano").to_pydict() == expected


def test_files_of_the_same_name_are_all_read(tmp_path):
    path = doccano(
        tmp_path / "export.zip",
        may_in_ann__jsonl=LINE % (1, 1, 1, '["so so"]'),
        june_in_ann__jsonl=LINE % (2, 2, 2, '["negative"]'),
        june_in_bob__jsonl=LINE % (2, 2, 2, '["so so"]'),
    )
    table = surelabel.convert(path, tool="doccano")
    assert table["vote_ann"].to_pylist() == ["so so", "negative"]
    assert table["vote_bob"].to_pylist() == [None, "so so"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ann__csv", "id,text,label,Comments\n1,note 1,negative#so so,\n"),
        ("all__txt", "__label__so so note 1 \n__label__bad note 2 \n"),
    ],
)
def test_other_exports_of_doccano_are_refused(tmp_path, name, content):
    path = doccano(tmp_path / "export.zip", **{name: content})
    with pytest.raises(TableError, match=r"no list 'label' or 'labels'.*export JSONL"):
        surelabel.convert(path, tool="doccano")


def test_doccano_gets_no_missing_numbers():
    """Its import would make NaN of them, and fail."""
    cleaned = pa.table(
        {
            "text": ["a", "b"],
            "price": [None, 5.25],
            "stars": [1, 2],
            "note": [None, "x"],
            "label": ["good", None],
            "confidence": [0.9, None],
        }
    )
    first, second = surelabel.convert(cleaned, "doccano").to_pylist()
    assert first == {
        "text": "a",
        "label": ["good"],
        "confidence": "0.9",
        "price": "",
        "stars": 1,
        "note": None,
    }
    assert (second["confidence"], second["price"]) == ("", "5.25")
