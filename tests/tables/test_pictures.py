"""Images and embedded columns are learned from."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.preprocessing import FunctionTransformer
from typer.testing import CliRunner

import surelabel
from surelabel import make_partial
from surelabel.cli import app
from surelabel.data.table_files import read_table, write_table
from surelabel.exceptions import ParameterError, TableError
from surelabel.tables.images import WIDTH


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """A table of paths of digits and candidates, and the truth."""
    folder = tmp_path_factory.mktemp("digits")
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    (folder / "img").mkdir()
    for i, pixels in enumerate(X):
        image = Image.fromarray((pixels.reshape(8, 8) * 15.9).astype(np.uint8))
        image.save(folder / "img" / f"{i}.png")
    sets = make_partial(y.astype(str), p=0.6, r=2, random_state=0).to_lists()
    table = {"file": [f"img/{i}.png" for i in range(300)], "labels": ["|".join(s) for s in sets]}
    write_table(pa.table(table), folder / "digits.csv")
    return folder, y.astype(str)


def test_paths_of_digits_are_learned_from(digits, tmp_path):
    folder, y = digits
    found = surelabel.clean(folder / "digits.csv", labels="labels")
    assert [feature.kind for feature in found.features] == ["image"]
    assert found.X.shape == (300, WIDTH)
    assert np.mean(np.array(found.frame["label"].to_pylist()).astype(str) == y) > 0.93
    surelabel.save_model(found.model, tmp_path / "a.model")
    model = surelabel.load_model(tmp_path / "a.model")
    table = read_table(folder / "digits.csv").slice(0, 5)
    assert surelabel.predict(model, table)["label"].to_pylist() == [int(k) for k in y[:5]]
    page = found.report(tmp_path / "page.html").read_text()
    assert "data:image/jpeg" in page


def test_images_outside_the_folder_are_not_read(digits, tmp_path):
    folder, _ = digits
    paths = [f"{folder}/img/{i}.png" for i in range(20)]
    table = pa.table({"file": paths, "labels": ["0", "1"] * 10, "x": [i % 7 for i in range(20)]})
    write_table(table, tmp_path / "a.csv")
    found = surelabel.inspect(tmp_path / "a.csv", labels="labels")
    assert "file" in found.unused


def test_images_that_cannot_be_read_are_told_of(digits):
    folder, _ = digits
    table = read_table(folder / "digits.csv").slice(0, 40)
    paths = [*table["file"].to_pylist()[:38], "img/none.png", None]
    table = table.set_column(0, "file", [paths])
    with pytest.warns(UserWarning, match=r"1 image\(s\) cannot be read"):
        surelabel.fit(table, labels="labels", as_={"file": "image"}, method="PLKNN")
    lost = table.set_column(0, "file", [["img/none.png"] * 40])
    with (
        pytest.warns(UserWarning, match=r"40 image\(s\)"),
        pytest.raises(TableError, match="no image can be read"),
    ):
        surelabel.fit(lost, labels="labels", as_={"file": "image"})


def letters(texts):
    """The share of some letters in texts."""
    return np.array([[text.count("a"), text.count("b"), len(text)] for text in texts], float)


@pytest.fixture
def words():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    texts = ["".join(rng.choice(list(["ab", "ba"][k]), 9, p=[0.8, 0.2])) for k in y]
    return pd.DataFrame({"word": texts, "labels": np.array(["many a", "many b"])[y]})


@pytest.mark.parametrize("embed", [letters, FunctionTransformer(letters)])
def test_columns_are_embedded_by_functions_and_transformers(words, embed):
    found = surelabel.clean(words, labels="labels", as_={"word": embed})
    assert [(f.name, f.kind) for f in found.features] == [("word embedded", "vector")]
    assert "word embedded" not in found.frame.columns
    assert np.mean(found.frame["label"] == words["labels"]) > 0.9
    new = surelabel.predict(found.model, words.head(3), as_={"word": embed})
    assert list(new.columns) == ["word", "labels", "label", "confidence", "second"]
    with pytest.raises(TableError, match=r"say again what computes them \(--as word=MODULE:NAME\)"):
        surelabel.predict(found.model, words.head(3))


def test_a_module_beside_the_table_embeds_on_the_command_line(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_vectors.py").write_text(
        "def count(texts):\n    return [[t.count('a'), t.count('b')] for t in texts]\n"
    )
    write_table(pa.Table.from_pandas(words), "words.csv")
    line = "fit words.csv -o a.model --labels labels --method PLKNN --as word=my_vectors:count"
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 0, result.output
    line = "predict a.model words.csv -o out.csv --as word=my_vectors:count"
    assert CliRunner().invoke(app, line.split()).exit_code == 0
    assert read_table("out.csv").num_rows == 80


@pytest.mark.parametrize(
    ("embed", "error", "message"),
    [
        ({"none": letters}, TableError, "there is no column 'none'"),
        ({"labels": letters}, ParameterError, "column 'labels' holds labels"),
        ({"word": "os:no_such"}, ParameterError, "'os:no_such' cannot be found"),
        ({"word": "no_such_module:f"}, ParameterError, "cannot be found"),
        ({"word": 3}, ParameterError, "neither a function nor a transformer"),
        ({"word": lambda t: [[1.0]]}, TableError, "should give 80 vectors of numbers"),
        ({"word": lambda t: [[np.nan]] * 80}, TableError, "NaN or infinite"),
        ({"word": lambda t: 1 / 0}, TableError, "failed .ZeroDivisionError"),
        (["word"], ParameterError, "as_ must be a mapping of columns to kinds"),
        (
            {"word": "sklearn.feature_extraction.text:TfidfVectorizer"},
            TableError,
            "column 'word': the function that embeds it failed .NotFittedError",
        ),
        (
            {"word": "sklearn.feature_extraction.text:HashingVectorizer"},
            TableError,
            r"have 1,048,576 numbers each, more than 20,000; compute fewer",
        ),
    ],
)
def test_what_does_not_embed_is_refused(words, embed, error, message):
    with pytest.raises(error, match=message):
        surelabel.inspect(words, labels="labels", as_=embed)


#: What the example in the documentation uses of packages that are not needed otherwise, with the
#: same signatures.
STAND_INS = {
    "torch/__init__.py": """
        import contextlib
        import numpy as np
        from . import nn

        class Tensor(np.ndarray):
            def numpy(self): return np.asarray(self)

        def no_grad(): return contextlib.nullcontext()
        def cat(tensors): return np.concatenate(tensors).view(Tensor)
    """,
    "torch/nn.py": """
        class Identity:
            def __call__(self, x): return x
    """,
    "torchvision/__init__.py": "from . import io, models",
    "torchvision/io.py": """
        import numpy as np
        from PIL import Image
        from torch import Tensor

        class ImageReadMode:
            RGB = "RGB"

        def read_image(path, mode):
            return np.asarray(Image.open(path).convert(mode)).transpose(2, 0, 1).view(Tensor)
    """,
    "torchvision/models.py": """
        class ResNet18_Weights:
            class DEFAULT:
                @staticmethod
                def transforms(): return lambda image: image / 255

        class _Net:
            fc = None
            def eval(self): return self
            def __call__(self, images): return self.fc(images.mean(axis=(2, 3)))

        def resnet18(weights): return _Net()
    """,
}


def test_the_example_of_the_documentation_runs(tmp_path):
    page = Path(__file__).parents[2] / "docs" / "howto" / "texts-images.md"
    text = page.read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(import torch\n.*?)```", text, re.DOTALL)
    (embed,) = re.findall(r"`--as (photo=\S+)`", text)
    (tmp_path / "vectors.py").write_text(example)
    for name, content in STAND_INS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(content))
    for name, colour in (("cat", "red"), ("dog", "blue")):
        Image.new("RGB", (8, 8), colour).save(tmp_path / f"{name}.png")
    kinds = ["cat", "dog", "cat", "dog"] * 5
    rows = {"photo": [f"{kind}.png" for kind in kinds], "size": [i * i for i in range(20)]}
    write_table(
        pa.table(rows | {"labels": ["cat", "dog", "cat|dog", "dog"] * 5}), tmp_path / "a.csv"
    )
    words = ["clean", "a.csv", "-o", "out.csv", "--labels", "labels", "--as", embed]
    done = subprocess.run(
        [sys.executable, "-m", "surelabel", *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "photo embedded" in done.stdout
    assert read_table(tmp_path / "out.csv")["label"].to_pylist() == kinds
