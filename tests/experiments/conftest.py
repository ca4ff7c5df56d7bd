"""Small studies on embedded data, so that every test runs real trials."""

import pytest

SMALL = """
name = "small"
datasets = ["glass"]
folds = 5
inner_folds = 2
scaling = "standard"

[methods.SURE]
grid = { lam = [0.05, 0.3], beta = [0.05] }

[methods.PLKNN]
parameters = { n_neighbors = 5 }

[[configurations]]
kind = "controlled"
name = "II"
p = [0.1, 0.4, 0.7]
r = 1
"""


@pytest.fixture(scope="session")
def small():
    """The text of a small study."""
    return SMALL


@pytest.fixture
def study_file(small, tmp_path):
    """Write a study file: the small one, with some of its text replaced."""

    def write(*replacements):
        text = small
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "input" / "study.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write
