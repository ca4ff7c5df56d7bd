"""The arguments in Python and the options of the command line are the same."""

from inspect import signature
from typing import get_type_hints

import pandas as pd
import pytest
import typer

import surelabel
from surelabel.cli import app
from surelabel.exceptions import ParameterError
from surelabel.tables import Columns
from surelabel.tables.reading import Reading

#: Where the command reads and writes; in Python these are the first argument and the result.
PLACES = {"table", "source", "target", "output", "report", "text_column", "image", "json", "strict"}
#: A short form of ``exclude="*"``.
SHORT = {"no_features"}
#: What scikit-learn calls a seed, and whether to show progress, which commands always do.
PYTHON_ONLY = {"frame", "random_state", "verbose"}


def options_of(verb):
    group = typer.main.get_command(app)
    command = group.get_command(typer.Context(group), verb)
    return {option.name: option for option in command.params}


def arguments_of(verb):
    found = {**signature(getattr(surelabel, verb)).parameters}
    for name, declared in (("columns", Columns), ("reading", Reading)):
        if found.pop(name, None):
            found |= dict.fromkeys(get_type_hints(declared))
    return found


@pytest.mark.parametrize("verb", ["inspect", "clean", "fit", "predict", "compare", "convert"])
def test_arguments_and_options_have_the_same_names_and_defaults(verb):
    options, arguments = options_of(verb), arguments_of(verb)
    places = PLACES | {"escape_formulas"} | ({"model"} if verb == "clean" else set())
    assert set(options) - places - SHORT == set(arguments) - PYTHON_ONLY
    for name in options.keys() & arguments.keys():
        if arguments[name] is not None and arguments[name].default is not arguments[name].empty:
            assert options[name].default == arguments[name].default, name


def test_a_file_is_read_as_the_arguments_say(tmp_path):
    file = tmp_path / "german.csv"
    file.write_text("größe;art\n" + "1,5;a|b\n2,5;b\n0,5;a\n" * 4, encoding="latin-1")
    how = {"delimiter": ";", "encoding": "latin-1", "decimal": ","}
    found = surelabel.inspect(file, labels="art", **how)
    assert [feature.name for feature in found.features] == ["größe"]
    model = surelabel.fit(file, labels="art", method="PLKNN", **how)
    assert surelabel.predict(model, file, **how).num_rows == 12
    assert surelabel.convert(file, **how).num_rows == 12
    with pytest.raises(ParameterError, match="delimiter says how a file is written, but the table"):
        surelabel.inspect(pd.DataFrame({"art": ["a", "b"]}), labels="art", delimiter=";")


def test_rows_without_a_label_can_be_refused(cli, tmp_path):
    (tmp_path / "gaps.csv").write_text("x,y\n" + "1,a\n2,b\n3,\n" * 4)
    assert cli("inspect gaps.csv --labels y").exit_code == 0
    refused = cli("inspect gaps.csv --labels y --unlabelled error")
    assert refused.exit_code == 2
    assert "4 row(s) have no label: row 3, 6, 9, 12" in refused.output
    assert cli("inspect gaps.csv --labels y --unlabelled some").exit_code == 2
