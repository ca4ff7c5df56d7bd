"""``surelabel demo``: the main task on data that comes with scikit-learn, in a few seconds."""

import time

NEXT = """\
labels found: in the training images; new images: accuracy on the 540 others

[bold]Next:[/] your own labels (strings, lists, 0/1 matrix, annotator columns):

  from surelabel import CandidateSets, PUREClassifier
  candidates = CandidateSets.from_strings(["cat|dog", "dog", ...])
  model = PUREClassifier().fit(X, candidates)
  model.transduction_      # the label found for each row
  model.predict(X_new)     # and for new ones

The rest: https://github.com/surelabel/surelabel/tree/main/docs/index.md"""


def demo() -> None:
    """Disambiguate handwritten digits with PURE, SURE and the plain alternatives, and compare."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.svm import SVC

    from ..data.corruption import make_partial
    from ..estimators import SURECV, PUREClassifier, WeightedCandidatesClassifier
    from ..progress import track

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
    # With true labels, every row is unambiguous, so this is a plain SVM.
    unambiguous = WeightedCandidatesClassifier(SVC(), "unambiguous")
    methods = [
        ("PURE, tuned without true labels", PUREClassifier(), candidates),
        ("SURE, tuned without true labels", SURECV(), candidates),
        ("SVM, every candidate, weighted", WeightedCandidatesClassifier(SVC()), candidates),
        ("SVM, only the unambiguous rows", unambiguous, candidates),
        ("SVM, with all true labels", unambiguous, y_train),
    ]
    table = Table(title="What comes out", title_justify="left", title_style="bold")
    table.add_column("method", no_wrap=True)
    for name in ("labels found", "new images", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, model, known in track(methods, "five methods", len(methods), verbose=True):
        started = time.perf_counter()
        model.fit(X_train, known)
        seconds = time.perf_counter() - started
        found = "–" if known is y_train else f"{np.mean(model.transduction_ == y_train):.1%}"
        score = f"{model.score(X_test, y_test):.1%}"
        style = "" if table.row_count else "bold"
        table.add_row(name, found, score, f"{seconds:.1f}", style=style)
    console.print(table)
    console.print(NEXT)
