import re
from xml.etree import ElementTree

import numpy as np
import pytest

from surelabel.experiments.records import Run
from surelabel.report.drawing import COLOURS, MARKERS
from surelabel.report.figures import _joined, figures_of
from surelabel.report.summary import file_name, summarize

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture):
    return [
        "".join(element.itertext())
        for element in ElementTree.fromstring(picture.svg).iter(f"{SVG}text")
    ]


@pytest.mark.parametrize(
    ("name", "topics"),
    [
        ("table4", ["ranks"]),
        ("figure1", ["curves", "ranks"]),
        ("figure5-sensitivity", ["sensitivity"]),
        ("figure5-convergence", ["convergence"]),
        ("beyond", ["curves", "curves", "curves"]),
    ],
)
def test_every_study_has_its_figures(section_of, name, topics):
    galleries = figures_of(section_of(name, folds=2, datasets=["lost", "msrcv2", "ecoli"]))
    assert [gallery.topic for gallery in galleries] == topics
    pictures = [picture for gallery in galleries for picture in gallery.pictures]
    assert len({picture.name for picture in pictures}) == len(pictures)
    assert all(
        "selection: " in " ".join(texts(picture)) or "ORACLE" in " ".join(texts(picture))
        for picture in pictures
    )
    assert not any("mathdefault" in text for picture in pictures for text in texts(picture))


def test_a_curve_has_a_band_and_a_name_for_every_method(section_of):
    section = section_of("figure1", folds=2, datasets=["ecoli"])
    picture = figures_of(section)[0].pictures[0]
    assert len(re.findall(r'<g id="FillBetweenPolyCollection_\d+"', picture.svg)) == 7
    assert set(section["methods"]) <= set(texts(picture))
    assert "ε" in texts(picture)


def test_same_data_same_bytes(section_of):
    section = section_of("table4", folds=2)
    assert figures_of(section) == figures_of(section)


def test_names_are_text_not_mathematics_and_not_markup(made_up):
    hostile = "<script>1</script>$\\q{$"
    study, records, _ = made_up("figure1", folds=2, datasets=["ecoli", "glass"])
    for record in records:
        if record["dataset"] == "ecoli":
            record["dataset"] = hostile
        if record["method"] == "PLKNN":
            record["method"] = hostile
    for gallery in figures_of(summarize([Run(study, records, [])])["sections"][0]):
        for picture in gallery.pictures:
            assert "<script" not in picture.svg
            assert re.fullmatch(r"[A-Za-z0-9_.-]+", picture.name)
            if hostile in picture.title:
                assert hostile[:23] in " ".join(texts(picture))


def test_seven_methods_differ_in_colour_and_in_marker():
    """Also without colour: seven greys would not do, seven markers do."""
    assert len(set(COLOURS)) == len(COLOURS) >= 7
    assert len(set(MARKERS)) == len(MARKERS) >= 7


def confused(colour, missing):
    """A colour as a person without the long or medium cones sees it (Viénot, Brettel and Mollon
    1999).
    """
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]) ** 2.2
    to_lms = np.array(
        [[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]]
    )
    lms = to_lms @ rgb
    if missing == "long":
        lms[0] = 2.02344 * lms[1] - 2.52581 * lms[2]
    else:
        lms[1] = 0.494207 * lms[0] + 1.24827 * lms[2]
    return np.clip(np.linalg.inv(to_lms) @ lms, 0, 1) ** (1 / 2.2)


def closest(colours, missing):
    seen = [confused(colour, missing) for colour in colours]
    return min(np.linalg.norm(a - b) for place, a in enumerate(seen) for b in seen[:place])


@pytest.mark.parametrize("missing", ["long", "medium"])
def test_colour_blind_people_can_tell_the_methods_apart(missing):
    # what matplotlib draws with by default
    usual = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2"]
    assert closest(COLOURS[:7], missing) > 0.14 > closest(usual, missing)


def test_convergence_to_exactly_zero_is_drawn(made_up):
    study, records, _ = made_up("figure5-convergence", folds=2)
    for record in records:
        record["curves"]["delta"] = [0.0, 0.0] if record["dataset"] == "lost" else [1.0, 0.1, 0.0]
    (gallery,) = figures_of(summarize([Run(study, records, [])])["sections"][0])
    assert len(gallery.pictures) == 2


def test_bars_join_what_does_not_differ():
    assert _joined([1.0, 2.0, 3.0], 5.0) == [(1.0, 3.0)]
    assert _joined([1.0, 2.0, 3.0], 0.5) == []
    assert _joined([1.0, 1.2, 3.0, 3.1], 1.0) == [(1.0, 1.2), (3.0, 3.1)]


def test_file_names_are_safe_and_differ():
    names = [file_name("x", name) for name in ("lost", "a b", "a/b", "../a", "<a>", "", "..", "ä")]
    assert names[0] == "x-lost"
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"x-[A-Za-z0-9_.-]*", name) for name in names)


def test_no_curve_through_one_point(made_up):
    study, records, _ = made_up("table2", folds=2, datasets=["glass"])
    level = [record for record in records if 0.4 in (record["configuration"]["p"],
             record["configuration"]["eps"])]  # fmt: skip
    (section,) = summarize([Run(study, level, [])])["sections"]
    assert section["curves"] == []
    assert all(gallery.topic != "curves" for gallery in figures_of(section))
    # a method with one level has no line beside others with several
    mixed = [record for record in records if record["method"] != "PLKNN"] + [
        record for record in level if record["method"] == "PLKNN"
    ]
    (section,) = summarize([Run(study, mixed, [])])["sections"]
    assert section["curves"]
    for panel in section["curves"]:
        assert "PLKNN" not in panel["series"]
        assert all(len(line["x"]) > 1 for line in panel["series"].values())
    study, records, _ = made_up("figure5-convergence", folds=2)
    for record in records:
        record["curves"]["delta"] = record["curves"]["delta"][:1]
    (section,) = summarize([Run(study, records, [])])["sections"]
    assert all(gallery.topic != "convergence" for gallery in figures_of(section))
