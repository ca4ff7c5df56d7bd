"""The page of a cleaned table, read and in a real browser."""

import base64
import html
import io
import os
import re
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from scipy.spatial.distance import cdist

from surelabel import CandidateSets
from surelabel.exceptions import TableError
from surelabel.report.drawing import class_names
from surelabel.solvers import memory
from surelabel.tables import page_figures, page_rows
from surelabel.tables.images import Images
from surelabel.tables.page import SHOWN
from tests.pages import check_alone, check_harmless, check_links, check_print, check_without_script

HOSTILE = "<script>window.harmed = true</script>\"'><img src=x onerror='window.harmed = true'>"
NASTY = (HOSTILE, '"quoted"', "../../etc/passwd", "$x$ & {{ 7 * 7 }}", "日本語\nsecond line")


@pytest.fixture(scope="module")
def write(cleaned_table, tmp_path_factory):
    """Write the page of a made-up table."""

    @cache
    def make(text=None, **made):
        path = tmp_path_factory.mktemp("page") / "page.html"
        return cleaned_table(**made).report(path, text=text)

    return make


@pytest.fixture(scope="module")
def hostile(cleaned_table, tmp_path_factory):
    """A page on which every name is an attack."""
    cleaned = cleaned_table(classes=NASTY, annotators=3)
    table, features = cleaned.table, cleaned.features
    texts = pa.array([HOSTILE] * len(table))
    table = table.rename_columns([HOSTILE, *table.column_names[1:]]).set_column(5, "text", texts)
    ids = np.array([f"{HOSTILE}{row}" for row in range(len(table))])
    cleaned = replace(
        cleaned,
        annotators=[replace(person, name=HOSTILE) for person in cleaned.annotators],
        parameters={HOSTILE: HOSTILE},
        method=HOSTILE,
        labels=replace(cleaned.labels, ids=ids, table=table),
        features=[replace(features[0], name=HOSTILE), *features[1:]],
    )
    path = tmp_path_factory.mktemp("page") / "page.html"
    return cleaned.report(path, title=HOSTILE, text="text")


def text_of(path):
    """The words of the page, without tags."""
    return " ".join(
        html.unescape(
            re.sub(r"<(style|script)>.*?</\1>|<[^>]+>", " ", path.read_text(), flags=re.DOTALL)
        ).split()
    )


# ---------------------------------------------------------------- what it says


def test_a_label_outside_the_set_is_marked(cleaned_table, tmp_path):
    cleaned = cleaned_table()
    given = cleaned.labels.candidates.to_indicator() > 0
    row = np.flatnonzero((cleaned.status == "look") & (given.sum(axis=1) < given.shape[1]))[0]
    assert ">not given<" not in cleaned.report(tmp_path / "page.html").read_text()
    second = cleaned.second.copy()
    second[row] = np.flatnonzero(~given[row])[0]
    page = replace(cleaned, second=second).report(tmp_path / "page.html").read_text()
    name = re.escape(str(cleaned.classes[second[row]]))
    assert len(re.findall(rf">{name}<small>not given</small></span>", page)) == 1


def test_says_how_many_labels_to_keep_and_how_many_rows_to_look_at(write, cleaned_table):
    cleaned = cleaned_table()
    words = text_of(write())
    assert f"{cleaned.n_kept} of 600 labels are probably right: the model estimates" in words
    assert f"that {100 * cleaned.expected_error:.1f} % of them are wrong." in words
    assert f"Look at {np.sum(cleaned.status == 'look')} rows" in words
    for status in ("certified", "probable", "look"):
        assert f"{np.sum(cleaned.status == status)} {status}" in words
    assert "error on 60 gold rows" in words


def test_rows_come_in_the_order_of_their_gain(write, cleaned_table):
    cleaned = cleaned_table()
    rows = [int(row) for row in re.findall(r'<tr id="row(\d+)"', write().read_text())]
    assert sorted(rows) == np.flatnonzero(cleaned.status == "look").tolist()
    assert all(cleaned.gain[a] >= cleaned.gain[b] for a, b in pairwise(rows))


