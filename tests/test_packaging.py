"""The archives that are released: built, installed where nothing of the checkout is, and tried."""

import ast
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import PathDistribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def run(*command, cwd):
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=outside, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The source archive of this checkout, and the wheel made of that archive alone."""
    folder = tmp_path_factory.mktemp("dist")
    build = (sys.executable, "-m", "hatchling", "build", "--directory", folder)
    run(*build, "--target", "sdist", cwd=ROOT)
    (source,) = folder.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    run(*build, "--target", "wheel", cwd=folder / source.name.removesuffix(".tar.gz"))
    (wheel,) = folder.glob("*.whl")
    return source, wheel


def test_the_demo_runs_from_the_wheel_alone(archives, tmp_path):
    venv.create(tmp_path / "empty", with_pip=False)
    paths = sysconfig.get_paths(
        "venv", vars={"base": str(tmp_path / "empty"), "platbase": str(tmp_path / "empty")}
    )
    python = Path(paths["scripts"]) / Path(sys.executable).name
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    run(*pip, "--no-deps", "--no-index", archives[1], cwd=tmp_path)
    # The libraries are those of this environment, after the wheel: a path in a .pth file is
    # searched, but the .pth file of an editable installation that lies there is not read.
    libraries = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(paths["purelib"]) / "libraries.pth").write_text("\n".join(libraries), encoding="utf-8")

    where = (
        "import importlib.metadata as metadata, surelabel; "
        "print(metadata.version('surelabel'), surelabel.__file__)"
    )
    version, file = run(python, "-c", where, cwd=tmp_path).split(maxsplit=1)
    assert version == PROJECT["project"]["version"]
    assert Path(file.strip()).is_relative_to(tmp_path / "empty")
    shown = run(Path(paths["scripts"]) / "surelabel", "demo", cwd=tmp_path)
    assert "PURE, tuned without true labels" in shown


def test_the_wheel_holds_the_package_and_nothing_else(archives):
    with zipfile.ZipFile(archives[1]) as wheel:
        names = set(wheel.namelist())
        assert {name.split("/")[0] for name in names} == {
            "surelabel",
            f"surelabel-{PROJECT['project']['version']}.dist-info",
        }
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        fields = PathDistribution(zipfile.Path(wheel, metadata).parent).metadata
    assert {url.split(",")[0] for url in fields.get_all("Project-URL")} >= {
        "Source",
        "Documentation",
        "Changelog",
    }
    package = {
        str(file.relative_to(ROOT).as_posix())
        for file in (ROOT / "surelabel").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert "surelabel/py.typed" in package
    assert package <= names


def test_the_source_archive_holds_all_that_its_tests_need(archives):
    with tarfile.open(archives[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folders = ("tests", "docs", "examples", "benchmarks", ".github")
    files = {
        file.relative_to(ROOT).as_posix()
        for folder in folders
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    files |= {"README.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "CHANGELOG.md"}
    files |= {"LICENSE", "Makefile", "mkdocs.yml", "pyproject.toml"}
    assert not files - names


def test_the_recipe_of_conda_asks_for_the_same_versions():
    recipe = (ROOT / "recipe/recipe.yaml").read_text(encoding="utf-8")
    extras = PROJECT["project"]["optional-dependencies"]
    for text in [*PROJECT["project"]["dependencies"], *extras["cli"]]:
        name, version = text.split(">=")
        conda = {"matplotlib": "matplotlib-base"}.get(name, name)
        assert f"    - {conda} >={version}\n" in recipe
    entry = PROJECT["project"]["scripts"]["surelabel"]
    assert f"surelabel = {entry}" in recipe
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    assert 'python_min: "3.11"' in recipe


def test_the_changelog_begins_with_this_version():
    version = Version(PROJECT["project"]["version"])
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = next(line for line in changelog.splitlines() if line.startswith("## "))
    when = "unreleased" if version.is_devrelease else r"\d{4}-\d\d-\d\d"
    assert re.fullmatch(rf"## {re.escape(version.base_version)} \({when}\)", heading)


def test_the_citation_names_this_version():
    assert f"version: {PROJECT['project']['version']}\n" in (ROOT / "CITATION.cff").read_text()


def test_links_of_the_readme_lead_to_the_repository(archives):
    with zipfile.ZipFile(archives[1]) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith("METADATA"))
        text = wheel.read(name).decode()
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(links) > 10
    assert all(link.startswith("https://") for link in links)


def imported(folder):
    """The top-level modules that the files of a folder import, at the top or in a function."""
    found = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"surelabel", "tests"}


def declared(requirements):
    """Names of distributions, normalised, without versions and extras."""
    names = (Requirement(text).name for text in requirements if isinstance(text, str))
    return {name.lower().replace("_", "-").replace(".", "-") for name in names}


@pytest.mark.parametrize(
    ("folder", "groups"), [("surelabel", ()), ("tests", ("test", "lint", "docs"))]
)
def test_what_is_imported_is_declared(folder, groups):
    names = declared(PROJECT["project"]["dependencies"])
    for extra in PROJECT["project"]["optional-dependencies"].values():
        names |= declared(extra)
    for group in groups:
        names |= declared(PROJECT["dependency-groups"][group])
    distributions = packages_distributions()
    for module in imported(ROOT / folder):
        owners = {name.lower().replace("_", "-") for name in distributions.get(module, [module])}
        assert owners & names, f"{folder} imports {module}, which pyproject.toml does not declare"
