"""The claims of the paper's experimental section, each beside what the records show.

Every claim is checked by a function of the sections of a summary. It returns what was found and
whether it agrees ("yes", "in part" or "no"), or None if there are no records for it. Only complete
studies decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Section = Mapping[str, Any]
Found = tuple[str, str]

#: Shares of cases agree if they differ by at most this.
NEAR = 0.05
#: ‖P⁽ᵗ⁺¹⁾ − P⁽ᵗ⁾‖ that counts as 0 in a figure.
SMALL = 0.1
#: What is found where a study is not complete.
NOT_ENOUGH = "not enough records"
#: Accuracies below this count as extremely low.
LOW = 0.1


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and how it is checked.

    Attributes
    ----------
    place : str
        Where the paper says it.
    text : str
        What it says.
    studies : tuple of str
        The studies whose records decide.
    target : str
        The argument of ``surelabel reproduce`` that creates the records.
    check : callable
        Takes all sections by the name of their study; returns what was found, and whether it
        agrees.
    """

    place: str
    text: str
    studies: tuple[str, ...]
    target: str
    check: Callable[[Mapping[str, Section]], Found | None]


def check_claims(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Every claim whose first study has records: ``place``, ``text``, ``found``, ``agrees``,
    ``command``. If a study is not complete, nothing is found, and ``agrees`` is empty.

    Parameters
    ----------
    sections : sequence of dict
        The result of :func:`surelabel.report.summary.summarize`. If a study was run with several
        criteria, the one that uses only candidates counts.

    Returns
    -------
    list of dict
    """
    by_study: dict[str, Section] = {}
    for section in sections:
        if not section["oracle"]:
            by_study.setdefault(section["study"], section)
    checked = []
    for claim in CLAIMS:
        if claim.studies[0] not in by_study:
            continue
        complete = all(study in by_study and not by_study[study]["gaps"] for study in claim.studies)
        found, agrees = (claim.check(by_study) if complete else None) or (NOT_ENOUGH, "")
        checked.append(
            {
                "place": claim.place,
                "text": claim.text,
                "found": found,
                "agrees": agrees,
                "command": f"surelabel reproduce {claim.target}",
            }
        )
    return checked


# ---------------------------------------------------------------- Table 4


def _real_cells(section: Section, methods: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """The comparisons of Table 4: FG-NET counts three times."""
    wanted = section["methods"][1:] if methods is None else methods
    return [
        row["cells"][method]
        for row in section["results"]
        if row["metric"].startswith("accuracy") and row["family"] == "real-world"
        for method in wanted
        if row["cells"].get(method, {}).get("verdict")
    ]


def _beats_plknn(sections: Mapping[str, Section]) -> Found | None:
    cells = _real_cells(sections["table4"], ["PLKNN"])
    if not cells:
        return None
    wins = sum(cell["verdict"] == "win" for cell in cells)
    return f"significantly better in {wins} of {len(cells)} rows", _whether(
        wins == len(cells), wins
    )


def _wins_on_real(sections: Mapping[str, Section]) -> Found | None:
    cells = _real_cells(sections["table4"])
    if not cells:
        return None
    wins = sum(cell["verdict"] == "win" for cell in cells)
    share = wins / len(cells)
    text = f"significantly better in {wins} of {len(cells)} cases ({share:.1%})"
    return text, _whether(abs(share - 0.786) <= NEAR, share > 0.5)


def _never_worse(sections: Mapping[str, Section]) -> Found | None:
    cells = _real_cells(sections["table4"])
    losses = sum(cell["verdict"] == "loss" for cell in cells)
    text = f"significantly worse in {losses} of {len(cells)} cases"
    return (text, _whether(losses == 0, False)) if cells else None


def _low_on_fg_net(sections: Mapping[str, Section]) -> Found | None:
    means = {
        method: cell["mean"]
        for row in sections["table4"]["results"]
        if row["dataset"] == "fg-net" and row["metric"] == "accuracy"
        for method, cell in row["cells"].items()
        if cell["mean"] is not None
    }
    if not means:
        return None
    low = [mean < LOW for mean in means.values()]
    text = f"{min(means.values()):.3f} to {max(means.values()):.3f} over {len(means)} algorithms"
    return text, _whether(all(low), any(low))


# ---------------------------------------------------------------- Table 2


def _shares(section: Section, method: str) -> tuple[float, float, int] | None:
    """Shares of wins and losses against a method, and the number of settings."""
    if not section["win_tie_loss"] or method not in section["win_tie_loss"][-1]["cells"]:
        return None
    win, tie, loss = section["win_tie_loss"][-1]["cells"][method]["verdict"]
    total = win + tie + loss
    return (win / total, loss / total, total) if total else None


def _never_below(*methods: str) -> Callable[[Mapping[str, Section]], Found | None]:
    def check(sections: Mapping[str, Section]) -> Found | None:
        shares = [_shares(sections["table2"], method) for method in methods]
        if any(share is None for share in shares):
            return None
        losses = [round(share[1] * share[2]) for share in shares if share]
        text = ", ".join(
            f"{method}: {loss} losses in {share[2]} settings"
            for method, loss, share in zip(methods, losses, shares, strict=True)
            if share
        )
        return text, _whether(not any(losses), False)

    return check


def _wins_against(
    published: Mapping[str, tuple[float, float]],
) -> Callable[[Mapping[str, Section]], Found | None]:
    def check(sections: Mapping[str, Section]) -> Found | None:
        texts, near, ahead = [], True, True
        for method, (wins, losses) in published.items():
            found = _shares(sections["table2"], method)
            if found is None:
                return None
            texts.append(f"{method}: {found[0]:.1%} won, {found[1]:.1%} lost of {found[2]}")
            near &= abs(found[0] - wins) <= NEAR and abs(found[1] - losses) <= NEAR
            ahead &= found[0] > found[1]
        return "; ".join(texts), _whether(near, ahead)

    return check


def _in_general(sections: Mapping[str, Section]) -> Found | None:
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


def _which_p(sections: Mapping[str, Section]) -> Found | None:
    counts, distances = {}, {}
    for name, study in (("p = 0.1", "table2"), ("p = 1", "figure1")):
        lines = sections.get(study, {}).get("win_tie_loss", [])
        line = next((line for line in lines if line["family"].startswith("(I) ")), None)
        if line is None:
            return None
        ours = np.sum([cell["verdict"] for cell in line["cells"].values()], axis=0)
        counts[name] = "/".join(map(str, ours))
        distances[name] = distance(ours, (114, 50, 4))
    nearest = min(distances, key=distances.__getitem__)
    text = "; ".join(f"{name}: {counts[name]}" for name in counts)
    return f"{text} (published 114/50/4); {nearest} is nearer", "in part"


def distance(ours: Sequence[int] | np.ndarray, theirs: Sequence[int] | np.ndarray) -> float:
    """Half the sum of the absolute differences between the shares of wins, ties and losses: the
    share of cases that would have to change.

    >>> distance([5, 5, 0], [1, 1, 0])
    0.0
    >>> distance([10, 0, 0], [0, 5, 5])
    1.0
    """
    shares = [np.asarray(counts, float) / max(1, np.sum(counts)) for counts in (ours, theirs)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


# ---------------------------------------------------------------- Figure 5


def _panel(section: Section, dataset: str, parameter: str) -> dict[str, Any] | None:
    return next(
        (
            panel
            for panel in section["sensitivity"]
            if panel["dataset"] == dataset and panel["parameter"] == parameter
        ),
        None,
    )


def _interior(parameter: str, symbol: str) -> Callable[[Mapping[str, Section]], Found | None]:
    """Check that the best value is between the ends, and that both ends are worse."""

    def check(sections: Mapping[str, Section]) -> Found | None:
        texts, agree = [], []
        for dataset in ("lost", "msrcv2"):
            panel = _panel(sections["figure5-sensitivity"], dataset, parameter)
            if panel is None:
                continue
            mean, x = panel["mean"], panel["x"]
            best = int(np.argmax(mean))
            agree.append(0 < best < len(x) - 1)
            texts.append(
                f"{dataset}: {mean[0]:.3f} at {symbol} = {x[0]:g}, best {mean[best]:.3f} at "
                f"{x[best]:g}, {mean[-1]:.3f} at {x[-1]:g}"
            )
        return ("; ".join(texts), _whether(all(agree), any(agree))) if texts else None

    return check


def _converges(sections: Mapping[str, Section]) -> Found | None:
    panels = sections["figure5-convergence"]["convergence"]
    if not panels:
        return None
    texts, agree = [], []
    for panel in panels:
        tenth = np.median([delta[min(10, len(delta)) - 1] for delta in panel["folds"]])
        last = [delta[-1] for delta in panel["folds"]]
        still = sum(delta > SMALL for delta in last)
        agree.append(still == 0)
        texts.append(
            f"{panel['dataset']}: median {tenth:.2g} after 10 iterations, {np.median(last):.2g} "
            f"after {len(panel['folds'][0])}; above {SMALL:g} then in {still} of {len(last)} folds"
        )
    return "; ".join(texts), _whether(all(agree), True)


def _whether(agrees: bool, partly: Any) -> str:
    return "yes" if agrees else "in part" if partly else "no"


CLAIMS = (
    Claim(
        "Table 4",
        "SURE significantly outperforms PLKNN on all real-world data sets.",
        ("table4",),
        "table4",
        _beats_plknn,
    ),
    Claim(
        "Table 4",
        "SURE is significantly better in 78.6 % of the 42 cases and competitive in 21.4 %.",
        ("table4",),
        "table4",
        _wins_on_real,
    ),
    Claim(
        "Table 4",
        "SURE is never significantly outperformed.",
        ("table4",),
        "table4",
        _never_worse,
    ),
    Claim(
        "Table 4",
        "Every algorithm has an extremely low accuracy on FG-NET, whose candidate sets are large.",
        ("table4",),
        "table4",
        _low_on_fg_net,
    ),
    Claim(
        "Table 2",
        "SURE is superior or at least comparable to PLKNN and PLSVM in all cases.",
        ("table2",),
        "table2",
        _never_below("PLKNN", "PLSVM"),
    ),
    Claim(
        "Table 2",
        "SURE is superior to CLPL and LSBCMM in 72.3 % and 58.9 % of the cases, outperformed in "
        "4.5 % and 1.8 %.",
        ("table2",),
        "table2",
        _wins_against({"CLPL": (0.723, 0.045), "LSBCMM": (0.589, 0.018)}),
    ),
    Claim(
        "Table 2",
        "SURE outperforms IPAL and PALOC in 50.9 % and 63.4 % of the cases, outperformed in 5.4 % "
        "and 2.7 %.",
        ("table2",),
        "table2",
        _wins_against({"IPAL": (0.509, 0.054), "PALOC": (0.634, 0.027)}),
    ),
    Claim(
        "Figures 1 to 4",
        "SURE outperforms the other algorithms in general.",
        ("table2",),
        "table2",
        _in_general,
    ),
    Claim(
        "Figure 1",
        "Configuration (I) has p = 0.1 (Table 1 and the text), or p = 1 (the caption).",
        ("figure1", "table2"),
        "figure1",
        _which_p,
    ),
    Claim(
        "Figure 5 (a)",
        "Accuracy is low for a very small λ, rises, and drops dramatically for a large one.",
        ("figure5-sensitivity",),
        "figure5",
        _interior("lam", "λ"),
    ),
    Claim(
        "Figure 5 (b)",
        "β has to balance overfitting and underfitting.",
        ("figure5-sensitivity",),
        "figure5",
        _interior("beta", "β"),
    ),
    Claim(
        "Figure 5 (c, d)",
        "ΔP gradually decreases to 0 as the iterations go on.",
        ("figure5-convergence",),
        "figure5",
        _converges,
    ),
)
