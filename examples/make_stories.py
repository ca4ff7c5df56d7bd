"""Make the files of the three stories in docs/stories: ``python examples/make_stories.py FOLDER
[STORY]``.

Nothing is downloaded, and the files are the same every time: people, birds and messages are made up
here. The truth goes into separate files, which only ``examples/check_story.py`` reads.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

Row = dict[str, Any]

# -------------------------------------------------------------------- captions and faces

#: Width and height of a picture.
SIDE = 64
#: skin, hair, hair style, width and height of the head, distance of the eyes, length of the nose,
#: glasses, beard
CAST: dict[str, tuple[Any, ...]] = {
    "Ada": ((236, 200, 175), (70, 45, 30), "long", 0.27, 0.36, 0.110, 0.10, False, False),
    "Bruno": ((222, 180, 150), (60, 40, 30), "short", 0.30, 0.35, 0.120, 0.13, False, True),
    "Celia": ((150, 105, 80), (25, 20, 20), "curly", 0.28, 0.34, 0.115, 0.10, False, False),
    "Dario": ((150, 110, 80), (30, 25, 25), "short", 0.27, 0.37, 0.105, 0.13, True, False),
    "Elsa": ((240, 210, 190), (225, 195, 120), "long", 0.26, 0.36, 0.105, 0.09, True, False),
    "Felix": ((235, 195, 170), (190, 95, 40), "curly", 0.28, 0.36, 0.115, 0.11, False, False),
    "Greta": ((238, 208, 188), (215, 185, 115), "short", 0.27, 0.34, 0.110, 0.09, False, False),
    "Hugo": ((228, 188, 160), (200, 200, 200), "bald", 0.29, 0.36, 0.120, 0.14, True, True),
    "Ines": ((205, 160, 125), (40, 28, 22), "long", 0.27, 0.35, 0.115, 0.10, False, False),
    "Jonas": ((205, 162, 128), (45, 30, 25), "short", 0.29, 0.36, 0.115, 0.12, False, True),
}
#: These are mostly seen together, so that their captions alone rarely tell them apart.
FRIENDS = (
    ("Ada", "Bruno"),
    ("Celia", "Dario"),
    ("Elsa", "Greta"),
    ("Felix", "Hugo"),
    ("Ines", "Jonas"),
)


def captions(folder: Path, rng: np.random.Generator) -> None:
    """Faces cut from photos, each with all the names in the photo's caption."""
    faces: list[Row] = []
    for photo in range(1, 351):
        named = _people(rng)
        shown = [name for name in named if rng.random() < 0.85] or named[:1]
        if rng.random() < 0.06:  # the caption forgets somebody
            shown.append(str(rng.choice([name for name in CAST if name not in named])))
        for name in shown:
            faces.append({"photo": photo, "caption": "|".join(sorted(named)), "truth": name})
    (folder / "faces").mkdir(exist_ok=True)
    for number, face in enumerate(faces[:720], 1):
        picture = draw_face(face["truth"], rng)
        face |= {
            "face": f"f{number:04}",
            "image": f"faces/f{number:04}.png",
            "vector": embed(picture),
        }
        Image.fromarray(picture).save(folder / face["image"])
    old, new = faces[:600], faces[600:720]
    columns = ("face", "photo", "image", "caption", "vector")
    pq.write_table(
        pa.Table.from_pylist([{name: row[name] for name in columns} for row in old]),
        folder / "faces.parquet",
    )
    pq.write_table(
        pa.Table.from_pylist(
            [{name: row[name] for name in columns if name != "caption"} for row in new]
        ),
        folder / "new_faces.parquet",
    )
    write_csv(
        folder / "truth.csv", ({"face": row["face"], "truth": row["truth"]} for row in old + new)
    )


def _people(rng: np.random.Generator) -> list[str]:
    """Who is named in a caption: a pair of friends, or one of them, perhaps with others."""
    pair = list(FRIENDS[rng.integers(len(FRIENDS))])
    named = pair if rng.random() < 0.75 else [str(rng.choice(pair))]
    others = [name for name in CAST if name not in pair]
    return (
        named
        + rng.choice(others, rng.choice([0, 1, 2], p=[0.35, 0.4, 0.25]), replace=False).tolist()
    )