def test_a_row_shows_what_speaks_for_it(cleaned_table):
    cleaned = cleaned_table()
    labels, reader = cleaned.labels, page_rows.Reader(cleaned, "text", None, None)
    rows = cleaned.rows_to_look_at()
    for item in page_rows.describe_rows(rows, cleaned, reader):
        row = item.row
        assert item.content.text == f"text of row {row}"
        assert item.choices[0].label == cleaned.classes[cleaned.label[row]]
        assert {choice.label for choice in item.choices} == set(labels.candidates[row])
        assert item.choices[1].label == cleaned.classes[cleaned.second[row]]
        assert item.choices[1].probability == pytest.approx(
            cleaned.confidence[row] - cleaned.margin[row]
        )
        votes = {choice.label: choice.votes for choice in item.choices}
        given = [cleaned.classes[vote] for vote in labels.votes[row] if vote >= 0]
        assert votes == {label: f"{given.count(label)}×" if given else None for label in votes}
        words = {reason.word for reason in item.reasons}
        assert ("label missing" in words) == cleaned.outside[row]
        assert ("no label" in words) == labels.unlabelled[row]
        suggested = [reason.label for reason in item.reasons if reason.word == "label missing"]
        assert suggested == ([cleaned.classes[cleaned.best[row]]] if cleaned.outside[row] else [])


def test_neighbours_are_the_nearest_certain_rows(cleaned_table, monkeypatch):
    monkeypatch.setattr(memory, "BLOCK", 1000)
    cleaned = cleaned_table()
    X = cleaned.X
    kept, rows = np.flatnonzero(cleaned.status != "look"), cleaned.rows_to_look_at()
    expected = kept[np.argsort(cdist(X[rows], X[kept]), axis=1)[:, :3]]
    np.testing.assert_array_equal(page_rows.nearest_kept(X, kept, rows), expected)


def test_at_most_so_many_rows_are_shown_and_the_rest_is_counted(cleaned_table, tmp_path):
    cleaned = cleaned_table(m=1000)
    cleaned = replace(cleaned, status=np.where(np.arange(1000) < 700, "look", "probable"))
    path = cleaned.report(tmp_path / "page.html")
    assert path.read_text().count('<tr id="row') == SHOWN
    assert f"The {SHOWN} rows where an answer helps most, of 700; the other 500" in text_of(path)


def test_confusion_counts_the_other_candidates_of_the_label_chosen(cleaned_table):
    cleaned = cleaned_table(m=200)
    labels = cleaned.labels
    expected = np.zeros((4, 4), int)
    for row in np.flatnonzero(~labels.unlabelled):
        for label in labels.candidates[row]:
            place = int(np.flatnonzero(cleaned.classes == label)[0])
            expected[cleaned.label[row], place] += place != cleaned.label[row]
    np.testing.assert_array_equal(page_figures.confusion(cleaned).toarray(), expected)


def test_the_map_is_a_stratified_sample_that_holds_the_rows_shown(cleaned_table, monkeypatch):
    monkeypatch.setattr(page_figures, "DRAWN", 200)
    cleaned = cleaned_table(m=2000)
    shown = cleaned.rows_to_look_at()[:7]
    rows = page_figures.drawn_rows(cleaned, shown)
    assert set(shown) <= set(rows)
    assert len(np.unique(rows)) == len(rows) <= 207
    for label in range(4):
        assert np.mean(cleaned.label[rows] == label) == pytest.approx(
            np.mean(cleaned.label == label), abs=0.03
        )
    gallery = page_figures.build(cleaned, shown)["map"]
    assert f"A stratified sample of {len(rows)} of the 2,000 rows" in gallery.caption
    (picture,) = gallery.pictures
    assert sorted(map(int, re.findall(r'href="#row(\d+)"', picture.svg))) == sorted(shown)


