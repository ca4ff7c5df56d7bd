"""``surelabel demo``: the main job on data that comes with scikit-learn, in a few seconds."""

import time

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

#: What the plain alternatives are made with: the kernel classifier that a scikit-learn user would take.
PLAIN = "a support vector machine"


def demo() -> None:
    """Disambiguate handwritten digits with SURE and with the plain alternatives, and compare."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.svm import SVC

    from ..data.corruption import make_partial
    from ..estimators import SURECV, WeightedCandidatesClassifier

    console = Console()
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.3, random_state=0)
    candidates = make_partial(y_train, p=0.9, r=4, random_state=0)
    console.print(
        f"\n[bold]{len(y_train)} images of digits, {candidates.shape[1]} classes.[/] 90 % of them come with 5 possible labels, "
        f"one of which is right:\n{candidates!r}"
    )
    for row in range(3):
        console.print(f"  image {row}: one of {', '.join(map(str, candidates[row]))}")
    methods = {
        "SURE (λ and β chosen without true labels)": (SURECV(), candidates),
        f"each candidate as a weighted example, {PLAIN}": (WeightedCandidatesClassifier(SVC()), candidates),
        f"only the unambiguous rows, {PLAIN}": (WeightedCandidatesClassifier(SVC(), "unambiguous"), candidates),
        f"ceiling: the true labels, {PLAIN}": (WeightedCandidatesClassifier(SVC(), "unambiguous"), y_train),
    }
    table = Table("method", "right labels found\n(training rows)", "accuracy\n(new rows)", "seconds", title="\nWhat comes out")
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(methods))
        for name, (model, known) in methods.items():
            progress.update(task, description=name)
            started = time.perf_counter()
            model.fit(X_train, known)
            seconds = time.perf_counter() - started
            found = "–" if known is y_train else f"{np.mean(model.transduction_ == y_train):.1%}"
            style = "bold" if name.startswith("SURE") else ""
            table.add_row(name, found, f"{model.score(X_test, y_test):.1%}", f"{seconds:.1f}", style=style)
            progress.advance(task)
    console.print(table)
    console.print(
        "\n[bold]Next:[/] put your own labels in place of these. In Python:\n"
        "  from surelabel import CandidateSets, SURECV\n"
        '  candidates = CandidateSets.from_strings(["cat|dog", "dog", ...])   # or lists, a 0/1 matrix, one column per annotator\n'
        "  model = SURECV().fit(X, candidates)\n"
        "  model.transduction_      # the label found for each row;  model.predict(X_new) for new ones\n"
        "The README has the rest."
    )