def draw_face(name: str, rng: np.random.Generator) -> np.ndarray:
    """A picture of a person: each time turned, lit and framed differently, and sometimes badly."""
    skin, hair, style, width, height, eyes, nose, glasses, beard = CAST[name]
    bad = rng.random() < 0.12
    place = (
        np.mgrid[0:SIDE, 0:SIDE][::-1] / SIDE
        - 0.5
        - rng.normal(0, 0.045 if bad else 0.025, 2)[:, None, None]
    )
    angle, zoom = rng.normal(0, 0.12), rng.normal(1, 0.05)
    x = (np.cos(angle) * place[0] + np.sin(angle) * place[1]) / zoom
    y = (np.cos(angle) * place[1] - np.sin(angle) * place[0]) / zoom
    turned = rng.normal(0, 0.025)  # looking left or right
    picture = np.ones((SIDE, SIDE, 3)) * rng.uniform(90, 230, 3)

    def paint(colour: Iterable[float], inside: np.ndarray) -> None:
        edge = np.clip(inside * SIDE / 3 + 0.5, 0, 1)[..., None]
        picture[:] = (1 - edge) * picture + edge * np.asarray(colour, float)

    def ellipse(a: float, b: float, w: float, h: float) -> np.ndarray:
        return (1 - np.hypot((x - a) / w, (y - b) / h)) * min(w, h)

    if style == "long":
        paint(hair, ellipse(0, 0.05, width + 0.08, height + 0.10))
    if style == "curly":
        for turn in np.linspace(-2.6, -0.5, 8):
            paint(
                hair,
                ellipse((width + 0.02) * np.cos(turn), height * np.sin(turn) * 0.9, 0.11, 0.11),
            )
    if style == "short":
        paint(hair, ellipse(0, -0.06, width + 0.03, height))
    paint(skin, ellipse(0, 0.03, width, height))
    if style != "bald":
        paint(
            hair,
            np.minimum(
                ellipse(0, 0.0, width + 0.02, height + 0.03), -0.2 + rng.normal(0, 0.01) - y
            ),
        )
    for side in (-1, 1):
        paint((250, 250, 250), ellipse(side * eyes + turned, -0.03, 0.052, 0.034))
        paint((40, 35, 50), ellipse(side * eyes + 1.6 * turned, -0.03, 0.026, 0.03))
        paint(
            0.6 * np.array(hair),
            ellipse(side * eyes + turned, -0.10 + rng.normal(0, 0.006), 0.06, 0.014),
        )
        if glasses:
            ring = ellipse(side * eyes + turned, -0.03, 0.088, 0.075)
            paint((30, 30, 40), np.minimum(ring, 0.018 - ring))
    paint(0.82 * np.array(skin), ellipse(1.4 * turned, nose - 0.02, 0.026, nose * 0.55))
    if beard:
        paint(0.9 * np.array(hair), np.minimum(ellipse(0, 0.03, width, height), y - 0.17))
    smile = rng.uniform(-0.6, 1.0)
    paint(
        (165, 60, 65),
        0.02
        - np.abs(y - 0.22 + 6 * smile * (x - turned) ** 2)
        - np.maximum(np.abs(x - turned) - 0.09, 0),
    )
    light = rng.uniform(0.35, 0.6) if bad else rng.uniform(0.75, 1.15)
    shade = 1 + rng.normal(0, 0.35) * x[..., None]
    picture = picture * light * shade * rng.normal(1, 0.05, 3) + rng.normal(
        0, 22 if bad else 8, picture.shape
    )
    return np.clip(picture, 0, 255).astype(np.uint8)


def embed(picture: np.ndarray) -> list[float]:
    """108 numbers for a picture: 6 × 6 blocks of its middle in three colours, with the light evened
    out. A face recognition network would do better.
    """
    blocks = picture[8:56, 8:56].reshape(6, 8, 6, 8, 3).mean(axis=(1, 3))
    blocks = (blocks - blocks.mean()) / (blocks.std() + 1e-9)
    return np.round(blocks, 3).ravel().tolist()


