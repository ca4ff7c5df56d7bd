"""The paper's claims against made-up records of which the answer is known."""

import pytest

from surelabel.experiments.records import Run
from surelabel.report.claims import CLAIMS, check_claims
from surelabel.report.page import in_short
from surelabel.report.summary import summarize


@pytest.fixture(scope="module")
def claims_of(made_up):
    """What is found, by the first words of the claim, after a change of the records."""

    def check(name, change=lambda record: None):
        study, records, _ = made_up(name, folds=4)
        there = {record["dataset"] for record in records}
        study["datasets"] = [dataset for dataset in study["datasets"] if dataset in there]
        for record in records:
            change(record)
        found = summarize([Run(study, records, [])])["claims"]
        return {claim["text"]: claim for claim in found}

    return check


def test_a_study_tells_its_own_claims_only(claims_of):
    texts = {claim.text for claim in CLAIMS if claim.studies == ("table4",)}
    assert set(claims_of("table4")) == texts
    assert check_claims([]) == []


def scored(better):
    """SURE has 0.9 with a little noise, the others what ``better`` says of them."""

    def change(record):
        noise = 0.001 * record["fold"]
        for metric in record["scores"]:
            base = 0.9 if record["method"] == "SURE" else better(record)
            record["scores"][metric] = base + noise

    return change


@pytest.mark.parametrize(
    ("others", "never", "plknn", "share"),
    [(0.5, "yes", "yes", "in part"), (0.95, "no", "no", "no")],
)
def test_table_4(claims_of, others, never, plknn, share):
    claims = claims_of("table4", scored(lambda record: others))
    assert claims["SURE is never significantly outperformed."]["agrees"] == never
    assert (
        claims["SURE significantly outperforms PLKNN on all real-world data sets."]["agrees"]
        == plknn
    )
    cases = next(claim for text, claim in claims.items() if "78.6" in text)
    assert cases["agrees"] == share
    assert cases["command"] == "surelabel reproduce table4"


@pytest.mark.parametrize(("accuracy", "agrees"), [(0.05, "yes"), (0.3, "no")])
def test_low_accuracy_on_fg_net(claims_of, accuracy, agrees):
    def change(record):
        record["scores"] = dict.fromkeys(record["scores"], accuracy)

    found = next(claim for text, claim in claims_of("table4", change).items() if "FG-NET" in text)
    assert found["agrees"] == agrees
    assert found["found"].startswith(f"{accuracy:.3f} to {accuracy:.3f} over")


GRID = [0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 1.0]


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("table4", lambda record: record["cell"] == "0" * 16),
        ("table4", lambda record: record["dataset"] == "lost"),
        ("table4", lambda record: record["method"] == "PLSVM"),
        ("table2", lambda record: record["cell"] == "0" * 16),
        ("table2", lambda record: record["configuration"]["p"] == 0.4),
        ("figure5-sensitivity", lambda record: record["cell"] == "0" * 16),
        ("figure5-sensitivity", lambda record: record["parameters"]["lam"] == 0.5),
    ],
)
def test_an_incomplete_study_makes_no_claims(made_up, name, lacks):
    study, records, _ = made_up(name, folds=2)
    if name == "figure5-sensitivity":  # a study that was run has its grids written out
        study["methods"] = {"SURE": {"grid": {"lam": GRID, "beta": GRID}}}
    there = {record["dataset"] for record in records}
    study["datasets"] = [dataset for dataset in study["datasets"] if dataset in there]
    whole = summarize([Run(study, records, [])])
    assert all(claim["agrees"] for claim in whole["claims"])
    assert any("claims of the paper" in line and "hold" in line for line in in_short(whole))
    kept = [record for record in records if not lacks(record)]
    assert 0 < len(kept) < len(records)
    partial = summarize([Run(study, kept, [])])
    assert len(partial["claims"]) == len(whole["claims"])
    for claim in partial["claims"]:
        assert (claim["found"], claim["agrees"]) == ("not enough records", "")
    lines = in_short(partial)
    assert not any("hold" in line for line in lines)
    assert f"Claims of the paper with not enough records: {len(whole['claims'])}." in lines
    assert any(line.startswith("Not finished") for line in lines)


