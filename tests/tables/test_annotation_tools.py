"""Exports of annotation tools are read, and tasks are written for them."""

import json
import time

import pyarrow as pa
import pytest

import surelabel
from surelabel.data.labelling import Labelling, read_labels
from surelabel.exceptions import ParameterError, TableError

TEXTS = ["good", "bad", "so so"]


def studio_task(i, answers, **more):
    annotations = [
        {
            "id": 100 * i + n,
            "completed_by": who,
            "was_cancelled": False,
            "ground_truth": False,
            "lead_time": 4.2 + n,
            "result": [
                {
                    "from_name": "sentiment",
                    "to_name": "text",
                    "type": "choices",
                    "value": {"choices": labels},
                }
            ],
        }
        | more
        for n, (who, labels) in enumerate(answers)
    ]
    data = {"text": TEXTS[i % 3], "size": i}
    prediction = {"model_version": "m", "result": annotations[0]["result"]} if annotations else {}
    return {"id": i, "data": data, "annotations": annotations, "predictions": [prediction]}


ANSWERS = [[(1, ["pos"]), (2, ["pos"])], [(1, ["neg"])], []]
STUDIO = [studio_task(i, answers) for i, answers in enumerate(ANSWERS)]
ARGILLA = [
    {
        "id": f"r{i}",
        "status": "completed",
        "fields": {"text": TEXTS[i]},
        "metadata": {"size": i},
        "suggestions": {"label": {"value": "pos", "score": None, "agent": None}},
        "responses": {
            "label": [
                {"value": labels[0], "user_id": f"u{who}", "status": "submitted"}
                for who, labels in answers
            ]
            + [{"value": "neg", "user_id": "u9", "status": "discarded"}]
        },
    }
    for i, answers in enumerate(ANSWERS)
]


def written(path, content):
    lines = path.suffix == ".jsonl"
    text = "\n".join(map(json.dumps, content)) if lines else json.dumps(content)
    path.write_text(text)
    return path


def test_label_studio_without_names_or_conversion(tmp_path):
    result = [{"from_name": "topic", "type": "choices", "value": {"choices": ["a"]}}]
    annotation = {"completed_by": None, "result": result}
    tasks = [{"id": i, "data": {"text": str(i)}, "annotations": [annotation]} for i in range(2)]
    path = written(tmp_path / "a.json", tasks)
    assert surelabel.convert(path, tool="label-studio").column_names == ["text", "candidates"]
    tasks[0]["annotations"] = [annotation, "?"]
    with pytest.raises(surelabel.exceptions.TableError, match="convert --from label-studio makes"):
        surelabel.inspect(written(tmp_path / "b.json", tasks), labels="topic")


def test_argilla(tmp_path):
    table = surelabel.convert(written(tmp_path / "a.json", ARGILLA), tool="argilla")
    assert table.to_pydict() == {
        "id": ["r0", "r1", "r2"],
        "text": TEXTS,
        "size": [0, 1, 2],
        "vote_u1": ["pos", "neg", None],
        "vote_u2": ["pos", None, None],
    }


def test_several_labels_of_one_annotator_are_candidates(tmp_path):
    tasks = [studio_task(0, [(1, ["pos", "neg"]), (2, ["pos"])]), studio_task(1, [(1, ["pos"])])]
    path = written(tmp_path / "a.json", tasks)
    with pytest.warns(UserWarning, match="who gave which label is left out, because somebody gave"):
        table = surelabel.convert(path, tool="label-studio")
    assert table["candidates"].to_pylist() == [["pos", "neg", "pos"], ["pos"]]
    found = read_labels(table, Labelling(labels="candidates")).candidates
    assert found.classes.tolist() == ["neg", "pos"]
    assert found.counts.tolist() == [1, 2, 1]


