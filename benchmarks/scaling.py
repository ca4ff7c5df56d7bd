"""SURE from a thousand to ten million rows: time, peak memory, and what low rank costs in accuracy.

Every measurement runs in its own process, so that its peak memory can be measured. ``python
benchmarks/scaling.py PART...`` runs parts (million, growth, accuracy, outofcore, large; all by
default) and writes ``docs/scaling/PART.json``; from these, ``show`` makes
``docs/scaling/results.md`` and the plot.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

OUTPUT = Path(__file__).parent.parent / "docs" / "scaling"


# ---------------------------------------------------------------- data


def made_up(m, n=100, l=100, seed=0):
    """Blocks of rows around ``l`` centres, with 70 % of them given two false candidates."""
    from surelabel import make_partial

    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((l, n)).astype(np.float32)
    y = rng.integers(0, l, m)
    candidates = make_partial(y, p=0.7, r=2, classes=np.arange(l), random_state=seed)

    def blocks(step=50_000):
        for start in range(0, m, step):
            part = y[start : start + step]
            noise = np.random.default_rng([seed, start]).standard_normal((len(part), n), np.float32)
            yield centres[part] + 4 * noise

    return blocks, y, candidates


def in_memory(m, dtype="float32", **shape):
    blocks, y, candidates = made_up(m, **shape)
    X = np.empty((m, shape.get("n", 100)), dtype)
    start = 0
    for block in blocks():
        X[start : (start := start + len(block))] = block
    return X, y, candidates


# ------------------------------ one measurement, in a process of its own


def sure(m, solver="nystroem", n_components=1000, dtype="float32", n=100, l=100, beta=0.05):
    from surelabel import SUREClassifier

    X, y, candidates = in_memory(m, dtype, n=n, l=l)
    model = SUREClassifier(solver=solver, n_components=n_components, beta=beta)
    seconds = timed(lambda: model.fit(X, candidates))
    return seconds | {
        "iterations": model.n_iter_,
        "transductive accuracy": float(np.mean(model.transduction_ == y)),
    }


def scikit_learn(m, n_components=1000, dtype="float32"):
    """``Nystroem`` + ``Ridge`` on true labels: what a supervised low-rank fit costs."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    X, y, _ = in_memory(m, dtype)
    Y = np.zeros((m, 100), dtype)
    Y[np.arange(m), y] = 1
    gamma = 1 / (2 * 3400.0)  # about that of the average distance here
    model = make_pipeline(
        Nystroem(gamma=gamma, n_components=n_components, random_state=0), Ridge(alpha=0.05)
    )
    return timed(lambda: model.fit(X, Y))


def out_of_core(m, n_components=1000, keep=None):
    from surelabel import SUREClassifier
    from surelabel.estimators import _lowrank

    blocks, y, candidates = made_up(m)
    if keep:
        _lowrank.choose_keep = lambda *_: keep
    with tempfile.NamedTemporaryFile(suffix=".f32") as file:
        for block in blocks():
            block.tofile(file)
        file.flush()
        X = np.memmap(file.name, np.float32, "r", shape=(m, 100))
        model = SUREClassifier(solver="nystroem", n_components=n_components)
        seconds = timed(lambda: model.fit(X, candidates))
        return seconds | {
            "iterations": model.n_iter_,
            "transductive accuracy": float(np.mean(model.transduction_ == y)),
        }


def low_rank_accuracy(dataset, solver, n_components, seed=0):
    """Nine tenths of a data set to learn from, one to test: accuracy in both."""
    from sklearn.preprocessing import StandardScaler

    from surelabel import SUREClassifier, make_partial
    from surelabel.data import catalog
    from surelabel.evaluation.protocol import make_folds

    data = catalog.load(dataset)
    candidates = (
        data.candidates
        if data.candidates is not None
        else make_partial(data.y, p=0.7, r=2, random_state=0)
    )
    fold = make_folds(len(data.X))[0]
    X = StandardScaler().fit(data.X[fold.train]).transform(data.X)
    model = SUREClassifier(solver=solver, n_components=n_components, random_state=seed)
    seconds = timed(lambda: model.fit(X[fold.train], candidates[fold.train]))
    truth = np.asarray(data.y)
    return seconds | {
        "accuracy": float(np.mean(model.predict(X[fold.test]) == truth[fold.test])),
        "transductive accuracy": float(np.mean(model.transduction_ == truth[fold.train])),
    }


