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
FLAT = [
    {
        "id": f"r{i}",
        "status": "completed",
        "_server_id": "x",
        "text": TEXTS[i],
        "size": i,
        "label.responses": [labels[0] for _, labels in answers] + ["neg"],
        "label.responses.users": [f"u{who}" for who, _ in answers] + ["u9"],
        "label.responses.status": ["submitted"] * len(answers) + ["discarded"],
        "label.suggestion": "pos",
        "label.suggestion.score": 0.5,
        "label.suggestion.agent": None,
    }
    for i, answers in enumerate(ANSWERS)
]
NESTED = [
    {
        "id": row["id"],
        "fields": {"text": row["text"]},
        "metadata": {"size": row["size"]},
        "suggestions": {"label": {"value": "pos", "score": None, "agent": None}},
        "responses": {
            "label": [
                {"value": value, "user_id": user, "status": status}
                for value, user, status in zip(
                    row["label.responses"],
                    row["label.responses.users"],
                    row["label.responses.status"],
                    strict=True,
                )
            ]
        },
    }
    for row in FLAT
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


def test_label_studio_marks_the_truth_and_skipped_tasks(tmp_path):
    tasks = [
        *STUDIO,
        studio_task(3, [(5, ["neg"])], ground_truth=True),
        studio_task(4, [(1, ["neg"])], was_cancelled=True),
    ]
    tasks[0]["annotations"][0]["completed_by"] = {"id": 1, "email": "a@b.c"}
    table = surelabel.convert(written(tmp_path / "a.json", tasks), tool="label-studio")
    tasks[0]["annotations"][0]["completed_by"] = 1
    assert table["gold"].to_pylist() == [None, None, None, "neg", None]
    assert set(table.column_names) == {"text", "size", "gold", "vote_1", "vote_2", "vote_a@b.c"}


@pytest.mark.parametrize("records", [FLAT, NESTED], ids=["flat", "nested"])
def test_argilla(tmp_path, records):
    table = surelabel.convert(written(tmp_path / "a.json", records), tool="argilla")
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
    with pytest.raises(TableError, match=r"100,000 annotators gave 100,000 labels .* do not name"):
        read_labels(long, Labelling(labels="label", id="id", long=True, annotator="who"))


def test_votes_of_nobody_in_particular_are_counted(tmp_path):
    """As Argilla writes them where users are not asked for."""
    records = [
        {"id": "1", "text": "a", "label.responses": ["x", "x", "y"], "label.suggestion": "y"},
        {"id": "2", "text": "b", "label.responses": None, "label.suggestion.score": 0.9},
    ]
    table = surelabel.convert(written(tmp_path / "a.json", records), tool="argilla")
    assert table.column_names == ["id", "text", "candidates"]
    assert table["candidates"].to_pylist() == [["x", "x", "y"], None]


def test_doccano_has_one_file_for_each_annotator(tmp_path):
    lines = [{"id": i, "text": text, "label": ["x"], "Comments": []} for i, text in enumerate("ab")]
    other = [{"id": 1, "text": "b", "label": ["y"]}, {"id": 2, "text": "c", "label": []}]
    written(tmp_path / "ann.jsonl", lines)
    written(tmp_path / "bob.jsonl", other)
    expected = {
        "id": [0, 1, 2],
        "text": ["a", "b", "c"],
        "vote_ann": ["x", "x", None],
        "vote_bob": [None, "y", None],
    }
    (tmp_path / "idle.jsonl").write_text("")  # has answered nothing
    assert surelabel.convert(tmp_path / "*.jsonl", tool="doccano").to_pydict() == expected
    table = surelabel.convert(tmp_path / "ann.jsonl", tool="doccano")
    assert table["candidates"].to_pylist() == [["x"], ["x"]]
    users = [{"doc_id": 1, "text": "a", "labels": [n], "username": n} for n in "pq"]
    table = surelabel.convert(written(tmp_path / "old.jsonl", users), tool="doccano")
    assert table["vote_p"].to_pylist() == ["p"]


def test_prodigy_accepts_rejects_and_ignores(tmp_path):
    def line(text, label, answer, **more):
        return {"text": text, "label": label, "answer": answer, "_input_hash": hash(text)} | more

    lines = [
        line("a", "SPORT", "accept", score=0.3, priority=0.3, spans=[]),
        line("b", "SPORT", "reject"),
        line("b", "NEWS", "ignore"),
        line("c", "NEWS", "accept"),
        line("d", "ART", "ignore"),
    ]
    path = written(tmp_path / "a.jsonl", lines)
    table = surelabel.convert(path, tool="prodigy")
    assert table.column_names == ["text", "candidates"]
    assert table["candidates"].to_pylist() == [["SPORT"], ["NEWS"], ["NEWS"], None]
    options = [{"id": "x", "text": "X"}, {"id": "y", "text": "Y"}]
    lines = [
        {"text": text, "options": options, "accept": [label], "answer": answer, "_annotator_id": a}
        for text, label, answer, a in (
            ("a", "x", "accept", "p"),
            ("a", "y", "accept", "q"),
            ("b", "y", "reject", "p"),
        )
    ]
    table = surelabel.convert(written(tmp_path / "b.jsonl", lines), tool="prodigy")
    assert table.to_pydict() == {"text": ["a", "b"], "vote_p": ["x", None], "vote_q": ["y", None]}


@pytest.mark.filterwarnings("ignore:.*who gave which label is left out")
def test_rejections_in_prodigy_are_votes_against_labels(tmp_path):
    def line(text, label, answer, who):
        return {"text": text, "label": label, "answer": answer, "_annotator_id": who}

    lines = [
        line("a", "SPORT", "accept", "ann"),
        line("a", "NEWS", "reject", "ann"),  # says no more than the label accepted
        line("a", "SPORT", "reject", "bob"),
        line("b", "NEWS", "reject", "ann"),
        line("c", "ART", "accept", "bob"),
    ]
    votes = {"vote_ann": ["SPORT", "!NEWS", None], "vote_bob": ["!SPORT", None, "ART"]}
    path = written(tmp_path / "a.jsonl", lines)
    with pytest.warns(UserWarning, match=r"begin with !: read them with --settings not_prefix='!'"):
        table = surelabel.convert(path, tool="prodigy")
    assert table.to_pydict() == {"text": ["a", "b", "c"], **votes}
    # two rejected by one person, both answers by one, or labels that begin with the sign
    for more in (
        line("b", "ART", "reject", "ann"),
        line("c", "ART", "reject", "bob"),
        line("d", "!ART", "accept", "bob"),
    ):
        other = written(tmp_path / "b.jsonl", [*lines, more])
        assert "candidates" in surelabel.convert(other, tool="prodigy").column_names
    with pytest.warns(UserWarning, match=r"1 task has several labels.*\(a\)"):
        answers = surelabel.convert(path, "answers", tool="prodigy", id="text").to_pylist()
    assert answers == [{"row": "c", "label": "ART", "who": "bob"}]


@pytest.mark.filterwarnings("ignore:.*who gave which label is left out")
def test_one_rejection_does_not_outweigh_several_acceptances(tmp_path):
    def line(label, answer, who):
        return {"text": "a", "label": label, "answer": answer, "_annotator_id": who}

    lines = [line("SPORT", "accept", who) for who in ("ann", "bob", "cat")]
    lines += [line(label, "reject", "dan") for label in ("SPORT", "TECH")]
    lines += [line("TECH", "accept", "eve")]
    table = surelabel.convert(written(tmp_path / "a.jsonl", lines), tool="prodigy")
    assert table["candidates"].to_pylist() == [["SPORT"] * 3]
    strange = written(tmp_path / "b.jsonl", [*lines, line("ART", "maybe", "eve")])
    with pytest.raises(surelabel.exceptions.TableError, match="an answer is 'maybe'"):
        surelabel.convert(strange, tool="prodigy")


def test_one_label_that_is_accepted_or_rejected_makes_two_classes(tmp_path):
    def line(text, answer, **who):
        return {"text": text, "label": "SPORT", "answer": answer, **who}

    lines = [line("a", "accept", _annotator_id="ann"), line("b", "reject", _annotator_id="ann")]
    table = surelabel.convert(written(tmp_path / "a.jsonl", lines), tool="prodigy")
    assert table["vote_ann"].to_pylist() == ["SPORT", "not SPORT"]
    lines = [line("a", "accept"), line("b", "reject")]
    table = surelabel.convert(written(tmp_path / "b.jsonl", lines), tool="prodigy")
    assert table["candidates"].to_pylist() == [["SPORT"], ["not SPORT"]]


def test_a_prodigy_file_that_was_not_converted_is_refused(tmp_path):
    lines = [
        {"text": f"t{i}", "x": 7 * i % 5, "label": "ab"[i % 2], "_input_hash": i, "_task_hash": i}
        | {"answer": "reject" if i % 5 == 0 else "accept"}
        for i in range(20)
    ]
    path = written(tmp_path / "a.jsonl", lines)
    with pytest.raises(surelabel.exceptions.TableError, match=r"4 rows .* rejected or ignored"):
        surelabel.clean(path, labels="label")
    accepted = written(tmp_path / "b.jsonl", [line | {"answer": "accept"} for line in lines])
    assert "x" in str(surelabel.inspect(accepted, labels="label"))


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
        ("argilla", [FLAT[0] | {"other.responses": []}], "the questions label, other; say which"),
        ("doccano", [{"text": "a"}], "neither 'label' nor 'labels'"),
        ("doccano", [{"text": "a", "label": [[0, 2, "ORG"]]}], "the label of a whole task"),
        ("doccano", [{"text": "a", "label": []}], "there is no answer in this export"),
        ("prodigy", [{"text": "a"}], "an entry has no 'answer'"),
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
    (_, task, _) = surelabel.convert(CLEANED, "doccano").to_pylist()
    assert task == {"text": "bad", "label": ["neg"], "confidence": 0.6, "id": 8}
    (_, task, _) = surelabel.convert(CLEANED, "prodigy").to_pylist()
    assert [option["id"] for option in task["options"]] == ["neg", "pos"]
    assert task["accept"] == ["neg"]