def test_a_claim_about_two_studies_needs_both(made_up):
    one, other = (made_up(name, folds=2) for name in ("figure1", "table2"))
    (alone,) = summarize([one])["claims"]
    assert alone["found"] == "not enough records"
    both = summarize([one, other])["claims"]
    assert next(c for c in both if c["place"] == "Figure 1")["agrees"] == "in part"


def test_table_2_counts_shares(claims_of):
    claims = claims_of("table2", scored(lambda record: 0.9 if record["method"] == "CLPL" else 0.5))
    found = next(claim for text, claim in claims.items() if "CLPL" in text)
    assert found["found"].startswith("CLPL: 0.0% won, 0.0% lost of 112; LSBCMM: 100.0% won")
    assert found["agrees"] == "no"
    general = next(claim for text, claim in claims.items() if "in general" in text)
    assert "place 1 of 7" in general["found"]


def test_figure_5(claims_of):
    claims = claims_of("figure5-sensitivity")
    assert all(claim["agrees"] == "yes" for claim in claims.values())  # made up with a best inside
    (converged,) = claims_of("figure5-convergence").values()
    assert converged["agrees"] == "yes"


def test_readings_by_folds_and_repetitions(made_up):
    study, records, _ = made_up("table2-raw", folds=3, repetitions=2, datasets=["glass"])
    again = [
        record | {"fold": record["fold"] + 3, "cell": record["cell"] + "b"} for record in records
    ]
    for record in records + again:
        scored(lambda _: 0.5)(record)
    readings = summarize([Run(study, records + again, [])])["readings"]
    assert [reading["n_scores"] for reading in readings] == [3, 6]
    assert readings[0]["counts"]["PLKNN"] == [28, 0, 0]
    assert readings[0]["distance"]["PLKNN"] == pytest.approx(15 / 112)
    assert readings[0]["published"]["PLKNN"] == [97, 15, 0]
    # without the second round of a method, it counts in the first reading only
    readings = summarize([Run(study, records, [])])["readings"]
    assert [reading["n_scores"] for reading in readings] == [3]


def test_methods_without_parameters_count_with_every_criterion(made_up):
    run = made_up("table2-raw", folds=3, datasets=["glass"])
    for record in run.records:
        scored(lambda _: 0.5)(record)
        if record["method"] == "CLPL":
            record["selection"] = "none"
    searched = [
        record | {"selection": "oracle", "cell": record["cell"] + "o"}
        for record in run.records
        if record["method"] in ("SURE", "PLKNN")
    ]
    oracle = Run({**run.study, "name": "table2-raw-oracle", "selection": "oracle"}, searched, [])
    rows, others = summarize([run, oracle])["readings"]
    assert others["selection"] == "oracle"
    assert others["counts"]["CLPL"] == rows["counts"]["CLPL"] == [28, 0, 0]
    assert others["counts"]["PLKNN"] == rows["counts"]["PLKNN"]
    assert not sum(others["counts"].get("IPAL", []))
    # not where features are scaled in another way
    other = Run({**oracle.study, "scaling": "minmax"}, searched, [])
    assert "CLPL" not in summarize([run, other])["readings"][1]["counts"]


def test_sections_have_an_order_and_titles_of_their_own(made_up):
    names = "beyond", "figure1", "table2-raw", "table2", "table4"
    runs = [made_up(name, folds=2, datasets=["lost", "glass"]) for name in names]
    change = {"selection": "oracle"}
    searched = [record | change | {"cell": record["cell"] + "o"} for record in runs[-1].records]
    summary = summarize([*runs, Run(runs[-1].study, searched, [])])
    order = [section["study"] for section in summary["sections"]]
    assert order == ["table4", "table4", "table2", "table2-raw", "figure1", "beyond"]
    titles = [section["title"] for section in summary["sections"]]
    assert len(set(titles)) == len(titles)
