"""The store: durable, repaired, one writer."""

import gzip
import json

import pytest

from surelabel.experiments import records
from surelabel.experiments.records import RecordWriter, read, read_all
from surelabel.experiments.study import StudyError, read_study
from surelabel.experiments.trials import trials_of

WHOLE = {
    **dict.fromkeys(("study", "dataset", "method", "selection", "scaling", "finished"), "a"),
    **dict.fromkeys(("fold", "n_folds", "n_train", "n_test", "n_select"), 1),
    **{key: {} for key in ("scores", "parameters", "defaults", "curves", "versions", "machine")},
    "converged": None,
    "configuration": {"kind": "real"},
    "seconds": {"select": 0.0, "fit": 0.1, "predict": 0.1},
}


def record(cell, **more):
    return WHOLE | {"cell": cell} | more


@pytest.fixture
def study(study_file):
    return read_study(study_file())


@pytest.fixture
def ids(study):
    return [trial.id for trial in trials_of(study)]


def write(folder, study, *found):
    with RecordWriter(folder, study) as writer:
        for one in found:
            writer.append(one)


def test_what_is_written_is_read(tmp_path, study, ids):
    written = [
        record(ids[0], method="λ", scores={"accuracy": 0.1 + 0.2}),
        record(ids[1]),
    ]
    write(tmp_path / "new" / "folder", study, *written)
    tables, found, _ = read(tmp_path / "new" / "folder")
    assert found == written
    assert tables["name"] == "small"
    assert list(tables["methods"]) == ["SURE", "PLKNN"]
    assert read_study(tmp_path / "new" / "folder" / "study.toml") == study


def test_a_trial_is_recorded_once(tmp_path, study, ids):
    write(tmp_path, study, record(ids[0], n=1), record(ids[0], n=2))
    write(tmp_path, study, record(ids[0], n=3), record(ids[1], n=4))
    assert read(tmp_path)[1] == [record(ids[0], n=1), record(ids[1], n=4)]
    assert (tmp_path / "records.jsonl").read_text().count("\n") == 2
    with open(tmp_path / "records.jsonl", "a") as file:
        file.write(json.dumps(record(ids[0], n=5)) + "\n")
    assert len(read(tmp_path)[1]) == 2


def test_compressed_records_are_read(tmp_path, study, ids):
    write(tmp_path, study, record(ids[0], text="λ"))
    path = tmp_path / "records.jsonl"
    packed = tmp_path / "records.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert read(tmp_path)[1] == [record(ids[0], text="λ")]
    write(tmp_path, study, record(ids[0], text="again"), record(ids[1], text="new"))
    assert read(tmp_path)[1] == [record(ids[0], text="λ"), record(ids[1], text="new")]
    path.unlink()
    packed.write_bytes(packed.read_bytes()[:20])
    with pytest.raises(StudyError, match=r"records.jsonl.gz: the compressed records are damaged"):
        read(tmp_path)


def test_torn_at_any_byte_the_whole_lines_remain(tmp_path, study, ids):
    write(tmp_path, study, record(ids[0], text="λ"), record(ids[1], text="β"))
    path = tmp_path / "records.jsonl"
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for size in range(first, len(whole)):
        path.write_bytes(whole[:size])
        assert [record["cell"] for record in read(tmp_path)[1]] == [ids[0]]
        assert path.stat().st_size == size, "reading must not write"
        write(tmp_path, study, record(ids[1], text="β"))
        assert path.read_bytes() == whole


def test_numbers_that_json_does_not_have_are_refused_whole(tmp_path, study, ids):
    with RecordWriter(tmp_path, study) as writer:
        with pytest.raises(ValueError, match="not JSON compliant"):
            writer.append(record(ids[0], accuracy=float("nan")))
        with pytest.raises(TypeError, match="set is not JSON serializable"):
            writer.append(record(ids[0], accuracy={1}))
        writer.append(record(ids[0], accuracy=1))
    assert read(tmp_path)[1] == [record(ids[0], accuracy=1)]


@pytest.mark.parametrize(
    "line", ["nonsense", "[1]", '{"no": "cell"}', "", "[" * 10**5, '{"cell": []}', "5", "9" * 5000]
)
def test_a_broken_line_inside_is_named(tmp_path, study, ids, line):
    write(tmp_path, study, record(ids[0]))
    with open(tmp_path / "records.jsonl", "a") as file:
        file.write(f"{line}\n")
    with pytest.raises(StudyError, match=r"records\.jsonl: line 2 is not a record"):
        read(tmp_path)
    with pytest.raises(StudyError, match=r"records\.jsonl: line 2 is not a record"):
        RecordWriter(tmp_path, study)


