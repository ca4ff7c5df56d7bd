"""The classes that model files may hold, and the values of each.

A value is declared by its name and its kind: a word; in brackets, its sizes; after ``<``, the size
that positions stay below. ``f[k,n]`` is a matrix of finite numbers. Sizes have names (``n``
features, ``l`` classes, ``m`` training rows): the first array fixes them, and all others must
agree; ``*`` is any size, ``n+pairs`` a sum. ``a|b`` is a choice of words. The name of a class, of a
role or of one of the ``DICTS`` is a kind, too; its brackets say which sizes it shares. A number
after ``*`` makes it a list of at most that length. ``?`` says that the value may be missing; ``if``
gives a condition on the object, whose earlier values are set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


@dataclass(frozen=True)
class Known:
    """A class of model files: its module, its values, a check that the values agree, and its role:
    "classifier" (with parameters), "encoder", "table model", "column" or "part".
    """

    module: str
    values: str
    agrees: Callable[[Any], Any] = lambda _: True
    role: str = "classifier"


# -------------------------------------------------------------------- the language


class Declared:
    """The name and the kind of a value, from the text that declares it."""

    def __init__(self, text: str) -> None:
        pattern = r"(\S+) (\??)([^[<*? ]+)(?:\[(\S*?)\])?(?:<(\w))?(?:\*(\d+))?(?: if (\w+))?"
        found = re.fullmatch(pattern, text)
        assert found is not None, text
        self.name, self.may, self.word, sizes, self.below, most, self.condition = found.groups()
        self.sizes, self.most = (sizes or "*").split(","), int(most) if most else None


@lru_cache
def declarations(values: str) -> list[Declared]:
    """The declarations in a text."""
    return [Declared(text) for text in map(str.strip, re.split("[;\n]", values)) if text]


def values_of(declared: str, owner: Any) -> Iterator[Declared]:
    """The declarations that hold for an object, each read when the earlier values are set."""
    for value in declarations(declared):
        if value.condition is None or CONDITIONS[value.condition](owner):
            yield value


# -------------------------------------------------------------------- the values of classifiers

FITTED = """
n_features_in_ count[n]; feature_names_in_ ?names[n]; classes_ labels[l]; n_iter_ ?count
confidence_ ?confidence[m,l]; converged_ ?flag
"""
LINEAR = FITTED + "coef_ f[l,n]; intercept_ f[l]; support_ ?i[*]<m\n"
MARGIN = LINEAR + "scale_ number; objective_ ?F[*]; _possible b[l]"
NEAR = FITTED + "X_fit_ f[m,n]\n"
KERNEL = f"""{FITTED}
solver_ dual|primal|nystroem; support_ i[k]<n if precomputed; support_ ?i[*]<m if features
gamma_ gamma if single; intercept_ f[l] if single; coef_ f[l,n] if linear; origin_ f[n] if linear
origin_output_ f[l] if linear
X_fit_ f[k,n] if points; dual_coef_ f[k,l] if dual
delta_path_ ?F[*]; objective_path_ ?F[*]; width_ ?number
"""
ALONE = KERNEL + "scale_ ?number; leverage_ ?f[*]; loo_decision_ ?f[*,l]\n"
PEERS = f"""{KERNEL}
scale_ number; fitted_confidence_ ?confidence[*,l]
prior_shift_ number; guarded_ flag; leverage_ ?f[*]; loo_decision_ ?f[m,l]
kernels_ kernel*20; scalings_ f[*,n]*20 if auto; members_ Self[n,l]*20 if auto; _first ?first
"""
#: Dicts by name, their values in alphabetical order.
DICTS = {
    "first": "coef_ ?f[l,n]; dual_coef_ ?f[k,l]; intercept_ f[l]; origin_output_ ?f[l]; "
    "scale_ number",
    "kernel": "beta number; criterion ?share; gamma ?gamma; "
    "kernel rbf|laplacian|linear|precomputed; scaling standard|none|root|rank",
    "point": "bandwidth ?label; beta ?label; kernel ?label; lam ?label",
    "results": "points point*1000000; scores f[*,*]",
}
COMPARING = ("rbf", "laplacian")
CONDITIONS: dict[str, Callable[[Any], Any]] = {
    "auto": lambda model: model.kernel == "auto",
    "single": lambda model: model.kernel != "auto",
    "linear": lambda model: model.kernel == "linear",
    "precomputed": lambda model: model.kernel == "precomputed",
    "features": lambda model: model.kernel != "precomputed",
    "dual": lambda model: model.kernel in (*COMPARING, "precomputed"),
    "points": lambda model: model.kernel in COMPARING,
    "learned": lambda model: model.n_features_in_ > 0,
    "binary": lambda model: len(model._seen) == 2,
    "several": lambda model: len(model._seen) > 2,
}

# -------------------------------------------------------------------- whether values agree


def _has_gamma(model: Any) -> bool:
    return model.kernel not in COMPARING or model.gamma_ is not None


def _scaled(model: Any, models: list[Any]) -> bool:
    """Whether there are as many scalings and models as kernels, each with the rows it needs."""
    rows = {"standard": range(2, 3), "rank": range(1, 2**31)}
    return 0 < len(model.kernels_) == len(model.scalings_) == len(models) and all(
        len(learned) in rows.get(kernel["scaling"], range(1))
        for kernel, learned in zip(model.kernels_, model.scalings_, strict=True)
    )


def _peers(model: Any) -> bool:
    if model.kernel != "auto":
        return _has_gamma(model)
    return all(part.kernel != "auto" for part in model.members_) and _scaled(model, model.members_)


def _paloc(model: Any) -> bool:
    rows = max(len(model._pairs.vectors), len(model._labels.vectors))
    return model._possible.any() and rows <= len(model.transduction_)


def _crowd(model: Any) -> bool:
    if not model.n_features_in_:
        return not model.kernels_
    rows = [len(part) for part in model.points_] == [len(part) for part in model.dual_coefs_]
    known = all(kernel.get("gamma") is not None for kernel in model.kernels_)
    prior = model.class_prior_
    shares = (prior >= 0).all() and abs(float(prior.sum()) - 1) < 1e-6
    return rows and known and shares and _scaled(model, model.points_)


# -------------------------------------------------------------------- the classes

METHODS = "surelabel.estimators."
#: By the name that they have in files.
KNOWN = {
    "SUREClassifier": Known(METHODS + "sure", ALONE, _has_gamma),
    "PUREClassifier": Known(METHODS + "pure", PEERS, _peers),
    "distributed.SUREClassifier": Known("surelabel.distributed", ALONE, _has_gamma),
    "distributed.PUREClassifier": Known("surelabel.distributed", PEERS, _peers),
    "SURECV": Known(
        METHODS + "sure_cv",
        FITTED + "best_estimator_ SUREClassifier[n,l]; best_params_ point; best_score_ share; "
        "best_index_ count; cv_results_ results",
        lambda search: search.best_index_ < len(search.cv_results_["params"]),
    ),
    "CLPLClassifier": Known(METHODS + "clpl", MARGIN, lambda model: model._possible.any()),
    "PLSVMClassifier": Known(METHODS + "plsvm", MARGIN, lambda model: model._possible.any()),
    "IPALClassifier": Known(
        METHODS + "ipal",
        NEAR + "labels_ i[m]<l",
        # the products of all pairs of neighbours are computed for every row
        lambda model: model.n_neighbors <= min(len(model.X_fit_), 1000),
    ),
    "PLKNNClassifier": Known(
        METHODS + "plknn",
        NEAR + "candidates_ sparse[m,l]",
        lambda model: model.n_neighbors <= len(model.X_fit_),
    ),
    "LSBCMMClassifier": Known(
        METHODS + "lsbcmm",
        FITTED + "support_ ?i[*]<m; lower_bound_path_ ?F[*]; posterior_ f[k,l]; coef_ f[*,n]; "
        "intercept_ f[*]",
        lambda model: len(model.coef_) == len(model.intercept_) == len(model.posterior_) - 1,
    ),
    "SelfTrainingPLClassifier": Known(METHODS + "self_training", LINEAR + "picked_ ?b[*]"),
    "WeightedCandidatesClassifier": Known(
        METHODS + "weighted_candidates",
        FITTED
        + "support_ ?i[*]<m; _seen i[s]<l; coef_ f[1,n] if binary; intercept_ f[1] if binary; "
        "coef_ f[s,n] if several; intercept_ f[s] if several",
        lambda model: len(set(model._seen.tolist())) == len(model._seen) > 1,
    ),
    "PALOCClassifier": Known(
        METHODS + "paloc",
        FITTED + "_possible b[l]; _pairs _GaussianMachines[n,p=pairs]; "
        "_labels _GaussianMachines[n=n+pairs,p=l]; _remaining ?sparse[m,l]",
        _paloc,
    ),
    "_GaussianMachines": Known(
        METHODS + "paloc",
        "gamma number; intercept f[p]; vectors f[v,n]; coef sparse[p,v]",
        role="part",
    ),
    "CrowdClassifier": Known(
        METHODS + "crowd",
        FITTED + "loo_proba_ ?f[m,l]; blind_proba_ ?f[m,l]; votes_alone_ ?i[m]<l; "
        "confirmed_ ?flag; annotators_ Annotator[l]*1000000; kernels_ kernel*20; "
        "scalings_ f[*,n]*20 if learned; points_ f[*,n]*20 if learned; scale_ number if learned; "
        "failure_ share if learned; class_prior_ f[l] if learned; "
        "dual_coefs_ f[*,l]*20 if learned; intercept_ f[l] if learned",
        _crowd,
    ),
    "Annotator": Known(
        METHODS + "_annotators",
        "name text; n_votes count; accuracy share; interval share*2; "
        "confusion f[l,l]; kind text; labels label*1; copies texts",
        role="part",
    ),
}
