"""Damaged files of every kind: read, they are fine or refused in one sentence; never a traceback, a
crash or a hang.

The files are read by other processes, which tell every attempt before they make it: what ends one
of them is known by its number. ``python tests/test_fuzz.py CAMPAIGN MUTATIONS`` tries many more.
"""

import faulthandler
import gzip
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import traceback
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Mutations of each kind of file in the test.
MUTATIONS = 130
#: Seconds for one file, and bytes for all.
PATIENCE, MEMORY = 30, 12 << 30
M = 24
#: A workbook of which the sheet is damaged, and that sheet in it.
SHEET, SHEET_PART = "sheet.xlsx", "xl/worksheets/sheet1.xml"


# -------------------------------------------------------------------- good files


def good_files():
    """The content of a small file of every kind, by its name."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    from scipy import io as scipy_io
    from scipy import sparse

    import surelabel
    from surelabel.experiments.study import PAPERS, read_study
    from tests.experiments.test_records import WHOLE

    rng = np.random.default_rng(0)
    kind = np.arange(M) % 3
    table = pa.table(
        {
            "id": range(M),
            "size": np.round(kind + rng.normal(size=M) / 4, 3),
            "colour": pa.array([("red", "blue", None)[i % 3] for i in range(M)]),
            "note": [f'naïve, "{i}"' if i % 4 else None for i in range(M)],
            "vector": pa.array([[0.5, i] for i in range(M)], pa.list_(pa.float64())),
            "labels": [("cat", "cat|dog", "dog|cow", "cow")[i % 4] for i in range(M)],
        }
    )
    rich = table.append_column("kind", pa.array(["a", "b"] * (M // 2)).dictionary_encode())
    rich = rich.append_column(
        "when",
        pa.array([datetime(2020, 1, 1 + i % 9) for i in range(M)], pa.timestamp("us", "UTC")),
    )
    rich = rich.append_column("tags", pa.array([["x", "y"], []] * (M // 2)))
    rich = rich.append_column("part", pa.array([{"a": i, "b": str(i)} for i in range(M)]))
    rich = rich.append_column("bytes", pa.array([b"\xff" * i for i in range(M)]))

    def csv():
        rows = zip(*table.drop_columns("vector").to_pydict().values(), strict=True)
        lines = [
            f'{id},{size},{colour or ""},"{(note or "").replace(chr(34), 2 * chr(34))}",{label}'
            for id, size, colour, note, label in rows
        ]
        return "\n".join(["id,size,colour,note,labels", *lines, ""]).encode()

    def lines():
        return "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()

    def lists():
        rows = [{"size": i, "labels": ("['cat', 'dog']", '["cow"]')[i % 2]} for i in range(M)]
        return "".join(json.dumps(row) + "\n" for row in rows).encode()

    def parquet(**options):
        file = io.BytesIO()
        pq.write_table(rich, file, row_group_size=12, **options)
        return file.getvalue()

    def arrow(make, compression):
        file = io.BytesIO()
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with make(file, rich.schema, options=options) as writer:
            writer.write_table(rich, max_chunksize=12)
        return file.getvalue()

    def mat(compressed):
        file = io.BytesIO()
        target = np.eye(3)[:, kind]
        partial = np.maximum(target, np.eye(3)[:, (kind + 1) % 3])
        content = {
            "data": rng.normal(size=(M, 2)),
            "partial_target": sparse.csc_array(partial),
            "target": sparse.csc_array(target),
            "label_names": np.array(["cat", "dog", "cow"], object),
        }
        scipy_io.savemat(file, content, do_compression=compressed)
        return file.getvalue()

    def npz():
        file = io.BytesIO()
        np.savez_compressed(file, X=rng.normal(size=(M, 2)), y=kind)
        return file.getvalue()

    def model():
        chosen = table.select(["size", "colour", "labels"])
        fitted = surelabel.fit(chosen, labels="labels", method="PLKNN")
        with tempfile.TemporaryDirectory() as folder:
            surelabel.save_model(fitted.model, Path(folder) / "a.model")
            return (Path(folder) / "a.model").read_bytes()

    def study():
        return read_study(PAPERS / "table4.toml").to_toml().encode()

    def finished():
        record = WHOLE | {"study": "table4", "dataset": "lost", "selection": "covering_rate"}
        record |= {"parameters": {"lam": 0.1}, "scaling": "none", "n_folds": 10}
        found = [
            record
            | {"cell": f"{place}{fold}", "method": method, "fold": fold}
            | {"scores": {"accuracy": 0.7 + fold / 100, "covering_rate": 0.8}}
            for place, method in enumerate(("SURE", "PLKNN"))
            for fold in range(3)
        ]
        return "".join(json.dumps(one) + "\n" for one in found).encode()

    def book():
        from surelabel.data._workbook import write_workbook

        file = io.BytesIO()
        write_workbook(table, file)
        return file.getvalue()

    makers = {
        "a.csv": csv,
        "a.csv.gz": lambda: gzip.compress(csv(), mtime=0),
        "a.csv.zip": lambda: zipped({"a.csv": csv()}),
        "a.json": lambda: json.dumps(table.to_pylist()).encode(),
        "a.xlsx": book,
        SHEET: lambda: zipfile.ZipFile(io.BytesIO(book())).read(SHEET_PART),
        "a.jsonl": lines,
        "lists.jsonl": lists,
        "snappy.parquet": parquet,
        "plain.parquet": lambda: parquet(compression="none", use_dictionary=False),
        "file.arrow": lambda: arrow(pa.ipc.new_file, None),
        "stream.arrow": lambda: arrow(pa.ipc.new_stream, None),
        "lz4.arrow": lambda: arrow(pa.ipc.new_file, "lz4"),
        "plain.mat": lambda: mat(False),
        "packed.mat": lambda: mat(True),
        "a.npz": npz,
        "a.model": model,
        "records.jsonl": finished,
        "records.jsonl.gz": lambda: gzip.compress(finished(), mtime=0),
        "study.toml": study,
        "run.toml": study,
    }
    assert makers.keys() == set(KINDS)
    return {name: make() for name, make in makers.items()}


def zipped(members):
    """A zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def as_file(name, content, good):
    """The bytes of a file: of a workbook the sheet is damaged, and then packed as if it were not,
    because damage to the archive is found by its checksums.
    """
    if name != SHEET:
        return content
    with zipfile.ZipFile(io.BytesIO(good["a.xlsx"])) as archive:
        members = {part: archive.read(part) for part in archive.namelist()}
    return zipped(members | {SHEET_PART: content})