# -------------------------------------------------------------------- several annotators

#: wing (mm), weight (g), bill (mm), tail (mm): invented, and closer to each other than in nature
SPECIES = {
    "blue tit": (66.0, 10.8, 6.8, 51.0),
    "coal tit": (60.5, 9.2, 8.2, 47.0),
    "great tit": (75.0, 18.0, 9.6, 63.0),
    "marsh tit": (64.0, 10.9, 8.6, 54.5),
    "willow tit": (61.5, 10.3, 8.3, 57.0),
}
SPREAD = np.array([1.7, 0.8, 0.4, 1.8])
HABITATS = ("garden", "oak wood", "spruce wood", "wet wood")
LIVES_IN = {
    "blue tit": (0.5, 0.4, 0.05, 0.05),
    "coal tit": (0.15, 0.1, 0.7, 0.05),
    "great tit": (0.5, 0.35, 0.1, 0.05),
    "marsh tit": (0.15, 0.65, 0.05, 0.15),
    "willow tit": (0.05, 0.15, 0.2, 0.6),
}
LOOKS_LIKE = {
    "blue tit": "great tit",
    "coal tit": "marsh tit",
    "great tit": "blue tit",
    "marsh tit": "willow tit",
    "willow tit": "marsh tit",
}
#: How often each volunteer was present, and how often right; Emil ticks the first box when in a
#: hurry.
VOLUNTEERS = {
    "anna": (0.7, 0.92),
    "ben": (0.6, 0.82),
    "cleo": (0.6, 0.78),
    "dora": (0.5, 0.75),
    "emil": (0.8, 0.45),
}


def annotators(folder: Path, rng: np.random.Generator) -> None:
    """Birds, with some measurements missing, and what five volunteers said; an expert looked at
    every tenth.
    """
    birds = []
    for number in range(1, 801):
        kind = str(rng.choice(list(SPECIES), p=(0.27, 0.13, 0.25, 0.19, 0.16)))
        size = np.round(rng.normal(SPECIES[kind], SPREAD), 1)
        known = rng.random(4) > (0.04, 0.08, 0.15, 0.10)
        bird: Row = {"bird": f"b{number:04}"}
        measured = zip(("wing", "weight", "bill", "tail"), size, known, strict=True)
        bird |= {name: value if there else None for name, value, there in measured}
        bird["habitat"] = (
            str(rng.choice(HABITATS, p=LIVES_IN[kind])) if rng.random() > 0.05 else None
        )
        difficult = rng.random() < 0.3  # moulting, or seen from afar
        for name, (present, right) in VOLUNTEERS.items():
            bird[f"vote_{name}"] = (
                _vote(kind, name, right - 0.2 * difficult, rng) if rng.random() < present else None
            )
        bird |= {"expert": kind if rng.random() < 1 / 10 else None, "truth": kind}
        birds.append(bird)
    old, new = birds[:700], birds[700:]
    write_csv(
        folder / "birds.csv",
        ({name: cell for name, cell in row.items() if name != "truth"} for row in old),
    )
    features = ("bird", "wing", "weight", "bill", "tail", "habitat")
    write_csv(folder / "new_birds.csv", ({name: row[name] for name in features} for row in new))
    write_csv(folder / "truth.csv", ({"bird": row["bird"], "truth": row["truth"]} for row in birds))


def _vote(kind: str, name: str, right: float, rng: np.random.Generator) -> str:
    if rng.random() < right:
        return kind
    if name == "emil":
        return str(rng.choice(["blue tit", "coal tit", "great tit"], p=[0.7, 0.1, 0.2]))
    return (
        LOOKS_LIKE[kind]
        if rng.random() < 0.7
        else str(rng.choice([other for other in SPECIES if other != kind]))
    )


# -------------------------------------------------------------------- several language models

THINGS = (
    "kettle",
    "lamp",
    "jacket",
    "backpack",
    "headset",
    "blender",
    "printer",
    "tent",
    "camera",
    "pump",
    "rug",
    "mirror",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "yesterday")
