import re
import sys

import pytest

from surelabel.exceptions import MissingExtraError
from surelabel.experiments.study import StudyError
from surelabel.report import page, write_report


def test_the_files_of_a_report(results, tmp_path):
    written = write_report(results("table4"), tmp_path / "out")
    names = [path.relative_to(tmp_path / "out").as_posix() for path in written]
    assert names[:2] == ["report.html", "report.md"]
    assert {"tables/table4-accuracy.tex", "figures/table4-critical-difference.svg"} < set(names)
    assert sorted(path for path in (tmp_path / "out").rglob("*") if path.is_file()) == sorted(
        written
    )


def test_markdown_refers_to_files_that_are_there(results, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "LONGEST", 10)
    write_report(results("figure1", folds=2), tmp_path / "out")
    text = (tmp_path / "out" / "report.md").read_text()
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert any(link.endswith(".svg") for link in links)
    assert any(link.endswith(".tex") for link in links)
    assert all((tmp_path / "out" / link).is_file() for link in links)
    assert "Selection criterion: covering rate" in text


def test_a_folder_of_several_studies_and_a_list_of_folders(results, tmp_path):
    folders = [results("table4", folds=2), results("figure5-convergence", folds=2)]
    together = write_report(tmp_path / "results", tmp_path / "a")
    assert [path.name for path in together] == [
        path.name for path in write_report(sorted(folders), tmp_path / "b")
    ]
    text = together[1].read_text()
    assert "## Table 4" in text
    assert "## Figure 5" in text


def test_the_same_report_twice(results, tmp_path):
    folder = results("table4")
    first, second = (write_report(folder, tmp_path / name) for name in "ab")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_no_results_folder(tmp_path):
    with pytest.raises(StudyError, match="no finished trials here"):
        write_report(tmp_path / "nothing", tmp_path / "out")


def test_no_finished_trial(results, tmp_path):
    folder = results("table4")
    (folder / "records.jsonl").write_text("")
    with pytest.raises(StudyError, match="no finished trials"):
        write_report(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_record_that_is_none_is_named(results, tmp_path):
    folder = results("table4")
    with open(folder / "records.jsonl", "a") as file:
        file.write('{"cell": "abc", "dataset": "lost"}\n')
    with pytest.raises(StudyError, match=r"'study' is missing, or has an impossible value"):
        write_report(folder, tmp_path / "out")


def test_a_figure_that_fails_leaves_no_half_report(results, tmp_path, monkeypatch):
    def fail(section):
        raise RuntimeError("made to fail")

    folder = results("table4")
    monkeypatch.setattr(page, "figures_of", fail)
    with pytest.raises(RuntimeError, match="made to fail"):
        write_report(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_the_error_says_what_to_install(results, tmp_path, monkeypatch):
    import surelabel.report

    folder = results("table4")
    for name in ("html", "page", "figures"):
        monkeypatch.delattr(surelabel.report, name)
        monkeypatch.delitem(sys.modules, f"surelabel.report.{name}")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"needs matplotlib: .*surelabel\[cli\]"):
        write_report(folder, tmp_path / "out")