def test_records_of_other_settings_are_not_mixed_in(tmp_path, study, ids, study_file):
    write(tmp_path, study, record(ids[0]), record(ids[1]))
    before = (tmp_path / "study.toml").read_text()
    # PLKNN has nothing to choose: its record would still belong.
    other = read_study(study_file(("lam = [0.05, 0.3]", "lam = [0.05, 0.1]")))
    with pytest.raises(
        StudyError,
        match=r"1 of its 2 records were made with settings that the study 'small' no longer has",
    ):
        RecordWriter(tmp_path, other)
    assert (tmp_path / "study.toml").read_text() == before


def test_records_of_other_defaults_are_outdated(tmp_path, study, ids):
    trial = next(trials_of(study))
    given = {"method": "SURE", "parameters": {"lam": 0.3, "beta": 0.05}}
    new = record(trial.id, **given, defaults=trial.defaults)
    old = record("0" * 16, **given, defaults=trial.defaults | {"kernel": "linear"})
    write(tmp_path, study)
    (tmp_path / "records.jsonl").write_text(json.dumps(old) + "\n")
    with pytest.raises(StudyError, match=r"no finished trials here \(1 are outdated\)"):
        read_all(tmp_path)
    with RecordWriter(tmp_path, study) as writer:
        assert writer.finished == {}
        writer.append(new)
    run = read(tmp_path)
    assert (run.records, run.outdated) == ([new], [old])


def test_a_study_may_grow(tmp_path, study, ids, study_file):
    write(tmp_path, study, record(ids[0]))
    larger = read_study(study_file(("p = [0.1,", "p = [0.1, 0.2,")))
    with RecordWriter(tmp_path, larger) as writer:
        assert writer.finished.keys() == {ids[0]}
    assert read_study(tmp_path / "study.toml") == larger


def test_one_writer_at_a_time(tmp_path, study, ids):
    with (
        RecordWriter(tmp_path, study),
        pytest.raises(StudyError, match="another run is writing to this folder"),
    ):
        RecordWriter(tmp_path, study)
    write(tmp_path, study, record(ids[0]))
    assert len(read(tmp_path)[1]) == 1


def test_every_record_is_on_the_disk_before_the_next(tmp_path, study, ids, monkeypatch):
    sizes = []
    monkeypatch.setattr(
        records.os, "fsync", lambda _: sizes.append((tmp_path / "records.jsonl").stat().st_size)
    )
    with RecordWriter(tmp_path, study) as writer:
        sizes.clear()
        for id in ids[:3]:
            writer.append(record(id))
    line = len(json.dumps(record(ids[0]))) + 1
    assert sizes == [line, 2 * line, 3 * line]


def test_folders_with_records(tmp_path, study, ids):
    for name, number in (("b", 1), ("a", 0)):
        write(tmp_path / name, study, record(ids[number]))
    write(tmp_path / "empty", study)
    assert [run.records[0]["cell"] for run in read_all(tmp_path)] == ids[:2]
    assert [run.records[0]["cell"] for run in read_all(tmp_path / "b")] == ids[1:2]
    for name in ("none", "empty"):
        with pytest.raises(StudyError, match="no finished trials here"):
            read_all(tmp_path / name)


def test_what_is_no_results_folder(tmp_path):
    with pytest.raises(StudyError, match=r"this is not a results folder: it has no study\.toml"):
        read(tmp_path)


@pytest.mark.parametrize(
    "part",
    [
        *({"fold": "x"}, {"fold": True}, {"n_train": -1}, {"method": 5}, {"scores": {"a": None}}),
        *({"scores": [1]}, {"scores": {"a": 1e999}}, {"seconds": {"fit": 1}}, {"curves": {"a": 1}}),
        *({"configuration": {}}, {"configuration": {"kind": "real", "p": "x"}}, {"machine": 1}),
    ],
    ids=str,
)
def test_parts_of_a_record_are_what_they_should_be(tmp_path, study, ids, part):
    write(tmp_path, study, record(ids[0]))
    with open(tmp_path / "records.jsonl", "a") as file:
        file.write(json.dumps(record(ids[1]) | part) + "\n")
    with pytest.raises(
        StudyError, match=rf"line 2: '{next(iter(part))}' is missing, or has an impossible"
    ):
        read(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [('name = "small"', "name = 5"), ('["glass"]', "[5]"), ("{}", '{ glass = { SURE = "x" } }')],
)
def test_a_damaged_study_of_a_run_is_refused(tmp_path, study, ids, old, new):
    write(tmp_path, study, record(ids[0]))
    path = tmp_path / "study.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1 if old != "{}" else -1))
    with pytest.raises(StudyError, match=r"study\.toml: "):
        read(tmp_path)
