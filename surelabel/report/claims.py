"""The claims of the paper's experimental section, each beside what the records show.

Every claim is a function of the sections of a summary, by study. It returns what was found and
whether it agrees ("yes", "in part" or "no"), or None if there are no records for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .results import distance

Sections = Mapping[str, Mapping[str, Any]]
Finding = tuple[str, str]
ClaimCheck = Callable[[Sections], Finding | None]

#: Shares of cases agree if they differ by at most this.
NEAR_SHARE = 0.05
#: ‖P⁽ᵗ⁺¹⁾ − P⁽ᵗ⁾‖ that counts as 0 in a figure.
NEARLY_ZERO = 0.1
#: Accuracies below this count as extremely low.
LOW_ACCURACY = 0.1
#: What is found where a study is not complete.
NOT_ENOUGH = "not enough records"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper: where it stands, the studies whose records decide, and the check."""

    place: str
    text: str
    studies: tuple[str, ...]
    check: ClaimCheck


CLAIMS: list[Claim] = []


def _claim(place: str, text: str, *studies: str) -> Callable[[ClaimCheck], ClaimCheck]:
    """Register a check of a claim, in the order of the page."""

    def register(check: ClaimCheck) -> ClaimCheck:
        CLAIMS.append(Claim(place, text, studies, check))
        return check

    return register