#: Sentences by topic, the usual ones first; words in braces are filled in.
SAYS = {
    "account": (
        "I cannot log in any more, the password is refused",
        "the reset link never arrives in my inbox",
        "please change the e-mail address of my profile",
        "how do I delete my customer account",
        "my account was locked after three wrong passwords",
        "I have two profiles and want to merge them",
        "my name is misspelt in the customer area",
        "can my partner use the same login",
        "please take me off the newsletter",
        "the site says that I do not exist",
        "I never get the code on my phone",
        "who can see my old orders",
    ),
    "delivery": (
        "my parcel with the {thing} has not arrived",
        "the tracking page has not moved since {day}",
        "when will the {thing} be shipped",
        "the courier left the {thing} in the rain",
        "I was at home {day} but nobody rang the bell",
        "can you send the {thing} to my neighbour's address",
        "the parcel went to the wrong street",
        "the driver says the address does not exist",
        "I still wait for the {thing}",
        "is it on its way or not",
        "only half of my order is here",
        "can I pick the {thing} up myself",
    ),
    "payment": (
        "I was charged twice for the {thing}",
        "my card was declined {day} although there is money on it",
        "the invoice shows the wrong amount",
        "can I pay for the {thing} in instalments",
        "the voucher code was not taken off the price",
        "please send me a receipt with the tax on it",
        "why is there a fee of {number} euros on my bill",
        "the bank says that you took the money on {day}",
        "the {thing} was cheaper {day}",
        "do you take cheques",
        "I got a reminder but I have settled it",
        "the discount for the {thing} is missing",
    ),
    "product": (
        "does the {thing} also come in green",
        "how do I clean the {thing}",
        "is there a manual for the {thing}",
        "what does the {thing} weigh",
        "which batteries does the {thing} need",
        "is the {thing} waterproof",
        "will the {thing} work with my old one",
        "how long does the {thing} last on one charge",
        "where can I get a new lid for the {thing}",
        "does the address printed on the {thing} come off",
        "is the {thing} safe for children",
        "when will the {thing} be back in stock",
    ),
    "return": (
        "I want to send the {thing} back",
        "the {thing} is broken and I would like a new one",
        "where is my refund for the {thing}",
        "the {thing} is too small, can I swap it",
        "do I have to pay the postage if I return the {thing}",
        "please send me a return label",
        "the {thing} I got is not the one I ordered",
        "I changed my mind about the {thing}",
        "the {thing} does not work with my old one",
        "there is a scratch on the {thing}",
        "how long can I keep the {thing} before I decide",
        "please fetch the {thing} and give me my money",
    ),
}
#: These could be about anything: only who wrote them knows.
VAGUE = (
    "as I wrote {day}, it still does not work",
    "any news about the {thing}",
    "nobody has answered me since {day}",
    "this is the wrong {thing}",
)
#: Said in passing, whatever the topic: what models fall for.
ASIDES = {
    "account": ("I am logged in as a regular customer", "you find my address in my profile"),
    "delivery": ("the parcel came {day}", "the courier was friendly, by the way"),
    "payment": ("I paid by card {day}", "it was {number} euros"),
    "product": ("I use the {thing} every day", "it is the green {thing}"),
    "return": ("I never sent anything back before", "last year I got a refund without trouble"),
}
OPENINGS = (
    "Hello,",
    "Hi there,",
    "Dear team,",
    "Good morning,",
    "",
    "",
    "Sorry to bother you, but",
)
CLOSINGS = (
    "Thanks!",
    "Please help.",
    "Kind regards",
    "I am getting impatient.",
    "",
    "",
    "Thank you in advance",
)
ASKS = (
    "any",
    "can",
    "do",
    "does",
    "how",
    "is",
    "what",
    "when",
    "where",
    "which",
    "who",
    "why",
    "will",
)
#: How often each model is right on plain messages; how often it falls for an aside; what it says
#: when it does not know.
MODELS = {
    "model_a": (0.88, 0.35, "product"),
    "model_b": (0.82, 0.45, "delivery"),
    "model_c": (0.72, 0.40, "account"),
}


