import csv
import io
import re

import pytest

from surelabel.experiments.records import Run
from surelabel.report.markdown import to_markdown
from surelabel.report.result_tables import build
from surelabel.report.table_formats import latex_text, to_csv, to_latex
from surelabel.report.table_parts import Cell, Column, Row, Table


@pytest.fixture(scope="module")
def table4(section_of):
    return {table.topic: table for table in build(section_of("table4"))}


def test_every_table_names_its_criterion(section_of):
    for name in ("table4", "beyond", "figure5-convergence"):
        section = section_of(name, selection="oracle")
        for table in build(section):
            assert f"Selection criterion: {section['criterion']}" in table.caption
            assert all(
                line.endswith(f",{section['selection']}") for line in to_csv(table).splitlines()[1:]
            )


def test_oracle_is_called_so(section_of):
    assert all(
        "ORACLE" in to_latex(table) for table in build(section_of("table4", selection="oracle"))
    )


def test_ours_and_the_published_number_stand_together(table4, section_of):
    accuracy = table4["accuracy"]
    cell = accuracy.rows[0].cells[1]
    ours = section_of("table4")["results"][0]["cells"]["SURE"]
    assert cell.text == f"{ours['mean']:.3f} ± {ours['std']:.3f}"
    assert cell.published == "0.781 ± 0.039"
    assert cell.arrow == (
        "↓" if ours["mean"] < 0.781 - 0.039 else "↑" if ours["mean"] > 0.781 + 0.039 else ""
    )
    markdown = to_markdown(accuracy).splitlines()[2]
    assert cell.text in markdown
    assert f"pub. 0.781 ± 0.039 {cell.arrow}".strip() in markdown


def test_the_best_of_a_row_is_bold_and_worse_methods_are_marked(table4):
    for row in table4["accuracy"].rows:
        means = [cell.sort for cell in row.cells[1:]]
        assert [cell.best for cell in row.cells[1:]] == [mean == max(means) for mean in means]
    assert (
        table4["accuracy"].rows[0].cells[-1].mark == "•"
    )  # made-up scores fall from the first method to the last


def test_csv_holds_the_full_numbers(table4, section_of):
    rows = list(csv.DictReader(io.StringIO(to_csv(table4["accuracy"]))))
    assert len(rows) == 5
    cell = section_of("table4")["results"][0]["cells"]["PLKNN"]
    assert float(rows[0]["PLKNN mean"]) == cell["mean"]
    assert float(rows[0]["PLKNN corrected_p"]) == cell["corrected_p"]
    assert rows[0]["PLKNN published mean"] == "0.432"
    assert rows[0]["selection"] == "covering_rate"


def test_published_counts_of_another_number_of_results_say_so(section_of):
    section = section_of("table2", folds=2, datasets=["ecoli", "glass"])
    counts = next(table for table in build(section) if table.topic == "counts")
    assert counts.rows[0].cells[2].published == "24/4/0 of 28"


def test_incomplete_cells_say_how_many_folds(made_up):
    from surelabel.report.summary import summarize

    study, records, _ = made_up("table4")
    kept = [record for record in records if not (record["method"] == "IPAL" and record["fold"] > 3)]
    table = build(summarize([Run(study, kept, [])])["sections"][0])[0]
    ipal = next(place for place, column in enumerate(table.columns) if column.method == "IPAL")
    assert table.rows[0].cells[ipal].text.endswith("(4/10 folds)")


HOSTILE = r"<script>|a_b*c`$x$&%#{}\~^[x]"


@pytest.fixture
def hostile():
    return Table(
        "accuracy",
        "none",
        "t",
        HOSTILE,
        HOSTILE,
        [Column(HOSTILE)],
        [Row([Cell(HOSTILE, values={"": HOSTILE})])],
    )


def test_markdown_escapes_what_is_markup(hostile):
    lines = to_markdown(hostile).splitlines()
    assert "<script>" not in "".join(lines)
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 2 for line in lines)


def test_latex_escapes_what_is_a_command(hostile):
    text = to_latex(hostile)
    assert (
        r"\textless{}script\textgreater{}\textbar{}a\_b*c`\$x\$\&\%\#\{\}\textbackslash{}\textasciitilde{}"
        in text
    )
    # what is left without its backslash is the two ends of the environment and arguments
    assert len(re.findall(r"(?<!\\)&", text)) == 0
    assert latex_text("±•") == r"$\pm$$\bullet$"


def test_latex_rows_have_the_columns_of_the_head(section_of):
    for table in build(section_of("table4")):
        text = to_latex(table)
        body = [line for line in text.splitlines() if line.endswith(r"\\")]
        assert len(body) >= 1 + len(table.rows)
        assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {len(table.columns) - 1}
        assert len(re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)[1]) == len(table.columns)
        assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")


def test_csv_reads_back(hostile):
    assert list(csv.reader(io.StringIO(to_csv(hostile)))) == [
        [HOSTILE, "selection"],
        [HOSTILE, "none"],
    ]
