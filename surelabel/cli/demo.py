"""``surelabel demo``: the main task on data that comes with scikit-learn, in a few seconds."""

import time


def demo() -> None:
    """Disambiguate handwritten digits with PURE, SURE and the plain alternatives, and compare."""
    import numpy as np
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.table import Table
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.svm import SVC

    from ..data.corruption import make_partial
    from ..estimators import SURECV, PUREClassifier, WeightedCandidatesClassifier

    console = Console()
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.3, random_state=0)
    candidates = make_partial(y_train, p=0.9, r=4, random_state=0)
    console.print(
        f"\n[bold]{len(y_train)} images of handwritten digits.[/] 90 % come with five possible "
        "labels, one is right:"
    )
    for row in range(3):
        console.print(f"  image {row + 1}: one of {', '.join(map(str, candidates[row]))}")
    console.print()
    methods = {
        "PURE, tuned without true labels": (PUREClassifier(), candidates),
        "SURE, tuned without true labels": (SURECV(), candidates),
        "SVM, every candidate, weighted": (WeightedCandidatesClassifier(SVC()), candidates),
        "SVM, only the unambiguous rows": (
            WeightedCandidatesClassifier(SVC(), "unambiguous"),
            candidates,
        ),
        "SVM, with all true labels": (
            WeightedCandidatesClassifier(SVC(), "unambiguous"),
            y_train,
        ),
    }
    table = Table(title="What comes out", title_justify="left", title_style="bold")
    table.add_column("method", no_wrap=True)
    for name in ("labels found", "new images", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(methods))
        for name, (model, known) in methods.items():
            progress.update(task, description=name)
            started = time.perf_counter()
            model.fit(X_train, known)
            seconds = time.perf_counter() - started
            found = "–" if known is y_train else f"{np.mean(model.transduction_ == y_train):.1%}"
            score = f"{model.score(X_test, y_test):.1%}"
            style = "" if table.row_count else "bold"
            table.add_row(name, found, score, f"{seconds:.1f}", style=style)
            progress.advance(task)
    console.print(table)
    console.print("labels found: in the training images; new images: accuracy on the 540 others\n")
    console.print(
        "[bold]Next:[/] your own labels (strings, lists, 0/1 matrix, annotator columns):\n\n"
        "  from surelabel import CandidateSets, PUREClassifier\n"
        '  candidates = CandidateSets.from_strings(["cat|dog", "dog", ...])\n'
        "  model = PUREClassifier().fit(X, candidates)\n"
        "  model.transduction_      # the label found for each row\n"
        "  model.predict(X_new)     # and for new ones\n\n"
        "The README and docs/guide.md have the rest."
    )