def test_same_table_same_bytes(cleaned_table, tmp_path):
    first, second = (cleaned_table().report(tmp_path / name).read_bytes() for name in "ab")
    assert first == second


# ---------------------------------------------------------------- tables of every kind


def figures_of(path):
    return re.findall(r'aria-label="([^"]+)" [^>]*viewBox', path.read_text())


@pytest.mark.parametrize(
    "made",
    [
        {"m": 30, "annotators": 2, "gold": 0, "columns": 1, "classes": ("yes", "no")},
        {"m": 700, "classes": tuple(f"class {i}" for i in range(60)), "annotators": 30},
        {"m": 2000, "columns": 40},
    ],
    ids=["30 rows", "60 classes", "2000 rows"],
)
def test_every_kind_of_table_has_every_figure(write, made):
    drawn = figures_of(write(**made))
    assert len(drawn) == (4 if made.get("gold") == 0 else 5)
    assert any("gold" in title for title in drawn) == (made.get("gold") != 0)


def bare(cleaned, **changes):
    """As of a table without votes and without gold."""
    unknown, given = np.full(len(cleaned.labels.gold), -1), cleaned.labels.candidates
    sets = CandidateSets(given.indptr, given.indices, given.classes, given.counts)
    return replace(
        cleaned,
        annotators=[],
        n_gold=0,
        gold_error=None,
        labels=replace(cleaned.labels, candidates=sets, gold=unknown),
        **changes,
    )


@pytest.mark.parametrize("status", ["certified", "probable", "look"])
def test_a_table_of_one_status_without_annotators_and_gold(cleaned_table, tmp_path, status):
    cleaned = cleaned_table(m=40)
    none = status == "look"
    cleaned = bare(cleaned, status=np.full(40, status), X=np.zeros_like(cleaned.X))
    path = cleaned.report(tmp_path / "page.html")
    words = text_of(path)
    assert ("No label is sure enough to keep" in words) == none
    assert ("There is no row that a person should look at" in words) == (status != "look")
    assert ("no row is kept" in words) == (status == "look")
    assert "Annotators" not in words
    assert "nan" not in words


def test_a_table_of_vectors_alone(cleaned_table, tmp_path, monkeypatch):
    monkeypatch.setattr(page_figures, "build", lambda *_: {})
    cleaned = cleaned_table(m=40)
    features = [replace(feature, kind="vector") for feature in cleaned.features]
    path = replace(cleaned, features=features).report(tmp_path / "page.html")
    assert "<details" not in path.read_text()


def test_a_million_rows_take_no_larger_page(cleaned_table, tmp_path):
    """Only what is counted grows with the rows; 100,000 stand for a million, to be quick."""
    path = cleaned_table(m=100_000, seed=1).report(tmp_path / "page.html", text="text")
    assert path.stat().st_size < 3e6


def test_a_column_that_is_not_there(cleaned_table, tmp_path):
    with pytest.raises(TableError, match=r"no column 'txt'; did you mean 'text'\?"):
        cleaned_table(m=40).report(tmp_path / "page.html", text="txt")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- harmless


def test_the_page_needs_nothing_else(write, tags_of):
    check_alone(write().read_text(), tags_of(write()), 101)


def test_ids_are_unique_and_links_lead_somewhere(write, tags_of):
    links = check_links(tags_of(write()))
    assert {"look", "map", "sureness", "ambiguity", "annotators"} <= set(links)


def test_hostile_names_stay_text(hostile, tags_of):
    check_harmless(hostile.read_text(), tags_of(hostile))
    assert "{{ 7 * 7 }}" in hostile.read_text()


# ---------------------------------------------------------------- images


def red(path, size=(400, 200)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, "red").save(path)


