import json
import random

import pytest
from scipy import stats

from surelabel.evaluation.significance import corrected_paired_t
from surelabel.experiments.records import Run
from surelabel.report.results import configuration_label
from surelabel.report.summary import summarize


def record(method="SURE", dataset="lost", fold=0, accuracy=0.5, **changes):
    """The least record that the summary takes."""
    base = {
        "cell": f"{dataset}-{method}-{fold}-{json.dumps(changes, sort_keys=True)}",
        "dataset": dataset,
        "configuration": {"kind": "real"},
        "method": method,
        "fold": fold,
        "n_folds": 3,
        "selection": "covering_rate",
        "parameters": {},
        "scaling": "none",
        "scores": {"accuracy": accuracy},
        "seconds": {"select": 1.0, "fit": 2.0, "predict": 3.0},
        "n_train": 90,
        "n_test": 10,
        "n_select": 90,
        "curves": {},
        "versions": {},
        "machine": {},
        "finished": "2026-01-01T00:00:00+00:00",
    }
    return base | changes


def folds(method, accuracies, **changes):
    return [
        record(method, fold=fold, accuracy=accuracy, **changes)
        for fold, accuracy in enumerate(accuracies)
    ]


def section(records, **study):
    sections = summarize([Run({"name": "made-up"} | study, records, [])])["sections"]
    assert len(sections) == 1
    return sections[0]


def cells_of(records):
    return section(records, methods=["SURE", "PLKNN"])["results"][0]["cells"]


def test_mean_standard_deviation_and_both_tests():
    ours, theirs = [0.80, 0.82, 0.84], [0.70, 0.75, 0.71]
    cells = cells_of(folds("SURE", ours) + folds("PLKNN", theirs))
    assert cells["SURE"]["mean"] == pytest.approx(0.82)
    assert cells["SURE"]["std"] == pytest.approx(0.02)  # of a sample: n - 1
    assert stats.ttest_ind(ours, theirs).pvalue < 0.05
    assert cells["PLKNN"]["verdict"] == "win"
    assert cells["SURE"]["verdict"] is None
    assert cells["PLKNN"]["corrected_p"] == pytest.approx(corrected_paired_t(ours, theirs, 90, 10))


def test_paired_test_uses_the_folds_that_both_have():
    ours, theirs = folds("SURE", [0.8, 0.9, 0.7]), folds("PLKNN", [0.1, 0.6, 0.3])[1:]
    cell = cells_of(ours + theirs)["PLKNN"]
    assert cell["corrected_p"] == pytest.approx(corrected_paired_t([0.9, 0.7], [0.6, 0.3], 90, 10))


def test_one_fold_is_not_tested():
    cell = cells_of(folds("SURE", [0.8]) + folds("PLKNN", [0.1]))["PLKNN"]
    assert (cell["std"], cell["verdict"], cell["corrected_verdict"]) == (None, None, None)


@pytest.mark.parametrize(
    ("published", "beyond"), [(0.86, False), (0.88, True), (0.76, True), (0.78, False)]
)
def test_beyond_one_published_standard_deviation(published, beyond):
    numbers = {"lost": {"SURE": {"mean": published, "std": 0.05}}}
    found = section(folds("SURE", [0.81, 0.82, 0.83]), published=numbers)
    cell = found["results"][0]["cells"]["SURE"]
    assert cell["difference"] == pytest.approx(0.82 - published)
    assert cell["beyond"] is beyond
    assert found["agreement"] == {"within": 1 - beyond, "compared": 1}
    two_of_three = section(folds("SURE", [0.81, 0.82]), published=numbers)
    assert two_of_three["agreement"] is None


