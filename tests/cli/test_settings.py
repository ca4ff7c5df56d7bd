"""Settings files: written by inspect, read by every verb, and overruled by options."""

import json
import re
import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surelabel.cli._settings import Settings, read_settings, settings_text
from surelabel.data.table_files import read_table

LABELS = "--labels candidates --exclude truth"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def test_the_same_options_need_not_be_typed_again(cli, tmp_path):
    made = cli(f"inspect pets.csv {LABELS} --as note=category --write-settings pets.toml")
    assert made.exit_code == 0, made.output
    for words in (
        "inspect pets.csv",
        "clean pets.csv -o cleaned.csv",
        "audit pets.csv -o audit.csv --max-error 0.4",
        "fit pets.csv -o again.model",
        "compare pets.csv --methods PLKNN",
    ):
        assert cli(f"{words} --settings pets.toml").exit_code in (0, 1), words
    cli(f"clean pets.csv -o typed.csv {LABELS} --as note=category")
    assert (tmp_path / "cleaned.csv").read_bytes() == (tmp_path / "typed.csv").read_bytes()


def test_the_file_lists_what_else_can_be_set(cli, tmp_path):
    cli(f"inspect pets.csv {LABELS} --write-settings pets.toml")
    text = (tmp_path / "pets.toml").read_text()
    for name in Settings.__dataclass_fields__:
        assert f"{name.strip('_')} = " in text or name == "as_"
    assert '# "size" = "number"' in text
    all_set = "\n".join(line.removeprefix("# ") for line in text.splitlines()[1:])
    assert set(tomllib.loads(all_set)) == {n.strip("_") for n in Settings.__dataclass_fields__}


def test_options_win_over_the_file_and_later_settings_over_earlier_ones(cli, tmp_path):
    (tmp_path / "a.toml").write_text(
        'labels = "truth"\nexclude = "note"\n[as]\nsize = "category"\n'
    )
    words = "inspect pets.csv --json --settings a.toml --labels candidates --as colour=text"
    found = json.loads(cli(f"{words} --settings exclude=truth,weight").stdout)
    assert found["features"] == {"size": "category", "colour": "text", "note": "category"}


def test_rare_settings_one_by_one(cli, tmp_path):
    result = cli(
        *f"clean pets.csv -o out.csv {LABELS} -s prefix=new_ -s map=cow=cat".split(),
        "-s", "map=dog=wolf", "-s", "max-error=0.3", "-s", "noisy=false",
    )  # fmt: skip
    assert result.exit_code in (0, 1), result.output
    found = read_table(tmp_path / "out.csv")
    assert set(found["new_label"].to_pylist()) <= {"cat", "wolf"}


def test_new_names_are_added_to_those_of_a_file(cli, tmp_path):
    (tmp_path / "a.toml").write_text('\ufefflabels = "candidates"\nmap.cow = "ox"\n', "utf-8")
    words = "inspect pets.csv --json -s a.toml -s map=cat=lion -s map=cat=puma"
    found = json.loads(cli(words).stdout)
    assert {"ox", "puma"} <= {one["label"] for one in found["classes"]}


@given(
    st.builds(
        Settings,
        labels=TEXTS | st.none(),
        votes=st.lists(TEXTS) | st.none(),
        long=st.booleans(),
        max_error=st.floats(0, 1),
        separator=TEXTS,
        map=st.dictionaries(TEXTS, TEXTS) | st.none(),
    ),
    st.dictionaries(TEXTS, st.sampled_from(["number", "text", "a.b:c"])),
)
def test_what_is_written_is_read_again(tmp_path_factory, settings, kinds):
    path = tmp_path_factory.mktemp("settings") / "a.toml"
    settings = replace(settings, as_=kinds)
    path.write_bytes(settings_text(settings, {"other": "time"}).encode())
    assert Settings(**read_settings(str(path))) == settings


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("lables = 'x'", "a.toml: there is no setting 'lables'; did you mean 'labels'?"),
        ("quux = 1", "a.toml: there is no setting 'quux'; the settings are labels, separator,"),
        ("labels = 3", "a.toml: labels must be a text, not 3"),
        ("long = 'yes'", "a.toml: long must be true or false, not 'yes'"),
        ("max_error = true", "a.toml: max_error must be a number, not True"),
        ("votes = [1, 2]", "a.toml: votes must be a text or a list of texts, not [1, 2]"),
        ("votes.a = 'b'", "a.toml: votes must be a text or a list of texts, not {'a': 'b'}"),
        ("as.size = 3", "a.toml: as must be NAME=VALUE or a table of texts, not {'size': 3}"),
        ("labels =", "a.toml: this is not a settings file in TOML (Invalid value"),
        (b"\xff", "a.toml: this is not a settings file in TOML ('utf-8' codec can't decode"),
        ("x = " + "[" * 5000, "a.toml: this is not a settings file in TOML ("),
        (None, "a.toml: No such file or directory"),
    ],
)
def test_mistakes_in_a_file(cli, tmp_path, content, message):
    if content is not None:
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / "a.toml").write_bytes(data)
    result = cli("inspect pets.csv --settings a.toml")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {message}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("lable=x", "--settings: there is no setting 'lable'; did you mean 'labels'?"),
        ("long=yes", "--settings: long must be true or false, not 'yes'"),
        ("map=cat", "--settings: map must be NAME=VALUE or a table of texts, not 'cat'"),
        ("max_error=much", "--settings: max_error must be a number, not 'much'"),
    ],
)
def test_mistakes_on_the_command_line(cli, setting, message):
    result = cli(f"inspect pets.csv {LABELS} --settings {setting}")
    assert (result.exit_code, result.stderr) == (2, f"error: {message}\n")


def test_an_empty_name_is_no_file(cli):
    result = cli(*f"inspect pets.csv {LABELS}".split(), "--settings", "")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: --settings: there is no setting ''")


@pytest.mark.parametrize(
    "words",
    [
        "inspect pets.csv --write-settings -",
        "review pets.csv -o -",
        "fit pets.csv -o -",
        "clean pets.csv -o a.csv --model -",
    ],
)
def test_only_tables_go_to_standard_output(cli, tmp_path, words):
    result = cli(f"{words} {LABELS}")
    message = "error: -: only tables are written to standard output; name a file\n"
    assert (result.exit_code, result.stderr) == (2, message)
    assert not (tmp_path / "-").exists()


def test_help_of_clean_is_short(cli):
    text = cli("clean --help").stdout
    options = set(re.findall(r"│[ *]*(--[a-z-]+)", text)) - {"--help"}
    assert {"--output", "--labels", "--settings"} <= options
    assert len(options) <= 24
