"""Sentences that restorable embeddings learn from, and those they are measured on: dialogues, and Wikipedia.

A dialogue, or an article, is either learnt from or held out as a whole; its name decides.
"""

import csv
import json
import random
import re
import zipfile
import zlib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Literal, TypeAlias

from models.errors import InvalidInput
from research.evaluation.wikipedia import read_articles
from research.training.sources import lines, members, sentences

Split: TypeAlias = Literal["train", "dev", "test"]
Passage: TypeAlias = list[str]  # its sentences

_SHARE = 20
_SHORTEST = 2  # words of a sentence


def split_of(name: str) -> Split:
    """One of twenty dialogues or articles is for choosing, one for the figures.

    >>> split_of("sgd/2_00000")
    'train'
    """
    rest = zlib.crc32(name.encode()) % _SHARE
    return "test" if rest == 0 else "dev" if rest == 1 else "train"


def read_passages(data: Path, source: str, split: Split) -> Iterator[Passage]:
    """The passages of a source that belong to a split: turns of dialogues, or paragraphs of articles."""
    for name, text in SOURCES[source](data):
        if split_of(name) == split and (found := [one for one in sentences(text) if _is_sentence(one)]):
            yield found


def read_whole(data: Path, source: str, split: Split) -> Iterator[Passage]:
    """Whole dialogues, or articles: what runs of several sentences are taken from."""
    for name, turns in groupby(SOURCES[source](data), key=itemgetter(0)):
        if split_of(name) == split:
            yield [one for _, text in turns for one in sentences(text) if _is_sentence(one)]


def read_material(data: Path, articles: int, seed: int = 13) -> list[Passage]:
    """Read the passages to learn from: all dialogues, and the paragraphs that hold so many sentences of Wikipedia."""
    dialogues = [passage for source in DIALOGUES for passage in read_passages(data, source, "train")]
    prose = list(_limited(read_passages(data, "wikipedia", "train"), articles))
    material = dialogues + prose
    random.Random(f"restorable/{seed}").shuffle(material)  # noqa: S311  sampling, not secrets
    return material


def learned_texts(passages: Sequence[Passage]) -> list[str]:
    """Every sentence, and of every fourth passage all sentences together: texts of more than one vector."""
    alone = [sentence for passage in passages for sentence in passage]
    return alone + [" ".join(passage) for passage in passages[::4] if len(passage) > 1]


def runs(passages: Iterable[Passage], length: int, seen: Container[str] = ()) -> Iterator[str]:
    """Runs of so many neighbouring sentences, as texts; none overlap, and none has a sentence of a pattern ``seen``.

    >>> list(runs([["A b.", "C d.", "E f."], ["G h."]], 2))
    ['A b. C d.']
    """
    for passage in passages:
        for start in range(0, len(passage) - length + 1, length):
            run = passage[start : start + length]
            if not any(pattern(sentence) in seen for sentence in run):
                yield " ".join(run)


def pattern(sentence: str) -> str:
    """A sentence without case and punctuation, and with marks for its numbers and for its names, as capitals tell them.

    >>> pattern("There are 3 trains to Oslo.") == pattern("there are 12 trains, to Rome")
    True
    """
    first, *others = re.findall(r"\w+", sentence) or [""]
    words = [first.lower(), *("NAME" if word[0].isupper() and word != "I" else word.lower() for word in others)]
    return " ".join("NUMBER" if any(sign.isdigit() for sign in word) else word for word in words)


def held_out_texts(data: Path, source: str, split: Split, length: int, most: int, *, unseen: bool = False) -> list[str]:
    """Different held-out runs of so many sentences. ``unseen`` leaves out those with a :func:`pattern` that is learnt.

    Raises ``InvalidInput`` for an unknown source.
    """
    if source not in SOURCES:
        raise InvalidInput(f"There is no source {source!r}.", hint=f"They are: {', '.join(SOURCES)}.", field="source")
    learnt = (one for passage in read_passages(data, source, "train") for one in passage) if unseen else ()
    return distinct(runs(read_whole(data, source, split), length, set(map(pattern, learnt))), most)


def distinct(texts: Iterable[str], most: int) -> list[str]:
    """The first so many different texts; no more are read."""
    seen: set[str] = set()
    fresh = (text for text in texts if text not in seen and not seen.add(text))  # type: ignore[func-returns-value]
    return list(islice(fresh, most))


def _limited(passages: Iterable[Passage], most: int) -> Iterator[Passage]:
    for passage in passages if most > 0 else ():  # reads nothing where nothing is wanted
        yield passage
        most -= len(passage)
        if most <= 0:
            return


def _is_sentence(text: str) -> bool:
    return len(text.split()) >= _SHORTEST


def _sgd(data: Path) -> Iterator[tuple[str, str]]:
    for text in members(data / "sgd/dev.tar.gz", ".json"):
        # Beside the dialogues lies a list of services, which have no turns.
        for dialogue in json.loads(text):
            for turn in dialogue.get("turns", ()):
                yield f"sgd/{dialogue['dialogue_id']}", turn["utterance"]


def _multiwoz(data: Path) -> Iterator[tuple[str, str]]:
    with zipfile.ZipFile(data / "multiwoz/val.json.zip") as archive:
        dialogues = json.loads(archive.read("val.json"))
    for name, dialogue in dialogues.items():
        for turn in dialogue["log"]:
            yield f"multiwoz/{name}", turn["text"]


def _taskmaster(data: Path) -> Iterator[tuple[str, str]]:
    for text in members(data / "taskmaster4/TM-4-2024.data.tar.gz", ".json"):
        for dialogue in json.loads(text):
            for turn in dialogue["utterances"]:
                yield f"taskmaster/{dialogue['conversation_id']}", turn["text"]


def _multidogo(data: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((data / "multidogo/splits_annotated_at_turn_level").glob("*/train.tsv.gz")):
        for row in csv.DictReader(lines(path), delimiter="\t", quoting=csv.QUOTE_NONE):
            yield f"multidogo/{row['conversationId']}", row["utterance"] or ""


def _wikipedia(data: Path) -> Iterator[tuple[str, str]]:
    for article in read_articles(data / "enwiki-extract"):
        for section in article.sections:
            for paragraph in section.paragraphs:
                yield f"wikipedia/{article.title}", paragraph


DIALOGUES: Sequence[str] = ("sgd", "multiwoz", "taskmaster", "multidogo")
SOURCES: dict[str, Callable[[Path], Iterator[tuple[str, str]]]] = {
    "sgd": _sgd,
    "multiwoz": _multiwoz,
    "taskmaster": _taskmaster,
    "multidogo": _multidogo,
    "wikipedia": _wikipedia,
}