def test_published_numbers_of_another_metric_and_of_methods_not_run():
    numbers = {
        "fg-net": {
            "SURE": {"mean": 0.1, "std": 0.1, "accuracy_within_3": {"mean": 0.4, "std": 0.1}},
            "deep": {"mean": 0.9},
        }
    }
    records = [
        record(dataset="fg-net", fold=f, scores={"accuracy": 0.1, "accuracy_within_3": 0.6})
        for f in range(3)
    ]
    found = section(records, published=numbers)
    rows = {row["metric"]: row["cells"] for row in found["results"]}
    assert rows["accuracy"]["SURE"]["published"]["mean"] == 0.1
    assert rows["accuracy_within_3"]["SURE"]["published"]["mean"] == 0.4
    assert rows["accuracy_within_3"]["SURE"]["beyond"]
    assert found["published_methods"] == ["deep"]
    assert rows["accuracy"]["deep"] | {"published": None} == rows["accuracy_within_3"]["deep"]
    assert rows["accuracy"]["deep"]["published"]["mean"] == 0.9


@pytest.mark.parametrize(
    "name", ["table2", "table4", "beyond", "figure1", "figure5-sensitivity", "figure5-convergence"]
)
def test_the_order_of_records_does_not_matter(made_up, name):
    study, records, _ = made_up(name, folds=2)
    shuffled = random.Random(0).sample(records, len(records))
    assert json.dumps(summarize([Run(study, records, [])]), allow_nan=False) == json.dumps(
        summarize([Run(study, shuffled, [])])
    )


def test_win_tie_loss_counts_every_controlled_set(section_of):
    found = section_of("table2", folds=2)
    lines = {line["family"]: line for line in found["win_tie_loss"]}
    assert list(lines) == ["(I) p=0.1, r=1", "(II) r=1", "(III) r=2", "(IV) r=3", "Total"]
    assert [line["n"] for line in lines.values()] == [28, 28, 28, 28, 112]
    for method in found["methods"][1:]:
        verdicts = [
            row["cells"][method]["verdict"]
            for row in found["results"]
            if row["metric"] == "accuracy"
        ]
        expected = [verdicts.count(outcome) for outcome in ("win", "tie", "loss")]
        assert lines["Total"]["cells"][method]["verdict"] == expected
        assert sum(expected) == 112
    assert lines["Total"]["cells"]["IPAL"]["published"] == [57, 49, 6]
    assert lines["(I) p=0.1, r=1"]["cells"]["IPAL"]["published"] == [14, 11, 3]


def test_no_published_total_of_a_part(made_up):
    study, records, _ = made_up("table2", folds=2)
    part = [record for record in records if record["configuration"]["name"] in ("I", "II")]
    total = summarize([Run(study, part, [])])["sections"][0]["win_tie_loss"][-1]
    assert total["family"] == "Total"
    assert total["cells"]["IPAL"]["published"] is None


def test_table4_has_the_rows_of_the_paper(section_of):
    rows = [
        (row["dataset"], row["metric"])
        for row in section_of("table4")["results"]
        if row["metric"].startswith("accuracy")
    ]
    within = [("fg-net", f"accuracy_within_{k}") for k in (3, 5)]
    assert rows == [("lost", "accuracy"), ("msrcv2", "accuracy"), ("fg-net", "accuracy"), *within]


def test_curves_run_along_eps_or_p(section_of):
    panels = section_of("table2", folds=2)["curves"]
    assert len(panels) == 16
    families = {panel["family"] for panel in panels if panel["running"] == "eps"}
    assert families == {"(I) p=0.1, r=1"}
    for panel in panels:
        levels = [series["x"] for series in panel["series"].values()]
        assert levels == [[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]] * 7


def test_ranks_need_three_methods_and_two_results(section_of):
    assert section_of("beyond")["ranks"] is None
    assert section(folds("A", [1, 1]) + folds("B", [1, 0]) + folds("C", [0, 0]))["ranks"] is None
    ranks = section_of("table4")["ranks"]
    assert ranks["n"] == 3
    assert sum(ranks["average"].values()) == pytest.approx(28)