def memory(name):
    """VmRSS (memory now) or VmHWM (the most so far) of this process. Not ``ru_maxrss``, which is
    inherited from the parent.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def timed(work):
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of making the data
    before = memory("VmRSS")
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    peak = memory("VmHWM")
    return {
        "seconds": round(seconds, 3),
        "peak_gib": round(peak / 2**30, 3),
        "before_gib": round(before / 2**30, 3),
    }


def measure(function, *arguments, **named):
    """Run one measurement in a process of its own; one that is killed for want of memory is
    recorded as such.
    """
    call = json.dumps([function.__name__, arguments, named])
    done = subprocess.run([sys.executable, __file__, "--one", call], capture_output=True, text=True)
    result = (
        json.loads(done.stdout.splitlines()[-1])
        if done.returncode == 0
        else {"failed": (done.stderr or "killed")[-300:]}
    )
    record = {"what": function.__name__, "arguments": list(arguments), **named, **result}
    print(record, flush=True)
    return record


# ---------------------------------------------------------------- parts


def million():
    return [
        measure(scikit_learn, 250_000, dtype="float64"),
        measure(sure, 250_000, dtype="float64"),
        measure(scikit_learn, 250_000),
        measure(sure, 250_000),
        measure(scikit_learn, 1_000_000),
        measure(sure, 1_000_000),
    ]


def growth():
    exact = [1_000, 2_000, 4_000, 8_000, 16_000]
    low = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
    return [measure(sure, m, solver="dual", dtype="float64") for m in exact] + [
        measure(sure, m) for m in low
    ]


def accuracy():
    found = []
    for dataset in ("lost", "usps", "italian"):
        found.append(measure(low_rank_accuracy, dataset, "dual", 1))
        found += [
            measure(low_rank_accuracy, dataset, "nystroem", n_components)
            for n_components in (500, 1000, 2000, 4000)
        ]
    return found


def outofcore():
    return [
        measure(out_of_core, 1_000_000, keep="disk"),
        measure(out_of_core, 3_000_000, keep="disk"),
        measure(out_of_core, 1_000_000, keep="recompute"),
        measure(out_of_core, 10_000_000, keep="disk"),
    ]


def large():
    """Made-up data of Yahoo! News' shape, exactly."""
    return [
        measure(sure, 20_700, solver="dual", dtype="float64", n=163, l=219),
        measure(sure, 20_700, solver="dual", dtype="float32", n=163, l=219),
    ]


PARTS = (million, growth, accuracy, outofcore, large)


def show():
    """The records as tables, and time and memory against the number of rows."""
    lines = [
        "# Scaling: what was measured",
        "",
        "Made by `python benchmarks/scaling.py` from its records; 2 cores.",
        "",
    ]
    for part in PARTS:
        path = OUTPUT / f"{part.__name__}.json"
        if not path.is_file():
            continue
        records = json.loads(path.read_text())
        columns = list(dict.fromkeys(key for record in records for key in record))
        lines += [
            f"## {part.__name__}",
            "",
            "| " + " | ".join(columns) + " |",
            "|" + " --- |" * len(columns),
        ]
        lines += [
            "| " + " | ".join(_cell(record.get(column)) for column in columns) + " |"
            for record in records
        ] + [""]
    if (OUTPUT / "growth.json").is_file():
        plot(json.loads((OUTPUT / "growth.json").read_text()))
        lines += ["![time and memory against rows](growth.svg)", ""]
    (OUTPUT / "results.md").write_text("\n".join(lines))


def _cell(value):
    if isinstance(value, list):
        return ", ".join(f"{entry:,}" if isinstance(entry, int) else str(entry) for entry in value)
    return "" if value is None else str(value)


def plot(records):
    """Time and memory against the number of rows, with the exponents fitted to the larger half."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for solver, name, colour in (
        ("dual", "exact", "#0072b2"),
        (None, "Nyström, D = 1,000", "#d55e00"),
    ):
        chosen = [
            record for record in records if record.get("solver") == solver and "seconds" in record
        ]
        m = np.array([record["arguments"][0] for record in chosen])
        memory = [max(record["peak_gib"] - record["before_gib"], 1e-3) for record in chosen]
        for axes, what, y in zip(
            panels,
            ("time (s)", "memory of the fit (GiB)"),
            ([r["seconds"] for r in chosen], memory),
            strict=True,
        ):
            half = len(m) // 2
            exponent = np.polyfit(np.log(m[half:]), np.log(y[half:]), 1)[0]
            axes.loglog(m, y, "o-", color=colour, label=f"{name}: m^{exponent:.1f}")
            axes.set(xlabel="rows m", ylabel=what)
    for axes in panels:
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(OUTPUT / "growth.svg")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        name, arguments, named = json.loads(sys.argv[2])
        print(json.dumps(globals()[name](*arguments, **named)))
        sys.exit()
    OUTPUT.mkdir(exist_ok=True)
    wanted = sys.argv[1:] or [part.__name__ for part in PARTS] + ["show"]
    for part in PARTS:
        if part.__name__ in wanted:
            print(f"# {part.__name__}, {os.cpu_count()} cores", flush=True)
            (OUTPUT / f"{part.__name__}.json").write_text(
                json.dumps(part(), indent=1, ensure_ascii=False) + "\n"
            )
    if "show" in wanted:
        show()