KINDS = (
    *("a.csv", "a.csv.gz", "a.csv.zip", "a.json", "a.jsonl", "lists.jsonl", "a.xlsx", SHEET),
    *("snappy.parquet", "plain.parquet", "file.arrow", "stream.arrow", "lz4.arrow", "plain.mat"),
    *("packed.mat", "a.npz", "a.model", "records.jsonl", "records.jsonl.gz", "study.toml"),
    "run.toml",
)


# -------------------------------------------------------------------- damage

WORDS = (
    *(b"null", b"NaN", b"1e999", b"-1", b"[[", b"{}", b'"', b"\n", b",", b"\0", b"\xff"),
    *(b"[" * 3000, b"9" * 30, b"9" * 5000, b'"\\ud800"', b"\xed\xa0\x80", b"NA", b"2020-01-01"),
)


def damaged(content, seed):
    """The content with one kind of damage, or two."""
    rng = random.Random(seed)
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2))):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice((1, 2, 4, 8, rng.randrange(1, 200))))
        other = rng.randrange(len(data) + 1)
        match rng.randrange(9):
            case 0 | 1:  # flipped bits
                for _ in range(rng.choice((1, 1, 4)) if data else 0):
                    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            case 2:  # noise
                data[start:end] = rng.randbytes(end - start)
            case 3:  # cut off
                del data[start:]
            case 4:  # left out
                del data[start:end]
            case 5:  # twice
                data[other:other] = data[start:end]
            case 6:  # written over by another part
                data[other : other + end - start] = data[start:end]
            case 7:  # a number as large or as small as it can be
                width = rng.choice((1, 2, 4, 8))
                number = rng.choice((-1, 0, 1, (1 << 8 * width - 1) - 1, -(1 << 8 * width - 1)))
                number = number.to_bytes(width, rng.choice(("little", "big")), signed=True)
                data[start : start + width] = number
            case 8:
                data[start : rng.choice((start, end))] = rng.choice(WORDS)
    return bytes(data)