@pytest.fixture
def with_images(cleaned_table, tmp_path, monkeypatch):
    """Write a page, without figures, of a table whose rows to look at have these paths of
    images.
    """
    monkeypatch.setattr(page_figures, "build", lambda *_: {})

    def make(names):
        cleaned = cleaned_table(m=60, seed=2)
        paths = pa.array([*names, *[None] * (60 - len(names))], pa.string())
        table = cleaned.table.append_column("photo", paths)
        cleaned = replace(
            cleaned,
            status=np.where(np.arange(60) < len(names), "look", "probable"),
            label=np.zeros(60, int),
            second=np.full(60, -1),
            outside=np.zeros(60, int),
            confidence=np.linspace(0.1, 0.9, 60),
            labels=replace(cleaned.labels, table=table),
        )
        return cleaned.report(
            tmp_path / "out" / "page.html", image="photo", folder=tmp_path / "table"
        )

    return make


def images_by_row(path):
    rows = re.findall(r'<tr id="row(\d+)".*?</tr>', path.read_text(), flags=re.DOTALL)
    parts = re.split(r'<tr id="row\d+"', path.read_text())[1:]
    return [int(row) for row, part in zip(rows, parts, strict=True) if "<img" in part]


def test_images_below_the_folder_are_embedded_small(with_images, tmp_path, tags_of):
    red(tmp_path / "table" / "img" / "a.png", (4000, 2000))
    path = with_images(["img/a.png", str(tmp_path / "table" / "img" / "a.png"), "img/../img/a.png"])
    sources = [attributes["src"] for tag, attributes in tags_of(path) if tag == "img"]
    assert len(sources) == 3
    assert all(
        source.startswith("data:image/jpeg;base64,") and len(source) < 5000 for source in sources
    )
    assert "; img-src data:" in path.read_text()


def test_nothing_outside_the_folder_is_embedded(with_images, tmp_path):
    red(tmp_path / "secret.png")
    red(tmp_path / "table" / "inside.png")
    red(tmp_path / "tablecloth" / "near.png")
    os.symlink(tmp_path / "secret.png", tmp_path / "table" / "link.png")
    os.symlink(tmp_path, tmp_path / "table" / "up")
    os.symlink(tmp_path / "table" / "inside.png", tmp_path / "table" / "harmless.png")
    names = [
        "../secret.png",
        str(tmp_path / "secret.png"),
        "link.png",
        "up/secret.png",
        "../tablecloth/near.png",
        (tmp_path / "table" / "inside.png").as_uri(),
        "https://example.org/a.png",
        "//example.org/a.png",
        "data:image/png;base64,AAAA",
        "a\0b.png",
        "x" * 5000,
        ".",
        "",
        "inside.png",
        "harmless.png",
    ]
    path = with_images(names)
    assert images_by_row(path) == [13, 14]
    assert "12 images are not shown" in text_of(path)
    assert "example.org" not in path.read_text()


def test_a_path_that_leads_out_is_not_even_asked_for(tmp_path, monkeypatch):
    """On some systems, asking for a path of another machine already sends it a password."""
    images = Images(tmp_path, 1000)
    monkeypatch.setattr(Path, "resolve", lambda path: pytest.fail(f"asked for {path}"))
    assert [
        images.embed(name, 10) for name in ("../a.png", "/etc/passwd", "//example.org/a.png")
    ] == [None] * 3


def test_files_that_are_no_images_are_not_embedded(with_images, tmp_path):
    red(tmp_path / "table" / "whole.png")
    (tmp_path / "table" / "cut.png").write_bytes(
        (tmp_path / "table" / "whole.png").read_bytes()[:60]
    )
    (tmp_path / "table" / "page.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'
    )
    (tmp_path / "table" / "program.eps").write_text(
        "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n"
    )
    os.mkfifo(tmp_path / "table" / "pipe.png")
    assert images_by_row(
        with_images(["cut.png", "page.svg", "program.eps", "pipe.png", "absent.png", "whole.png"])
    ) == [5]


def test_images_too_large_and_too_many_are_left_out(with_images, tmp_path, monkeypatch):
    red(tmp_path / "table" / "a.png")
    monkeypatch.setattr(page_rows, "ROOM", 2000)
    assert 0 < len(images_by_row(with_images(["a.png"] * 10))) < 10
    monkeypatch.setattr("surelabel.tables.images.LARGEST_FILE", 10)
    assert images_by_row(with_images(["a.png"] * 10)) == []


