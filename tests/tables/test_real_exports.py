"""Excerpts of what Label Studio 1.23.2 and doccano 1.8.4 export."""

import json
import zipfile

import pyarrow as pa
import pytest

import surelabel
from surelabel.exceptions import TableError

#: Two choices, a comment and a rating; the last task has no answer.
MIN = """[
{"text": "quick and cheap", "price": 5.5, "shop": "east", "code": "002", "id": 45,
 "sentiment": "negative", "topics": "food", "why": "bob thinks negative",
 "sure": [{"rating": 1}], "annotator": 3, "annotation_id": 82,
 "created_at": "2026-11-17T04:38:26.898099Z", "updated_at": "2026-11-17T04:38:26.898143Z",
 "lead_time": 1.5},
{"text": "quick and cheap", "price": 5.5, "shop": "east", "code": "002", "id": 45,
 "sentiment": "positive", "topics": "food", "why": "ann thinks positive",
 "sure": [{"rating": 5}], "annotator": 2, "annotation_id": 81,
 "created_at": "2026-11-17T04:38:26.055448Z", "updated_at": "2026-11-17T04:38:26.055485Z",
 "lead_time": 1.5},
{"text": "[not a list]", "price": 6.25, "shop": "east", "code": "005", "id": 48,
 "sentiment": "negative", "topics": {"choices": ["food", "staff"]}, "why": "ann thinks negative",
 "sure": [{"rating": 3}], "annotator": 2, "annotation_id": 84,
 "created_at": "2026-11-17T04:38:28.594091Z", "updated_at": "2026-11-17T04:38:28.594133Z",
 "lead_time": 1.5},
{"text": "fine and bad", "price": 6.5, "shop": "north", "code": "006", "id": 49, "annotator": null,
 "annotation_id": null, "created_at": null, "updated_at": null, "lead_time": null}
]"""
CSV = """"annotation_id","annotator","code","created_at","id","lead_time","price","sentiment",\
"shop","sure","text","topics","updated_at","why"
82,"3","002","2026-11-17T04:38:26.898099Z",45,1.5,5.5,"negative","east","[{""rating"":1}]",\
"quick and cheap","food","2026-11-17T04:38:26.898143Z","bob thinks negative"
81,"2","002","2026-11-17T04:38:26.055448Z",45,1.5,5.5,"positive","east","[{""rating"":5}]",\
"quick and cheap","food","2026-11-17T04:38:26.055485Z","ann thinks positive"
84,"2","005","2026-11-17T04:38:28.594091Z",48,1.5,6.25,"negative","east","[{""rating"":3}]",\
"[not a list]","{""choices"":[""food"",""staff""]}","2026-11-17T04:38:28.594133Z",\
"ann thinks negative"
"","","006","",49,"",6.5,"","north","","fine and bad","","",""
"""


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


@pytest.fixture(params=["export.json", "export.csv", "export.tsv"])
def entries(tmp_path, request):
    """An export with one entry for each annotation."""
    path = tmp_path / request.param
    path.write_text({".json": MIN, ".csv": CSV, ".tsv": tabbed(CSV)}[path.suffix])
    return path


def tabbed(text):
    """The text with tabs between its cells."""
    within, out = False, ""
    for sign in text:
        within ^= sign == '"'
        out += "\t" if sign == "," and not within else sign
    return out


def test_label_studio_json(tmp_path):
    """The truth is no vote; skipped ones, drafts and predictions are nothing."""
    draft = {"id": 1, "user": "cyd@example.org", "result": choice("negative"), "annotation": None}
    tasks = [
        task(1, annotation(1, 2, "negative"), annotation(2, 3, "so so"), predictions=[1]),
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
        "vote_2": ["negative", "so so", None, None, None],
        "vote_3": ["so so", None, None, None, "positive"],
        "gold": [None, None, None, None, "negative"],
    }


