"""Study files: read, checked, and written back."""

import pytest

from surelabel.data import catalog
from surelabel.estimators import all_methods
from surelabel.experiments.study import PAPERS, Configuration, StudyError, paper_study, read_study
from surelabel.experiments.trials import trials_of

PAPER = ["SURE", "PLKNN", "CLPL", "IPAL", "PLSVM", "PALOC", "LSBCMM"]


def test_defaults_and_grids_are_filled_in(study_file):
    study = read_study(
        study_file(("[methods.PLKNN]\nparameters = { n_neighbors = 5 }", "[methods.PLKNN]"))
    )
    assert study.title == "small"
    assert study.selection == "covering_rate"
    assert study.seed == 0
    sure, plknn = study.methods
    assert sure.grid == {"lam": [0.05, 0.3]}
    assert sure.parameters == {"beta": 0.05}, "a single value is no choice"
    assert plknn.grid == {"n_neighbors": list(all_methods()["PLKNN"].grid["n_neighbors"])}
    assert study.configurations == tuple(
        Configuration("controlled", "II", p, 1) for p in (0.1, 0.4, 0.7)
    )


def test_a_fixed_parameter_is_not_searched(study_file):
    study = read_study(
        study_file(("parameters = { n_neighbors = 5 }", "parameters = { n_neighbors = 7 }"))
    )
    assert study.methods[1].parameters == {"n_neighbors": 7}
    assert study.methods[1].grid == {}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "small"', "name = 3", r"name must be a text in quotes, not 3"),
        ('name = "small"', 'name = "../up"', r"name names a folder"),
        ('name = "small"', "", r"name is missing"),
        ("folds = 5", 'folds = "ten"', r"folds must be a whole number, at least 2, not 'ten'"),
        ("folds = 5", "folds = 1", r"folds must be a whole number, at least 2, not 1"),
        ("folds = 5", "folds = true", r"folds must be a whole number"),
        ("folds = 5", "fold = 5", r"fold is not a key of a study \(did you mean 'folds'\?\)"),
        ("folds = 5", "folds = ", r"this is not a TOML file"),
        ("folds = 5", "folds = " + "9" * 5000, "this is not a TOML file"),
        ("folds = 5", "folds = 1000000000", "folds is 1000000000, but glass has 214 rows"),
        ("folds = 5", "folds = 5\npublished = { glass = 5 }", "published.glass must be a table"),
        ("folds = 5", 'folds = 5\nkind = "convergence"', r"PLKNN\.estimator must be SURE"),
        ('["glass"]', '["glas"]', r"has 'glas', .* not one of .* \(did you mean 'glass'\?\)"),
        ('["glass"]', '["glass", "glass"]', r"datasets has 'glass' more than once"),
        ('["glass"]', "[]", r"datasets must be a list of names"),
        ('["glass"]', '["lost"]', r"configurations has none for lost: .* 'real'"),
        ('"standard"', '"standart"', r"scaling must be one of none, .* mean 'standard'\?\)"),
        ("inner_folds = 2", 'selection = "truth"', r"must be one of covering_rate, .*, oracle"),
        ("inner_folds = 2", 'kind = "speed"', r"kind must be one of accuracy, sensitivity"),
        ("inner_folds = 2", "max_select = -1", r"max_select must be a whole number, at least 0"),
        ("s.SURE]", "s.SUER]", r"methods\.SUER\.estimator must be one of SURE, .* mean 'SURE'\?\)"),
        ("lam = [0.05, 0.3]", "lamda = [1]", r"grid\.lamda is not a parameter .* mean 'lam'\?\)"),
        ("lam = [0.05, 0.3]", "lam = 0.3", r"grid\.lam must be a list of values to try, not 0\.3"),
        ("= { n_neighbors = 5 }", "= 5", r"methods\.PLKNN\.parameters must be a table, not 5"),
        ("s = 5 }", "s = 5 }\ngrid = { n_neighbors = [5, 6] }", r"also a fixed parameter"),
        ("n_neighbors = 5", "n_neighbors = 2020-01-01", "only texts, numbers, true and false"),
        ("p = [0.1, 0.4, 0.7]", "p = [1.4]", r"\[0\]\.p must be numbers from 0 to 1, not \[1\.4\]"),
        ("p = [0.1, 0.4, 0.7]", "p = [0.1, 0.1]", r"same setting more than once: II p=0\.1 r=1"),
        ("r = 1", "r = 1.5", r"\[0\]\.r must be whole numbers of 0 or more, not 1\.5"),
        ("r = 1", "", r"configurations\[0\]\.r is missing"),
        ("r = 1", "r = 1\nesp = 0.1", r"\[0\]\.esp is not a key .* \(did you mean 'eps'\?\)"),
        ("r = 1", "r = " + "[" * 10**4, "this is not a TOML file"),
        ('"controlled"', '"made"', r"configurations\[0\]\.kind must be one of real, controlled"),
    ],
    ids=lambda text: text[:20],
)
def test_an_error_names_file_and_key(study_file, old, new, message):
    with pytest.raises(StudyError, match=rf"study\.toml: .*{message}"):
        read_study(study_file((old, new)))


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(StudyError, match=r"none\.toml: the study cannot be read \(No such file"):
        read_study(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'name = "caf\xe9"')
    with pytest.raises(StudyError, match=r"latin\.toml: this is not a TOML file"):
        read_study(tmp_path / "latin.toml")