def test_an_image_is_upright_and_its_metadata_is_gone(with_images, tmp_path, tags_of):
    image = Image.new("RGB", (300, 100), "blue")
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "taken at a secret place"  # turned by a quarter; description
    (tmp_path / "table").mkdir()
    image.save(tmp_path / "table" / "a.jpg", exif=exif)
    ((_, attributes),) = (tag for tag in tags_of(with_images(["a.jpg"])) if tag[0] == "img")
    data = base64.b64decode(attributes["src"].split(",")[1])
    shown = Image.open(io.BytesIO(data))
    assert shown.height > shown.width
    assert b"secret" not in data


# ---------------------------------------------------------------- in the browser


def column(page, place):
    return page.locator(f"#rows tbody tr:visible td:nth-child({place})")


def test_sorts(write, visit):
    page = visit(write())
    places = column(page, 1).all_inner_texts()
    heading = page.locator("#rows th").nth(2)
    for way, reverse in (("ascending", False), ("descending", True)):
        heading.get_by_role("button").click()
        assert heading.get_attribute("aria-sort") == way
        shares = [float(text.split()[-2]) for text in column(page, 3).all_inner_texts()]
        assert shares == sorted(shares, reverse=reverse)
    assert column(page, 1).all_inner_texts() != places
    page.locator("#rows th [role=button]").first.press("Enter")
    assert column(page, 1).all_inner_texts() == places


def test_filters(write, visit, cleaned_table):
    cleaned = cleaned_table()
    labels = cleaned.labels
    look = np.flatnonzero(cleaned.status == "look")
    page = visit(write("text"))
    rows, count = page.locator("#rows tbody tr:visible"), page.locator("#filters output")
    assert rows.count() == 20
    page.locator("#more").click()
    assert not page.locator("#more").is_visible()
    assert rows.count() == len(look)

    page.locator("input[name=words]").fill(f"TEXT of row {look[3]}")
    assert f"row{look[3]}" in [row.get_attribute("id") for row in rows.all()]
    assert 0 < rows.count() < len(look)
    assert count.inner_text() == f"{rows.count()} of {len(look)}"
    page.locator("input[name=words]").fill("")

    page.locator("select[name=label]").select_option("cow")
    cow = int(np.flatnonzero(cleaned.classes == "cow")[0])
    assert 0 < rows.count() == labels.candidates[look].to_indicator()[:, cow].sum() < len(look)
    page.locator("select[name=label]").select_option("any")
    page.locator("select[name=reason]").select_option("label missing")
    assert rows.count() == np.sum(cleaned.outside[look] > 0)
    page.locator("select[name=reason]").select_option("any reason")
    assert rows.count() == len(look)


def test_rows_come_some_at_a_time_and_a_link_shows_its_row(write, visit, cleaned_table):
    look = np.flatnonzero(cleaned_table().status == "look")
    page = visit(write())
    hidden = page.locator("#rows tbody tr:not(:visible)").first.get_attribute("id")
    assert len(look) > 20
    page.evaluate(f"location.hash = '{hidden}'")
    page.locator(f"#{hidden}").wait_for(state="visible")


def test_all_annotators_are_listed_and_columns_beside_a_text_are_folded(write, visit):
    page = visit(write("text", m=700, annotators=30))
    assert page.locator("#annotators tbody tr").count() == 30
    folded = page.locator("#rows details").first
    assert folded.get_attribute("open") is None


def test_shows_every_figure(write, visit):
    page = visit(write())
    boxes = [svg.bounding_box() for svg in page.locator("figure svg").all()]
    assert len(boxes) == 5
    assert all(box["width"] > 250 and box["height"] > 100 for box in boxes)
    assert all(svg.get_attribute("aria-label") for svg in page.locator("figure svg").all())