def try_to_read(name, path):
    """Read a file as its users do, and use what it holds."""
    import surelabel
    from surelabel.data.readers import read_npz
    from surelabel.data.table_files import read_table, write_table
    from surelabel.experiments import records
    from surelabel.experiments.study import read_study
    from surelabel.report.summary import summarize

    folder = path.parent
    match name:
        case "a.npz":
            read_npz(path)
        case "a.model":
            import pyarrow as pa

            surelabel.predict(
                surelabel.load_model(path), pa.table({"size": [1.0], "colour": ["red"]})
            )
        case "study.toml":
            read_study(path).to_toml()
        case "run.toml" | "records.jsonl" | "records.jsonl.gz":
            results = Path(tempfile.mkdtemp(dir=folder))
            for part, content in (("study.toml", STUDY), ("records.jsonl", FINISHED)):
                (results / part).write_bytes(content)
            os.replace(path, results / ("study.toml" if name == "run.toml" else name))
            if name == "records.jsonl.gz":
                (results / "records.jsonl").unlink()
            if records.read(results).records:
                summarize(records.read_all(results))
        case _:
            table = surelabel.convert(path) if name.endswith(".mat") else read_table(path)
            write_table(table, folder / "out.jsonl")
            surelabel.inspect(table, labels="labels")


# -------------------------------------------------------------------- the other process


def work(kinds, seed, start, stop):
    """Read damaged files; say before each which it is, and afterwards what came of it."""
    global STUDY, FINISHED
    with suppress(ImportError):  # Windows has no such limits
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    good = good_files()
    STUDY, FINISHED = good["run.toml"], good["records.jsonl"]
    from surelabel.exceptions import SurelabelError

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for i in range(start, stop):
            name = kinds[i % len(kinds)]
            path = Path(folder) / name
            path.write_bytes(as_file(name, damaged(good[name], f"{name} {seed} {i}"), good))
            print(json.dumps([i, name]), flush=True)
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            try:
                try_to_read(name, path)
            except SurelabelError:
                pass
            except Exception:
                last = traceback.format_exc().splitlines()
                print(json.dumps([i, name, "\n".join(last[-7:])]), flush=True)
            faulthandler.cancel_dump_traceback_later()
    print("done", flush=True)


def failures(kinds, seed, start, stop):
    """Everything that went wrong with the mutations from ``start`` to ``stop``."""
    found = []
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    while start < stop:
        words = [json.dumps(kinds), str(seed), str(start), str(stop)]
        run = subprocess.run(
            [sys.executable, "-X", "faulthandler", __file__, *words],
            capture_output=True,
            text=True,
            env=environment,
        )
        told = [json.loads(line) for line in run.stdout.splitlines() if line != "done"]
        found += [(name, i, problem) for i, name, *problems in told for problem in problems]
        if run.stdout.endswith("done\n"):
            break
        if not told:
            raise RuntimeError(run.stderr)
        i, name, *_ = told[-1]
        trace = run.stderr.partition("\nExtension modules")[0]
        found.append((name, i, f"ended with {run.returncode}: {trace[-1500:]}"))
        start = i + 1
    return found


def campaign(seed, mutations, workers=2):
    """The failures of so many mutations, spread over some processes."""
    parts = [sorted(KINDS)[worker::workers] for worker in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        done = pool.map(lambda kinds: failures(kinds, seed, 0, mutations // workers), parts)
        return [failure for part in done for failure in part]


def test_damaged_files_are_read_or_refused():
    assert MUTATIONS * len(KINDS) >= 2000
    found = campaign(0, MUTATIONS * len(KINDS))
    assert not found, "\n".join(f"{name} {i}: {problem}" for name, i, problem in found[:5])


if __name__ == "__main__":
    if sys.argv[1] == "CAMPAIGN":
        seed = sys.argv[3] if len(sys.argv) > 3 else "campaign"
        for failure in campaign(seed, int(sys.argv[2])):
            print(*failure, flush=True)
    else:
        work(json.loads(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:]))
