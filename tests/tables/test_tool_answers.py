"""There and back: tasks for a tool, its export by its documentation, answers, cleaned labels."""

import json

import pytest
from typer.testing import CliRunner

from surelabel.cli import app
from surelabel.data.table_files import read_table


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def go(words, code=0):
        done = CliRunner().invoke(app, words.split())
        assert done.exit_code == code, done.output
        return done.output

    return go


@pytest.fixture
def table(tmp_path):
    """Rows of two kinds; "007" and "1.5" are names, and stay what they are."""
    names = ["007", "1.5", *(f"p{i}" for i in range(2, 60))]
    lines = ["pet,size,note,labels"]
    for i, name in enumerate(names):
        kind, other = ("cat", "cow") if i % 2 else ("cow", "cat")
        both = f"{kind}|{other}" if i % 5 == 0 else kind
        lines.append(f"{name},{5 * (i % 2) + i / 50:.2f},seen {i} times,{both}")
    (tmp_path / "pets.csv").write_text("\n".join(lines) + "\n")
    return names


def label_studio(tasks, given):
    """JSON: https://labelstud.io/guide/export#JSON."""
    return [
        {
            "id": 300 + n,
            "data": task["data"],
            "predictions": task["predictions"],
            "annotations": [
                {
                    "id": 900 + n,
                    "completed_by": {"id": 1, "email": "ann@example.org"},
                    "was_cancelled": False,
                    "ground_truth": False,
                    "lead_time": 2.5,
                    "result": [
                        {
                            "id": "q1",
                            "from_name": "label",
                            "to_name": "note",
                            "type": "choices",
                            "value": {"choices": [given[task["data"]["pet"]]]},
                        }
                    ],
                }
            ]
            if task["data"]["pet"] in given
            else [],
        }
        for n, task in enumerate(tasks)
    ]


def argilla(tasks, given):
    """Records of Argilla 2, as ``dataset.records.to_json`` writes them."""
    return [
        {
            "id": f"record-{n}",
            "fields": task["fields"],
            "metadata": task["metadata"],
            "suggestions": task["suggestions"],
            "responses": {"label": [{"value": given[pet], "user_id": "ann"}]}
            if (pet := task["metadata"]["pet"]) in given
            else {},
            "vectors": {},
            "status": "completed" if pet in given else "pending",
        }
        for n, task in enumerate(tasks)
    ]


EXPORTS = {"label-studio": label_studio, "argilla": argilla}


@pytest.mark.parametrize("tool", EXPORTS)
def test_there_and_back(run, table, tmp_path, tool):
    options = "--labels labels --id pet --exclude note"
    run(f"clean pets.csv -o cleaned.csv {options}")
    run(f"convert cleaned.csv tasks.json --to {tool} --shown note")
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    given = {name: "emu" if name == "p7" else "cow" for name in ["007", "1.5", "p7", "p11", "p20"]}
    (tmp_path / "export.json").write_text(json.dumps(EXPORTS[tool](tasks, given)))
    run(f"convert export.json pets.answers.jsonl --from {tool} --to answers --id pet")
    said = run(f"clean pets.csv -o again.csv {options} --answers pets.answers.jsonl")
    assert "does not have" not in said
    found = read_table("again.csv").to_pylist()
    assert [row["pet"] for row in found] == table
    for row in found:
        if row["pet"] in given:
            assert (row["label"], row["status"]) == (given[row["pet"]], "certified")
    before = (tmp_path / "pets.answers.jsonl").read_bytes()
    said = run(f"convert export.json pets.answers.jsonl --from {tool} --to answers --id pet", 2)
    assert "answers are never overwritten" in said
    assert (tmp_path / "pets.answers.jsonl").read_bytes() == before


@pytest.mark.filterwarnings("default::UserWarning")
def test_what_is_no_answer(run, table, tmp_path):
    tasks = [{"data": {"pet": f"p{n}"}, "predictions": []} for n in range(3)]
    export = label_studio(tasks, {"p0": "cat", "p1": "cow"})
    other = json.loads(json.dumps(export[1]["annotations"][0]))
    other |= {"completed_by": 2}
    other["result"][0]["value"]["choices"] = ["cat"]
    export[1]["annotations"].append(other)
    (tmp_path / "export.json").write_text(json.dumps(export))
    command = "convert export.json a.jsonl --from label-studio --to answers"
    assert "say which column holds the names (--id)" in run(command, 2)
    assert "there is no column 'dog'" in run(f"{command} --id dog", 2)
    assert "1 task has several labels (p1)" in run(f"{command} --id pet")
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    assert list(map(json.loads, lines)) == [{"row": "p0", "label": "cat", "who": "ann@example.org"}]
    assert "say which one" in run("convert pets.csv b.jsonl --to answers --id pet", 2)
    assert ".jsonl" in run("convert export.json b.csv --from label-studio --to answers", 2)
    other["ground_truth"] = True
    (tmp_path / "export.json").write_text(json.dumps(export))
    run("convert export.json c.jsonl --from label-studio --to answers --id pet")
    last = json.loads((tmp_path / "c.jsonl").read_text().splitlines()[1])
    assert (last["row"], last["label"]) == ("p1", "cat")