def test_a_ring_on_the_map_leads_to_its_row(write, visit):
    page = visit(write())
    ring = page.locator("#map figure a").last
    target = ring.get_attribute("xlink:href")
    ring.locator("use").click()
    assert page.evaluate("location.hash") == target
    assert page.locator(target).evaluate("row => row.matches(':target')")


def test_hostile_names_do_no_harm(hostile, visit):
    page = visit(hostile)
    assert page.locator("h1").inner_text() == HOSTILE
    assert HOSTILE in page.locator("#rows").inner_text()
    page.locator("select[name=label]").select_option(HOSTILE)
    assert page.locator("#rows tbody tr:visible").count() > 0
    page.locator("input[name=words]").fill(HOSTILE)
    assert page.locator("#rows tbody tr:visible").count() > 0
    assert page.evaluate("window.harmed") is None


def test_images_are_shown(with_images, tmp_path, visit):
    red(tmp_path / "table" / "a.png")
    page = visit(with_images(["a.png", "a.png"]))
    assert [
        image.evaluate("image => image.naturalWidth") for image in page.locator("img").all()
    ] == [160, 160]


def test_a_phone_need_not_scroll_sideways(write, visit):
    page = visit(
        write("text", classes=tuple(f"a rather long name of a class {i}" for i in range(12)))
    )
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_phone_shows_whole_tables_and_few_rows_at_first(write, browser):
    context = browser.new_context(viewport={"width": 390, "height": 740})
    page = context.new_page()
    page.goto(write(m=700, annotators=30).as_uri())
    assert page.locator("#rows tbody tr:visible").count() == 10
    assert page.evaluate("document.documentElement.scrollHeight") < 15_000
    cells = page.locator("#annotators .scroll tr > *")
    assert cells.count() > 20
    edges = "cells => Math.max(...cells.map(cell => cell.getBoundingClientRect().right))"
    assert cells.evaluate_all(edges) <= 390  # no number is cut
    context.close()


@pytest.fixture(scope="module")
def long_names(cleaned_table, tmp_path_factory):
    """A page with annotators whose long names differ only at the end."""
    cleaned = cleaned_table(annotators=5)
    people = [
        replace(person, name=f"annotator_of_the_second_team_number_{i}", remark="always says cow")
        for i, person in enumerate(cleaned.annotators)
    ]
    path = tmp_path_factory.mktemp("page") / "page.html"
    return replace(cleaned, annotators=people).report(path)


@pytest.mark.parametrize("width", [390, 1280])
def test_annotators_of_long_names_are_told_apart_and_no_remark_is_cut(long_names, visit, width):
    page = visit(long_names)
    page.set_viewport_size({"width": width, "height": 740})
    names = page.locator("#annotators td:first-child").all_text_contents()
    assert len({name for name in names if name.startswith("annotator_of_the")}) == 5
    table = page.locator("#annotators .scroll")
    assert table.evaluate("table => table.scrollWidth - table.clientWidth") <= 0
    assert "always says cow" in table.inner_text()


def test_names_in_figures_are_different_if_they_can_be():
    same = "the same long beginning of all names, "
    names = class_names(np.array([same + "cat", same + "cow", "cat"], object))
    assert len(set(names)) == 3
    assert max(map(len, names)) <= 24


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_dark(write, visit, contrast, scheme):
    page = visit(write("text"), color_scheme=scheme)
    for selector in (
        "h1",
        ".headline a",
        ".facts li",
        ".caption",
        "#rows td b",
        "#rows small",
        ".word",
        "figure svg text",
        "dt",
    ):
        ratio, paper = contrast(page, selector)
        assert ratio > 4.5, selector  # WCAG AA
        assert (paper < 0.1) == (scheme == "dark")


def test_prints_all_rows_without_controls(write, visit):
    check_print(visit(write(m=2000)))


def test_works_without_script(write, browser):
    check_without_script(browser, write(), "#rows tbody tr", 11)
