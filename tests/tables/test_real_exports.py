"""Excerpts of what Label Studio 1.23.2 exports."""

import json

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
    with pytest.raises(TableError, match="line 1 is not in JSON as expected"):
        surelabel.convert(path, tool="label-studio")
