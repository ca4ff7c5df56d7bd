"""What can be said about a table, declared once: every verb takes it as options, from a settings
file, or as ``--settings NAME=VALUE``.
"""

from __future__ import annotations

import inspect
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints
from typing import Annotated as A

import typer

from ..exceptions import ParameterError, shown
from ..text import did_you_mean, toml
from ._extended import extended, option

if TYPE_CHECKING:
    import pyarrow as pa

    from ..tables.reading import Columns

LABELS = "Where the labels are"
FEATURES = "What to learn from"
READING = "How the file is written"
#: The metavar of an option without a value.
FLAG = "FLAG"
Names = list[str] | None
#: In options, NAME=VALUE.
Pairs = dict[str, str] | None


class About(NamedTuple):
    """What a setting is for; without a ``metavar`` it has no option of its own."""

    help: str
    group: str | None = None
    metavar: str | None = None


@dataclass(frozen=True)
class Settings:
    """How a table is written, which of its columns hold what, and how it is cleaned."""

    labels: A[str | None, About("The candidates: cat|dog, or lists.", LABELS, "COLUMN")] = None
    separator: A[str, About("Between the labels in a cell; default: |", LABELS, "TEXT")] = "|"
    votes: A[Names, About("One per annotator: a,b,c or 'rater_*'.", LABELS, "COLUMNS")] = None
    indicator: A[Names, About("One per class, 0 or 1: 'is_*'.", LABELS, "COLUMNS")] = None
    counts: A[Names, About("One per class: votes or probabilities.", LABELS, "COLUMNS")] = None
    gold: A[str | None, About("Labels known to be true.", LABELS, "COLUMN")] = None
    id: A[str | None, About("The names of the rows.", LABELS, "COLUMN")] = None
    long: A[bool, About("One row per id and label.", LABELS, FLAG)] = False
    annotator: A[str | None, About("With --long: who gave the label.", LABELS, "COLUMN")] = None
    noisy: A[bool, About("One label in each row; some are wrong.", LABELS, FLAG)] = False
    ordered: A[
        Names, About("The labels in their order: low,medium,high; or numbers.", LABELS, "LABELS")
    ] = None
    missing: A[Names, About("Labels that mean no label: NA,null", LABELS)] = None
    complete: A[bool, About("Every set of candidates holds the true label.", LABELS)] = False
    normalise: A[bool, About("Games, GAMES and ' games.' are one label.", LABELS)] = False
    map: A[Pairs, About('New names of labels: {"GAMES" = "games"}', LABELS)] = None
    not_prefix: A[str | None, About('With "!", !cat is a vote against cat.', LABELS)] = None
    features: A[Names, About("Only these: a,b,c or 'x*'.", FEATURES, "COLUMNS")] = None
    exclude: A[Names, About("Not these.", FEATURES, "COLUMNS")] = None
    no_features: A[bool, About("None: the votes alone decide.", FEATURES, FLAG)] = False
    as_: A[
        Pairs,
        About(
            "number, category, text, time, vector, image, or MODULE:NAME that makes vectors.",
            FEATURES,
            "COLUMN=KIND",
        ),
    ] = None
    delimiter: A[str | None, About("Between the cells; by default detected.", READING)] = None
    encoding: A[str | None, About("By default UTF-8.", READING)] = None
    decimal: A[str | None, About("The decimal separator; by default a point.", READING)] = None
    sheet: A[str | None, About("Of a workbook; by default the only one.", READING)] = None
    method: A[
        str, About("One that compare lists; default: PURE, or Crowd with votes", metavar="NAME")
    ] = "PURE"
    max_error: A[float, About("Estimated error of labels kept; default: 0.1", metavar="SHARE")] = (
        0.1
    )
    estimator: A[
        str | None,
        About("With votes, the model of the features: sklearn.ensemble:RandomForestClassifier"),
    ] = None
    prefix: A[str, About("Before the names of the new columns.")] = ""
    image: A[str | None, About("Images to show, by their paths.", metavar="COLUMN")] = None
    text: A[str | None, About("The column of text that the report shows.")] = None

    def read(self, path: Path) -> pa.Table:
        """Read the table."""
        from ..data.arrow_tables import find_column
        from ..data.table_files import read_table

        table = read_table(path, **self.of_group(READING))
        for column in filter(None, (self.image, self.text)):
            find_column(table, column)
        return table

    def columns(self) -> Columns:
        """Which columns hold what, as keyword arguments of the table functions."""
        return self.of_group(LABELS) | self.of_group(FEATURES)  # type: ignore[return-value]

    def cleaning(self) -> dict[str, Any]:
        """How labels are chosen, as keyword arguments of :func:`surelabel.clean`."""
        names = ("method", "estimator", "max_error", "prefix")
        return {name: getattr(self, name) for name in names}

    def of_group(self, group: str) -> dict[str, Any]:
        """The settings of a group that are given."""
        names = [name for name, about in ABOUT.items() if about.group == group]
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


TYPES = get_type_hints(Settings)
ABOUT: dict[str, About] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Settings, include_extras=True).items()
}


# ----------------------------------------------------------------- settings as options


