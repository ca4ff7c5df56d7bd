"""Cross-fitted retraining of trees compared with PURE on the real sets:
``docs/pure/retrainer.jsonl``.

``python benchmarks/pure_retrainer.py [folds] [sets]`` continues where it was stopped. Folds are
those of the study "pure"; there are at most six iterations; "true labels" is the same model fitted
to true labels, which bounds what retraining can reach. SURELABEL_DATA says where the data sets are.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

from surelabel import SURERetrainer
from surelabel.data import catalog
from surelabel.evaluation.metrics import accuracy_within
from surelabel.evaluation.protocol import make_folds
from surelabel.experiments.study import paper_study
from surelabel.experiments.trials import trials_of

OUTPUT = Path(__file__).parent.parent / "docs" / "pure" / "retrainer.jsonl"
MODELS = {
    "ExtraTrees": ExtraTreesClassifier(100, random_state=0),
    "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=20, random_state=0),
}


def records():
    return [json.loads(line) for line in OUTPUT.read_text().splitlines()] if OUTPUT.exists() else []


def main(n_folds, datasets):
    warnings.simplefilter("ignore")
    study = paper_study("pure")
    for model, trial in (
        (model, trial)
        for model in MODELS
        for trial in trials_of(study, datasets=datasets, methods=["PURE"])
        if trial.fold < n_folds
    ):
        for cross_fit in ("true labels", None, 5):
            key = {
                "model": model,
                "dataset": trial.dataset,
                "fold": trial.fold,
                "cross_fit": cross_fit,
            }
            if any(key.items() <= record.items() for record in records()):
                continue
            data = catalog.load(trial.dataset)
            fold = make_folds(
                len(data.X), n_folds=study.folds, inner_folds=5, seed=trial.seed("folds")
            )[trial.fold]
            y = np.asarray(data.y)
            X, known, truth = data.X[fold.train], data.candidates[fold.train], y[fold.test]
            started = time.process_time()
            if cross_fit == "true labels":
                fitted = clone(MODELS[model]).fit(X, y[fold.train])
            else:
                fitted = SURERetrainer(MODELS[model], cross_fit=cross_fit, max_iter=6)
                fitted.fit(X, known)
            predicted = fitted.predict(data.X[fold.test])
            record = key | {
                "accuracy": round(float(np.mean(predicted == truth)), 4),
                "seconds": round(time.process_time() - started, 1),
            }
            if data.ordered:
                record["within_3"] = round(accuracy_within(truth, predicted, 3), 4)
                record["within_5"] = round(accuracy_within(truth, predicted, 5), 4)
            with OUTPUT.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(record)


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 1,
        sys.argv[2:] or ["lost", "msrcv2", "fg-net"],
    )
