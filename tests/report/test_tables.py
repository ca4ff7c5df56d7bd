import re
from pathlib import Path

import pytest

from surelabel.experiments.records import Run, read
from surelabel.report import latex, markdown
from surelabel.report.summary import summarize
from surelabel.report.tables import Cell, Column, Table, tables_of


@pytest.fixture(scope="module")
def table4(section_of):
    return {table.topic: table for table in tables_of(section_of("table4"))}


def test_every_table_names_its_criterion(section_of):
    for name in ("table4", "beyond", "figure5-convergence"):
        for table in tables_of(section_of(name, selection="oracle")):
            assert "Selection criterion: " in table.caption
            if name != "figure5-convergence":
                assert "ORACLE" in latex.latex_table(table)


def test_ours_and_the_published_number_stand_together(table4, section_of):
    accuracy = table4["accuracy"]
    cell = accuracy.rows[0][1]
    ours = section_of("table4")["results"][0]["cells"]["SURE"]
    assert cell.text == f"{ours['mean']:.3f} ± {ours['std']:.3f}"
    assert cell.published == "0.781 ± 0.039"
    assert cell.arrow == (
        "↓" if ours["mean"] < 0.781 - 0.039 else "↑" if ours["mean"] > 0.781 + 0.039 else ""
    )
    line = markdown.markdown_table(accuracy).splitlines()[2]
    assert cell.text in line
    assert f"pub. 0.781 ± 0.039 {cell.arrow}".strip() in line


def test_the_best_of_a_row_is_bold_and_worse_methods_are_marked(table4):
    for row in table4["accuracy"].rows:
        means = [cell.sort for cell in row[1:]]
        assert [cell.best for cell in row[1:]] == [mean == max(means) for mean in means]
    assert (
        table4["accuracy"].rows[0][-1].mark == "•"
    )  # made-up scores fall from the first method to the last


def test_published_counts_of_another_number_of_results_say_so(section_of):
    section = section_of("table2", folds=2, datasets=["ecoli", "glass"])
    counts = next(table for table in tables_of(section) if table.topic == "counts")
    assert counts.rows[0][2].published == "24/4/0 of 28"


def test_incomplete_cells_say_how_many_folds(made_up):
    study, records, _ = made_up("table4")
    kept = [record for record in records if not (record["method"] == "IPAL" and record["fold"] > 3)]
    table = tables_of(summarize([Run(study, kept, [])])["sections"][0])[0]
    ipal = next(place for place, column in enumerate(table.columns) if column.title == "IPAL")
    assert table.rows[0][ipal].text.endswith("(4/10 folds)")


HOSTILE = r"<script>|a_b*c`$x$&%#{}\~^[x]"


@pytest.fixture
def hostile():
    return Table("t", HOSTILE, HOSTILE, [Column(HOSTILE)], [[Cell(HOSTILE)]])


def test_markdown_escapes_what_is_markup(hostile):
    lines = markdown.markdown_table(hostile).splitlines()
    assert "<script>" not in "".join(lines)
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 2 for line in lines)


def test_latex_escapes_what_is_a_command(hostile):
    text = latex.latex_table(hostile)
    assert (
        r"\textless{}script\textgreater{}\textbar{}a\_b*c`\$x\$\&\%\#\{\}\textbackslash{}\textasciitilde{}"
        in text
    )
    # what is left without its backslash is the two ends of the environment and arguments
    assert len(re.findall(r"(?<!\\)&", text)) == 0
    assert latex.latex_text("±•") == r"$\pm$$\bullet$"


def test_latex_rows_have_the_columns_of_the_head(section_of):
    for table in tables_of(section_of("table4")):
        text = latex.latex_table(table)
        body = [line for line in text.splitlines() if line.endswith(r"\\")]
        assert len(body) >= 1 + len(table.rows)
        assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {len(table.columns) - 1}
        assert len(re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)[1]) == len(table.columns)
        assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")


def test_the_smallest_mean_error_is_bold():
    run = read(Path(__file__).parents[2] / "docs/reproduction/records/ordered")
    (section,) = summarize([run])["sections"]
    errors = next(table for table in tables_of(section) if table.topic == "distance")
    (row,) = errors.rows
    numbers = [cell.sort for cell in row[1:]]
    assert [cell.best for cell in row[1:]] == [number == min(numbers) for number in numbers]
    assert not any(cell.mark for cell in row)