def test_sensitivity_crosses_at_the_best_point_of_a_grid():
    grid = [0.1, 0.2, 0.3]
    height = {
        (lam, beta): 0.5 + 0.1 * (lam == 0.2) + 0.2 * (beta == 0.3) for lam in grid for beta in grid
    }
    records = [
        record(
            fold=fold, accuracy=accuracy, parameters={"lam": lam, "beta": beta}, selection="none"
        )
        for (lam, beta), accuracy in height.items()
        for fold in range(2)
    ]
    panels = {
        panel["parameter"]: panel for panel in section(records, kind="sensitivity")["sensitivity"]
    }
    assert panels["lam"]["fixed"] == {"beta": 0.3}
    assert panels["lam"]["x"] == grid
    assert panels["lam"]["mean"] == pytest.approx([0.7, 0.8, 0.7])
    assert panels["beta"]["fixed"] == {"lam": 0.2}


def test_every_criterion_has_a_section_of_its_own():
    searched = folds("SURE", [0.5, 0.6]) + folds("CLPL", [0.4, 0.3], selection="none")
    oracle = folds("SURE", [0.7, 0.8], selection="oracle")
    runs = [Run({"name": "a"}, searched, []), Run({"name": "a-oracle"}, oracle, [])]
    sections = summarize(runs)["sections"]
    criteria = [(found["selection"], found["oracle"]) for found in sections]
    assert criteria == [("covering_rate", False), ("oracle", True)]
    means = [found["results"][0]["cells"]["SURE"]["mean"] for found in sections]
    assert means == pytest.approx([0.55, 0.75])
    # A method without parameters is the same with every criterion.
    assert all(found["results"][0]["cells"]["CLPL"]["n"] == 2 for found in sections)
    assert "ORACLE" in sections[1]["criterion"]


def test_two_runs_of_one_name_do_not_share_files():
    run = Run({"name": "same"}, folds("SURE", [0.5, 0.6]), [])
    assert [found["name"] for found in summarize([run, run])["sections"]] == ["same", "same-2"]


def test_a_name_cannot_leave_the_folder():
    assert "/" not in section(folds("SURE", [0.5, 0.6]), name="../../etc/passwd")["name"]


def test_gaps_caps_and_fits_that_did_not_converge():
    records = folds("SURE", [0.5, 0.6, 0.7], n_select=20, converged=False) + folds(
        "PLKNN", [0.5, 0.6], selection="none", n_select=0
    )
    found = section(records, datasets=["lost", "absent"], methods=["SURE", "PLKNN", "IPAL"])
    gaps = ["absent: no records", "IPAL: no records", "PLKNN on lost: 2 of 3 trials"]
    assert found["gaps"] == gaps
    assert found["capped"] == [{"dataset": "lost", "n_select": 20, "n_train": 90}]
    assert [(line["method"], line["stopped"]) for line in found["fits"]] == [
        ("SURE", 3),
        ("PLKNN", 0),
    ]
    assert not section(folds("SURE", [0.5, 0.6, 0.7]), datasets=["lost"], methods=["SURE"])["gaps"]


def test_times_and_choices_are_those_of_the_cells():
    records = [
        record(fold=fold, parameters={"lam": lam, "kernel": "rbf"})
        for fold, lam in enumerate([0.1, 0.3, 0.3])
    ]
    assert section(records)["fits"] == [
        {
            **{"dataset": "lost", "method": "SURE", "n": 3, "stopped": 0},
            **{"select": 1.0, "fit": 2.0, "predict": 3.0},
            "chosen": {"lam": [("0.3", 2), ("0.1", 1)], "kernel": [("rbf", 3)]},
        }
    ]


def test_convergence_keeps_the_path_of_every_fold(made_up, section_of):
    _, records, _ = made_up("figure5-convergence")
    panels = section_of("figure5-convergence")["convergence"]
    sizes = [(panel["dataset"], len(panel["folds"])) for panel in panels]
    assert sizes == [("lost", 10), ("msrcv2", 10)]
    third = next(r for r in records if (r["dataset"], r["fold"]) == ("lost", 3))
    assert panels[0]["folds"][3] == third["curves"]["delta"]


def test_labels_of_configurations():
    assert configuration_label({"kind": "real"}) == ""
    controlled = {"kind": "controlled", "name": "", "p": 0.5, "r": 2, "eps": None}
    assert configuration_label(controlled) == "p=0.5, r=2"