def check_claims(sections: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every claim whose first study has records: ``place``, ``text``, ``found``, ``agrees``,
    ``command``. If a study is not complete, nothing is found, and ``agrees`` is empty. If it was
    run with several criteria, the one that uses only candidates counts.
    """
    by_study: dict[str, Mapping[str, Any]] = {}
    for section in sections:
        if not section["oracle"]:
            by_study.setdefault(section["study"], section)
    checked = []
    for claim in CLAIMS:
        if claim.studies[0] not in by_study:
            continue
        complete = all(study in by_study and not by_study[study]["gaps"] for study in claim.studies)
        found, agrees = (claim.check(by_study) if complete else None) or (NOT_ENOUGH, "")
        # figure5-sensitivity is a part of figure5
        target = claim.studies[0].partition("-")[0]
        checked.append(
            {
                "place": claim.place,
                "text": claim.text,
                "found": found,
                "agrees": agrees,
                "command": f"surelabel reproduce {target}",
            }
        )
    return checked


def _whether(agrees: bool, partly: Any) -> str:
    return "yes" if agrees else "in part" if partly else "no"


# ---------------------------------------------------------------- Table 4


def _verdicts(sections: Sections, methods: Sequence[str] = ()) -> list[str]:
    """The comparisons of Table 4 with these methods, by default all: FG-NET counts three times."""
    section = sections["table4"]
    cells = [
        row["cells"].get(method, {})
        for row in section["results"]
        if row["metric"].startswith("accuracy") and row["family"] == "real-world"
        for method in methods or section["methods"][1:]
    ]
    return [cell["verdict"] for cell in cells if cell.get("verdict")]


@_claim("Table 4", "SURE significantly outperforms PLKNN on all real-world data sets.", "table4")
def _beats_plknn(sections: Sections) -> Finding | None:
    verdicts = _verdicts(sections, ["PLKNN"])
    wins = verdicts.count("win")
    text = f"significantly better in {wins} of {len(verdicts)} rows"
    return (text, _whether(wins == len(verdicts), wins)) if verdicts else None


@_claim(
    "Table 4",
    "SURE is significantly better in 78.6 % of the 42 cases and competitive in 21.4 %.",
    "table4",
)
def _wins_on_real(sections: Sections) -> Finding | None:
    verdicts = _verdicts(sections)
    if not verdicts:
        return None
    wins = verdicts.count("win")
    share = wins / len(verdicts)
    text = f"significantly better in {wins} of {len(verdicts)} cases ({share:.1%})"
    return text, _whether(abs(share - 0.786) <= NEAR_SHARE, share > 0.5)


@_claim("Table 4", "SURE is never significantly outperformed.", "table4")
def _never_worse(sections: Sections) -> Finding | None:
    verdicts = _verdicts(sections)
    losses = verdicts.count("loss")
    text = f"significantly worse in {losses} of {len(verdicts)} cases"
    return (text, _whether(losses == 0, False)) if verdicts else None


@_claim(
    "Table 4",
    "Every algorithm has an extremely low accuracy on FG-NET, whose candidate sets are large.",
    "table4",
)
def _low_on_fg_net(sections: Sections) -> Finding | None:
    means = [
        cell["mean"]
        for row in sections["table4"]["results"]
        if row["dataset"] == "fg-net" and row["metric"] == "accuracy"
        for cell in row["cells"].values()
        if cell["mean"] is not None
    ]
    if not means:
        return None
    text = f"{min(means):.3f} to {max(means):.3f} over {len(means)} algorithms"
    return text, _whether(max(means) < LOW_ACCURACY, min(means) < LOW_ACCURACY)


# ---------------------------------------------------------------- Table 2


def _total(section: Mapping[str, Any], method: str) -> list[int] | None:
    """Win, tie and loss against a method over all settings."""
    lines = section["win_tie_loss"]
    counts: list[int] = lines[-1]["cells"].get(method, {}).get("verdict", []) if lines else []
    return counts if sum(counts) else None


@_claim(
    "Table 2", "SURE is superior or at least comparable to PLKNN and PLSVM in all cases.", "table2"
)
def _never_below(sections: Sections) -> Finding | None:
    texts, losses = [], 0
    for method in ("PLKNN", "PLSVM"):
        counts = _total(sections["table2"], method)
        if counts is None:
            return None
        texts.append(f"{method}: {counts[2]} losses in {sum(counts)} settings")
        losses += counts[2]
    return ", ".join(texts), _whether(losses == 0, False)


def _wins_against(**published: tuple[float, float]) -> ClaimCheck:
    """Compare the shares of wins and losses with the published ones."""

    def check(sections: Sections) -> Finding | None:
        texts, near, ahead = [], True, True
        for method, shares in published.items():
            counts = _total(sections["table2"], method)
            if counts is None:
                return None
            won, _, lost = (n / sum(counts) for n in counts)
            texts.append(f"{method}: {won:.1%} won, {lost:.1%} lost of {sum(counts)}")
            near &= abs(won - shares[0]) <= NEAR_SHARE and abs(lost - shares[1]) <= NEAR_SHARE
            ahead &= won > lost
        return "; ".join(texts), _whether(near, ahead)

    return check


_claim(
    "Table 2",
    "SURE is superior to CLPL and LSBCMM in 72.3 % and 58.9 % of the cases, outperformed in 4.5 % "
    "and 1.8 %.",
    "table2",
)(_wins_against(CLPL=(0.723, 0.045), LSBCMM=(0.589, 0.018)))
_claim(
    "Table 2",
    "SURE outperforms IPAL and PALOC in 50.9 % and 63.4 % of the cases, outperformed in 5.4 % and "
    "2.7 %.",
    "table2",
)(_wins_against(IPAL=(0.509, 0.054), PALOC=(0.634, 0.027)))


@_claim("Figures 1 to 4", "SURE outperforms the other algorithms in general.", "table2")
def _in_general(sections: Sections) -> Finding | None:
    ranks = sections["table2"]["ranks"]
    if ranks is None:
        return None
    order = sorted(ranks["average"], key=ranks["average"].__getitem__)
    reference = sections["table2"]["reference"]
    place = order.index(reference) + 1
    text = (
        f"average rank {ranks['average'][reference]:.2f}, place {place} of {len(order)} over "
        f"{ranks['n']} settings; first is {order[0]} with {ranks['average'][order[0]]:.2f}"
    )
    return text, _whether(place == 1, place <= 2)


@_claim(
    "Figure 1",
    "Configuration (I) has p = 0.1 (Table 1 and the text), or p = 1 (the caption).",
    "figure1",
    "table2",
)
def _which_p(sections: Sections) -> Finding | None:
    counts, distances = {}, {}
    for name, study in (("p = 0.1", "table2"), ("p = 1", "figure1")):
        lines = sections[study]["win_tie_loss"]
        line = next((line for line in lines if line["family"].startswith("(I) ")), None)
        if line is None:
            return None
        ours = np.sum([cell["verdict"] for cell in line["cells"].values()], axis=0)
        counts[name] = "/".join(map(str, ours))
        distances[name] = distance(ours, (114, 50, 4))
    nearest = min(distances, key=distances.__getitem__)
    text = "; ".join(f"{name}: {counts[name]}" for name in counts)
    return f"{text} (published 114/50/4); {nearest} is nearer", "in part"


# ---------------------------------------------------------------- Figure 5


def _best_inside(parameter: str, symbol: str) -> ClaimCheck:
    """Check that the best value lies between the ends."""

    def check(sections: Sections) -> Finding | None:
        texts, agree = [], []
        for panel in sections["figure5-sensitivity"]["sensitivity"]:
            if panel["parameter"] != parameter:
                continue
            mean, x = panel["mean"], panel["x"]
            best = int(np.argmax(mean))
            agree.append(0 < best < len(x) - 1)
            texts.append(
                f"{panel['dataset']}: {mean[0]:.3f} at {symbol} = {x[0]:g}, best "
                f"{mean[best]:.3f} at {x[best]:g}, {mean[-1]:.3f} at {x[-1]:g}"
            )
        return ("; ".join(texts), _whether(all(agree), any(agree))) if texts else None

    return check


_claim(
    "Figure 5 (a)",
    "Accuracy is low for a very small λ, rises, and drops dramatically for a large one.",
    "figure5-sensitivity",
)(_best_inside("lam", "λ"))
_claim("Figure 5 (b)", "β has to balance overfitting and underfitting.", "figure5-sensitivity")(
    _best_inside("beta", "β")
)


@_claim(
    "Figure 5 (c, d)", "ΔP gradually decreases to 0 as the iterations go on.", "figure5-convergence"
)
def _converges(sections: Sections) -> Finding | None:
    texts, agree = [], []
    for panel in sections["figure5-convergence"]["convergence"]:
        tenth = np.median([delta[min(10, len(delta)) - 1] for delta in panel["folds"]])
        last = [delta[-1] for delta in panel["folds"]]
        still = sum(delta > NEARLY_ZERO for delta in last)
        agree.append(still == 0)
        texts.append(
            f"{panel['dataset']}: median {tenth:.2g} after 10 iterations, {np.median(last):.2g} "
            f"after {len(panel['folds'][0])}; above {NEARLY_ZERO:g} then in {still} of {len(last)} "
            "folds"
        )
    return ("; ".join(texts), _whether(all(agree), True)) if texts else None