@pytest.mark.parametrize("path", sorted(PAPERS.glob("*.toml")), ids=lambda path: path.stem)
def test_the_studies_of_the_package(path, tmp_path):
    study = read_study(path)
    assert study.name == path.stem
    (tmp_path / "copy.toml").write_text(study.to_toml())
    assert read_study(tmp_path / "copy.toml") == study
    ids = [trial.id for trial in trials_of(study)]
    assert len(set(ids)) == len(ids)


def test_strange_texts_and_infinity_survive_a_copy(study_file, tmp_path):
    title = r'title = "a \"quoted\" \\ back\nλ 🙂"'
    changes = ("folds = 5", f"{title}\nfolds = 5"), ("n_neighbors = 5", "n_neighbors = inf")
    study = read_study(study_file(*changes))
    assert study.title == 'a "quoted" \\ back\nλ 🙂'
    (tmp_path / "copy.toml").write_text(study.to_toml(), encoding="utf-8")
    assert read_study(tmp_path / "copy.toml") == study


def test_table_2_is_the_112_sets_and_the_published_totals():
    study = paper_study("table2")
    assert sum(len(study.configurations_of(dataset)) for dataset in study.datasets) == 112
    assert [catalog.describe(name).table for name in study.datasets] == ["Table 1"] * 4
    assert [plan.name for plan in study.methods] == PAPER
    counts = study.published["win_tie_loss"]
    totals = {
        method: [sum(column) for column in zip(*(counts[c][method] for c in counts), strict=True)]
        for method in PAPER[1:]
    }
    # The last row of the paper's Table 2.
    assert totals == {
        "PLKNN": [97, 15, 0],
        "CLPL": [81, 26, 5],
        "IPAL": [57, 49, 6],
        "PLSVM": [97, 15, 0],
        "PALOC": [71, 38, 3],
        "LSBCMM": [66, 44, 2],
    }


def test_table_4_has_a_published_number_for_every_entry():
    study = paper_study("table4")
    assert [catalog.describe(name).table for name in study.datasets] == ["Table 3"] * 5
    assert {(d, m) for d in study.datasets for m in PAPER} == {
        (d, m) for d, row in study.published.items() for m in row
    }
    assert study.published["lost"]["SURE"] == {"mean": 0.781, "std": 0.039}
    assert study.published["fg-net"]["LSBCMM"]["accuracy_within_5"] == {"mean": 0.532, "std": 0.038}


def test_beyond_chooses_kernel_and_bandwidth_without_true_labels():
    study = paper_study("beyond")
    assert study.selection != "oracle"
    paper, chosen = study.methods
    assert paper.parameters == chosen.parameters == {}
    assert set(chosen.grid) == {"kernel", "bandwidth", "lam", "beta"}
    assert {k: chosen.grid[k] for k in paper.grid} == paper.grid