def llm_votes(folder: Path, rng: np.random.Generator) -> None:
    """Messages to a shop, and what three language models say they are about; a person read every
    twelfth.
    """
    messages = []
    for number in range(1, 801):
        topic = str(rng.choice(list(SAYS), p=(0.14, 0.28, 0.2, 0.16, 0.22)))
        aside = (
            str(rng.choice([other for other in SAYS if other != topic]))
            if rng.random() < 0.5
            else None
        )
        row: Row = {"message": f"m{number:04}", "text": _text(topic, aside, rng)}
        for model, (right, falls, habit) in MODELS.items():
            row[model] = None
            if rng.random() > 0.04:  # else the answer could not be read
                wrong = (
                    aside
                    if aside is not None and rng.random() < falls
                    else habit
                    if rng.random() > right
                    else topic
                )
                row[model] = wrong
        row |= {"checked": topic if rng.random() < 1 / 12 else None, "truth": topic}
        messages.append(row)
    old, new = messages[:700], messages[700:]
    with open(folder / "messages.jsonl", "w", encoding="utf-8") as file:
        for row in old:
            file.write(
                json.dumps({name: cell for name, cell in row.items() if name != "truth"}) + "\n"
            )
    with open(folder / "new_messages.jsonl", "w", encoding="utf-8") as file:
        file.writelines(
            json.dumps({name: row[name] for name in ("message", "text")}) + "\n" for row in new
        )
    write_csv(
        folder / "truth.csv",
        ({"message": row["message"], "truth": row["truth"]} for row in messages),
    )


def _text(topic: str, aside: str | None, rng: np.random.Generator) -> str:
    """One message: an opening, what it is about, perhaps something in passing before or after, a
    closing; with slips.
    """
    usual = 1 / np.arange(2, 2 + len(SAYS[topic]))
    sentences = [
        str(
            rng.choice(
                VAGUE if rng.random() < 0.04 else rng.choice(SAYS[topic], 1, p=usual / usual.sum())
            )
        )
    ]
    if aside is not None:
        sentences.insert(int(rng.integers(2)), str(rng.choice(ASIDES[aside])))
    filled = [
        sentence.format(thing=rng.choice(THINGS), day=rng.choice(DAYS), number=rng.integers(5, 90))
        for sentence in sentences
    ]
    ended = [f"{sentence}{'?' if sentence.split()[0] in ASKS else '.'}" for sentence in filled]
    ended[1:] = [sentence[0].upper() + sentence[1:] for sentence in ended[1:]]
    words = f"{rng.choice(OPENINGS)} {' '.join(ended)} {rng.choice(CLOSINGS)}".split()
    for place in np.flatnonzero(rng.random(len(words)) < 0.04):  # two letters change places
        word, cut = words[place], int(rng.integers(max(1, len(words[place]) - 1)))
        words[place] = word[:cut] + word[cut : cut + 2][::-1] + word[cut + 2 :]
    text = " ".join(words)
    return text[0].upper() + text[1:]


# -------------------------------------------------------------------- files

STORIES: dict[str, Callable[[Path, np.random.Generator], None]] = {
    "captions": captions,
    "annotators": annotators,
    "llm-votes": llm_votes,
}


def write_csv(path: Path, rows: Iterable[Row]) -> None:
    """Write rows; what is missing is an empty cell."""
    rows = list(rows)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def make(name: str, folder: Path) -> Path:
    """Write the files of a story into a folder of its name."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    STORIES[name](place, np.random.default_rng(0))
    return place


def main() -> None:
    """Write the stories, and print what was written."""
    parser = argparse.ArgumentParser(description="Make the files of the stories.")
    parser.add_argument("folder", type=Path, help="where to; each story gets a folder in it")
    parser.add_argument("story", nargs="*", help=f"by default all: {', '.join(STORIES)}")
    given = parser.parse_args()
    if wrong := [name for name in given.story if name not in STORIES]:
        parser.error(f"there is no story {wrong[0]!r}; choose from {', '.join(STORIES)}")
    for name in given.story or STORIES:
        place = make(name, given.folder)
        print(f"{place}: {', '.join(sorted(path.name for path in place.iterdir()))}")


if __name__ == "__main__":
    main()