@pytest.mark.filterwarnings("ignore:.*who gave which label is left out")
def test_answers_to_other_questions_are_no_content(entries):
    with pytest.warns(UserWarning, match="'why'.*left out.*JSON says for certain"):
        table = surelabel.convert(entries, tool="label-studio", question="sentiment")
    names = ["id", "text", "price", "shop", "code", "vote_2", "vote_3"]
    assert sorted(table.column_names) == sorted(names)
    assert table["code"].to_pylist() == ["002", "005", "006"]
    assert table["text"].to_pylist() == ["quick and cheap", "[not a list]", "fine and bad"]
    assert table["vote_2"].to_pylist() == ["positive", "negative", None]
    assert table["vote_3"].to_pylist() == ["negative", None, None]
    with pytest.warns(UserWarning, match="'sentiment'.*left out"):
        table = surelabel.convert(entries, tool="label-studio", question="topics")
    assert table["candidates"].to_pylist() == [["food", "food"], ["food", "staff"], None]
    with pytest.raises(TableError, match=r"the questions .*; say which one \(--question NAME\)"):
        surelabel.convert(entries, tool="label-studio")


def test_one_annotation_for_each_task(tmp_path):
    """Nothing differs within a task: JSON-MIN says by its order what is an answer, CSV does not."""
    kept = ("text", "price", "id", "sentiment", "annotator", "annotation_id")
    rows = [{key: row[key] for key in kept} for row in json.loads(MIN)[1:3]]
    path = tmp_path / "min.json"
    path.write_text(json.dumps(rows))
    table = surelabel.convert(path, tool="label-studio")
    assert table["vote_2"].to_pylist() == ["positive", "negative"]
    path = tmp_path / "long.csv"
    lines = ["annotation_id,annotator,id,price,sentiment,text", "1,2,3,4,good,a", "2,2,4,5,bad,b"]
    path.write_text("\n".join(lines))
    with pytest.raises(TableError, match="which of the columns price, sentiment, text holds the"):
        surelabel.convert(path, tool="label-studio")
    table = surelabel.convert(path, tool="label-studio", question="sentiment")
    assert table.column_names == ["id", "price", "text", "vote_2"]


def test_agreement_and_history_belong_to_annotations(tmp_path):
    rows = [row | {"agreement": 50.0, "history": "[]"} for row in json.loads(MIN)]
    for row in rows:
        for name in ("topics", "why", "sure"):
            row.pop(name, None)
    path = tmp_path / "min.json"
    path.write_text(json.dumps(rows))
    table = surelabel.convert(path, tool="label-studio")
    assert table.column_names == ["id", "text", "price", "shop", "code", "vote_2", "vote_3"]


def test_a_label_may_begin_with_a_bracket(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("annotation_id,annotator,id,label,text\n1,2,3,[other],a\n2,4,3,{x,a\n")
    table = surelabel.convert(path, tool="label-studio")
    assert (table["vote_2"].to_pylist(), table["vote_4"].to_pylist()) == (["[other]"], ["{x"])


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


@pytest.mark.filterwarnings("ignore:.*who gave which label is left out")
def test_doccano_writes_csv_and_fasttext_too(tmp_path):
    head = "id,text,price,code,label,Comments\n"
    path = doccano(
        tmp_path / "export.zip",
        ann__csv=head + "1,note 1,5.25,001,so so,\n2,note 2,5.5,002,C#,hard one\n",
        bob__csv=head + "1,note 1,5.25,001,negative#so so,\n2,note 2,5.5,002,,\n",
        admin__csv="\n",
    )
    table = surelabel.convert(path, tool="doccano")
    assert table.column_names == ["id", "text", "price", "code", "candidates"]
    assert table["candidates"].to_pylist() == [["so so", "negative", "so so"], ["C#"]]
    path = doccano(tmp_path / "text.zip", all__txt="__label__so so note 1 \n__label__bad note 2 \n")
    with pytest.raises(TableError, match=r"neither 'label' nor 'labels'.*export JSONL"):
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