def test_very_many_annotators_are_not_named(tmp_path):
    """A column for each of 10⁵ people would make a table of 10¹⁰ cells."""
    m = 100_000
    annotation = STUDIO[0]["annotations"][0]
    tasks = [
        {"id": i, "data": {"text": str(i)}, "annotations": [annotation | {"completed_by": i}]}
        for i in range(m)
    ]
    path = written(tmp_path / "a.json", tasks)
    begun = time.process_time()
    with pytest.warns(UserWarning, match="100,000 tasks and 100,000 annotators would be too large"):
        found = surelabel.convert(path, tool="label-studio")
    assert time.process_time() - begun < 20
    assert found.column_names == ["text", "candidates"]
    assert found["candidates"].to_pylist() == [["pos"]] * m
    # The same, read without convert: refused before the matrix of votes is made.
    long = pa.table({"id": range(m), "who": range(m), "label": ["a", "b"] * (m // 2)})
    with pytest.raises(TableError, match=r"100,000 annotators gave 100,000 labels .* leave the"):
        read_labels(long, Labelling(labels="label", id="id", long=True, annotator="who"))


@pytest.mark.parametrize(
    ("tool", "records", "message"),
    [
        ("label-studio", [{"a": 1}], "no 'data'; export JSON, not JSON-MIN"),
        ("label-studio", [{"data": 1, "annotations": 3}], "not an export of label-studio"),
        ("label-studio", [studio_task(0, [])], "there is no question with choices"),
        (
            "label-studio",
            [studio_task(0, []) | {"annotations": None}],
            "there is no question with choices",
        ),
        (
            "label-studio",
            [studio_task(0, [("ann", "x")]) | {"data": ["t"]}],
            "not an object with fields",
        ),
        ("argilla", [{"fields": {"text": "a"}}], "there is no question with choices"),
        (
            "argilla",
            [ARGILLA[0] | {"responses": {"label": [], "other": []}}],
            "the questions label, other; say which",
        ),
        ("argilla", [{"text": "a"}], "no 'fields'; export them with records.to_json"),
        (
            "argilla",
            [ARGILLA[0] | {"responses": {"label": [{"value": [{"rank": 1}]}]}}],
            "the label of a whole task",
        ),
        ("argilla", [ARGILLA[2]], "there is no answer in this export"),
    ],
)
def test_other_files_are_refused(tmp_path, tool, records, message):
    with pytest.raises(TableError, match=message):
        surelabel.convert(written(tmp_path / "a.json", records), tool=tool)


def test_an_unknown_tool_or_question_is_named(tmp_path):
    path = written(tmp_path / "a.json", STUDIO)
    with pytest.raises(ParameterError, match="did you mean 'argilla'"):
        surelabel.convert(path, tool="argila")
    with pytest.raises(TableError, match="did you mean 'sentiment'"):
        surelabel.convert(path, tool="label-studio", question="sentimnet")


CLEANED = pa.table(
    {
        "id": [7, 8, 9],
        "text": TEXTS,
        "label": ["pos", "neg", None],
        "confidence": [0.9, 0.6, 0.4],
        "second": ["neg", "pos", "pos"],
        "look": [None, 2, 1],
    }
)


def test_tasks_have_suggestions_and_rows_to_look_at_come_first():
    tasks = surelabel.convert(CLEANED, "label-studio", question="sentiment").to_pylist()
    assert [task["data"]["id"] for task in tasks] == [9, 8, 7]
    assert tasks[0]["predictions"] == []
    assert tasks[1] == {
        "data": {"id": 8, "text": "bad"},
        "predictions": [
            {
                "model_version": "surelabel",
                "score": 0.6,
                "result": [
                    {
                        "from_name": "sentiment",
                        "to_name": "text",
                        "type": "choices",
                        "value": {"choices": ["neg"]},
                    }
                ],
            }
        ],
    }
    (_, task, _) = surelabel.convert(CLEANED, "argilla").to_pylist()
    assert task["fields"] == {"text": "bad"}
    assert task["suggestions"] == {"label": {"value": "neg", "score": 0.6, "agent": "surelabel"}}