def takes_settings(
    *names: str, groups: tuple[str, ...] = (LABELS, FEATURES)
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command ``--settings``, and the options of these groups and names; its argument
    ``settings`` receives all settings.
    """
    chosen = [
        name
        for name, about in ABOUT.items()
        if about.metavar and (name in names or about.group in groups)
    ]
    options = [_option(name) for name in chosen] + [_files()]
    return lambda command: extended(command, "settings", options, _combined)


def _option(name: str) -> inspect.Parameter:
    about = ABOUT[name]
    declared = typer.Option(
        f"--{name.strip('_').replace('_', '-')}",
        metavar=None if about.metavar == FLAG else about.metavar,
        help=about.help,
        rich_help_panel=about.group,
    )
    # None if it is not given: then the file, or the default of the setting, decides.
    kind = Names if TYPES[name] == Pairs else TYPES[name]
    return option(name, A[kind | None, declared])


def _files() -> inspect.Parameter:
    rare = [name for name, about in ABOUT.items() if about.metavar is None]
    declared = typer.Option(
        "--settings",
        "-s",
        metavar="FILE",
        help="Options in a file (.toml), which inspect can write; or NAME=VALUE for a rare one: "
        f"{', '.join(rare)}.",
        rich_help_panel="Settings",
    )
    return option("settings", A[list[str] | None, declared])


def _combined(settings: list[str] | None, **options: Any) -> Settings:
    """The settings of files and those given one by one, then options: the last one wins."""
    found: dict[str, Any] = {}
    for text in settings or []:
        name, sign, value = text.partition("=")
        if (sign or not text) and not os.path.isfile(text):
            known = _setting_named(name, "--settings")
            found = _updated(found, {known: _from_text(known, value)})
        else:
            found = _updated(found, read_settings(text))
    given = {
        name: _checked(name, value, f"--{name.strip('_')}")
        for name, value in options.items()
        if value is not None
    }
    return Settings(**_updated(found, given))


def _updated(found: dict[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Later settings replace earlier ones; kinds of columns and names of labels add up."""
    return found | {
        name: found.get(name, {}) | value if isinstance(value, dict) else value
        for name, value in new.items()
    }


def _setting_named(name: str, where: str) -> str:
    plain = name.strip().replace("-", "_")
    names = {known.strip("_"): known for known in ABOUT}
    if plain not in names:
        meant = did_you_mean(plain, names) or f"the settings are {', '.join(names)}"
        raise ParameterError(f"{where}: there is no setting {name!r}; {meant.strip()}")
    return names[plain]


def _from_text(name: str, text: str) -> Any:
    """The value of ``--settings NAME=VALUE``."""
    value: Any = text
    if TYPES[name] is bool:
        value = {"true": True, "false": False}.get(text, text)
    elif TYPES[name] is float:
        with suppress(ValueError):
            value = float(text)
    return _checked(name, value, "--settings")


# ----------------------------------------------------------------- settings in a file


def read_settings(path: str) -> dict[str, Any]:
    """The settings of a TOML file, by name."""
    with open(path, "rb") as file:
        try:
            found = tomllib.loads(file.read().decode("utf-8-sig"))  # editors may add a BOM
        except (ValueError, RecursionError) as error:  # also if it is not UTF-8
            why = " ".join(str(error).split())
            raise ParameterError(f"{path}: this is not a settings file in TOML ({why})") from None
    return {
        (known := _setting_named(name, path)): _checked(known, found[name], path) for name in found
    }


def _checked(name: str, value: Any, where: str) -> Any:
    """The value of a setting, if it is of the right type."""
    kind = TYPES[name]
    if kind is bool:
        right, wanted = isinstance(value, bool), "true or false"
    elif kind is float:
        right, wanted = isinstance(value, int | float) and value is not True, "a number"
    elif kind in (str, str | None):
        right, wanted = isinstance(value, str), "a text"
    elif kind == Pairs:
        texts = [value] if isinstance(value, str) else value
        if isinstance(texts, list) and all("=" in text for text in map(str, texts)):
            value = dict(str(text).rpartition("=")[::2] for text in texts)
        right = isinstance(value, dict) and _all_texts(value.values())
        wanted = "NAME=VALUE or a table of texts"
    else:
        value = [value] if isinstance(value, str) else value
        right, wanted = isinstance(value, list) and _all_texts(value), "a text or a list of texts"
    if not right:
        raise ParameterError(f"{where}: {name.strip('_')} must be {wanted}, not {shown(value)}")
    return value


def _all_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def settings_text(settings: Settings, kinds: Mapping[str, str]) -> str:
    """A settings file: the settings given, and the others as comments; ``kinds`` are the columns
    learned from, and what each was recognised as.
    """
    given, others = [], []
    for one in fields(Settings):
        value = getattr(settings, one.name)
        if one.name == "as_":
            continue
        if value != one.default:
            given.append(f"{one.name} = {toml(value)}")
        else:
            example = "" if value is None else value
            others.append(f"# {one.name} = {toml(example)}  # {ABOUT[one.name].help}")
    chosen = settings.as_ or {}
    return "\n".join(
        [
            "# Settings for --settings; options on the command line override them.",
            *given,
            "",
            *others,
            "",
            f"[as]  # {ABOUT['as_'].help}",
            *(f"{toml(name)} = {toml(kind)}" for name, kind in chosen.items()),
            *(
                f"# {toml(name)} = {toml(kind)}"
                for name, kind in kinds.items()
                if name not in chosen
            ),
            "",
        ]
    )
