"""A small WordNet in the format of its database files, for tests."""

from collections.abc import Iterable
from pathlib import Path

NAMES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
TYPES = {"n": 1, "v": 2, "a": 3, "r": 4}
Synset = tuple[
    str, str, int, str, str
]  # words, part, topic, the first word of what is above it, antonyms of its first word

SYNSETS: list[Synset] = [
    ("thing", "n", 3, "", ""),
    *((words, "n", 6, "thing", "") for words in ("instrument", "container", "picture")),
    *((words, "n", 6, "instrument", "") for words in ("piano", "guitar", "drum")),
    *(
        (words, "n", 18, "thing", "")
        for words in ("buyer", "seller", "agent", "driver", "user", "tenant", "landlord", "customer")
    ),
    *(
        (words, "n", 10, "thing", "")
        for words in ("order subscription", "invoice", "error", "file", "page", "password", "film")
    ),
    *(
        (words, "n", 14, "thing", "")
        for words in ("company firm", "door", "house", "book", "flight", "price", "door", "goods")
    ),
    ("physician doctor", "n", 18, "thing", ""),
    *(
        (words, "v", 30, "", "")
        for words in ("cancel", "buy purchase", "open", "close", "call", "pay", "increase", "book")
    ),
    *(
        (words, "v", 30, "", "")
        for words in ("visit", "need require", "refund", "like", "receive", "write", "delete", "want")
    ),
    ("succeed", "v", 30, "", "fail"),
    ("fail", "v", 30, "", "succeed"),
    ("accept", "v", 30, "", "reject"),
    ("reject", "v", 30, "", "accept"),
    ("popular", "a", 0, "", "unpopular"),
    ("unpopular", "a", 0, "", "popular"),
    *(
        (words, "a", 0, "", "")
        for words in ("cheap inexpensive", "expensive", "big large", "late", "early", "empty", "full", "old")
    ),
    *((words, "r", 2, "", "") for words in ("quickly rapidly", "slowly")),
]


def write_wordnet(folder: Path, synsets: Iterable[Synset] = SYNSETS) -> Path:
    """Write the files that the reader asks for; every word counts nine times in its one sense."""
    every = [(f"{10 + n:08}", *synset) for n, synset in enumerate(synsets)]
    first = {(part, words.split()[0]): offset for offset, words, part, *_ in every}
    for part, name in NAMES.items():
        lines = ["  1 This line is of the licence.\n"]
        for offset, words, kind, topic, above, antonym in every:
            if kind == part:
                pointers = [f"@ {first[part, above]} {part} 0000"] if above else []
                pointers += [f"! {first[part, antonym]} {part} 0101"] if antonym else []
                names = " ".join(f"{word} 0" for word in words.split())
                counted = f"{len(words.split()):02x} {names} {len(pointers):03} {' '.join(pointers)}"
                lines.append(f"{offset} {topic:02} {part} {counted} | a gloss\n")
        (folder / f"data.{name}").write_text("".join(lines))
    senses = [
        f"{word}%{TYPES[part]}:00:00:: {offset} 1 9" for offset, words, part, *_ in every for word in words.split()
    ]
    (folder / "index.sense").write_text("\n".join(senses) + "\n")
    return folder
