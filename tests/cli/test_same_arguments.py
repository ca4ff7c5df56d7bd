"""The arguments in Python and the options of the command line are the same."""

from dataclasses import fields
from inspect import signature
from typing import get_type_hints

import pandas as pd
import pytest
import typer

import surelabel
from surelabel.cli import app
from surelabel.cli._settings import Settings
from surelabel.exceptions import ParameterError
from surelabel.tables import Columns
from surelabel.tables.reading import Reading

#: Where the command reads and writes; in Python these are the first argument and the result.
PLACES = {"table", "source", "target", "output", "report", "settings", "write_settings"}
#: What only the command does, and settings of the report page.
COMMAND_ONLY = {"json", "strict", "text", "image"}
#: What scikit-learn calls a seed, and whether to show progress, which commands always do.
PYTHON_ONLY = {"frame", "random_state", "verbose"}


def options_of(verb):
    group = typer.main.get_command(app)
    command = group.get_command(typer.Context(group), verb)
    return {option.name for option in command.params}


def arguments_of(verb):
    found = {**signature(getattr(surelabel, verb)).parameters}
    for name, declared in (("columns", Columns), ("reading", Reading)):
        if found.pop(name, None):
            found |= dict.fromkeys(get_type_hints(declared))
    return found


@pytest.mark.parametrize("verb", ["inspect", "clean", "fit", "predict", "compare", "convert"])
def test_every_argument_is_an_option_or_a_setting(verb):
    options, arguments = options_of(verb), arguments_of(verb)
    places = PLACES | ({"model"} if verb == "clean" else set())
    assert options - places - COMMAND_ONLY <= set(arguments)
    assert set(arguments) - PYTHON_ONLY <= options | set(Settings.__dataclass_fields__)
    for one in fields(Settings):
        if (argument := arguments.get(one.name)) is not None:
            assert argument.default == one.default, one.name


def test_every_setting_is_an_argument():
    used = {name for verb in ("clean", "convert") for name in arguments_of(verb)}
    assert {one.name for one in fields(Settings)} - COMMAND_ONLY <= used


def test_a_file_is_read_as_the_arguments_say(tmp_path):
    file = tmp_path / "german.csv"
    rows = [f"{size},5;{('a', 'a|b', 'b')[size // 4]}\n" for size in range(12)]
    file.write_text("größe;art\n" + "".join(rows), encoding="latin-1")
    how = {"delimiter": ";", "encoding": "latin-1", "decimal": ","}
    found = surelabel.inspect(file, labels="art", **how)
    assert [feature.name for feature in found.features] == ["größe"]
    model = surelabel.fit(file, labels="art", method="PLKNN", **how)
    assert surelabel.predict(model, file, **how).num_rows == 12
    assert surelabel.convert(file, **how).num_rows == 12
    with pytest.raises(ParameterError, match="delimiter says how a file is written, but the table"):
        surelabel.inspect(pd.DataFrame({"art": ["a", "b"]}), labels="art", delimiter=";")
