"""The training data of a verifier: contrast lines, texts of other lines, pairs of public sets, changed sentences.

Every example is a pair with the verdict that is right, or, where a set does not tell what differs from what is
unrelated, with the probability of a match alone.
"""

import gzip
import json
import math
import random
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from models.types import CharSpan
from models.verifier.types import Difference, Pair, Verdict
from research.training.contrast_data import ContrastLine
from research.training.sources import read_graded_pairs

# The probability of a match for a grade of STS-B, from 0 to 5: from "roughly equivalent" to "mostly" it rises.
_GRADES: Final = (0.005, 0.02, 0.06, 0.2, 0.65, 0.97)
# The probability of a match for two texts that say the same phrase.
_NEARLY: Final = 0.8
_TURNED_WRONG: Final = 0.4  # of the lines, a text that does not say the phrase becomes one
_OF_CATEGORY: Final[Mapping[str, Difference]] = {
    **dict.fromkeys(("cardinals", "ordinals"), "number"),
    **dict.fromkeys(("antonyms", "antonyms_wordnet"), "antonym"),
    **dict.fromkeys(
        (
            "colors",
            "nationalities",
            "countries",
            "drinks",
            "vegetables",
            "instruments",
            "rooms",
            "materials",
            "planets",
        ),
        "object",
    ),
}
_OF_A_CATEGORY: Final = 250
_WORD: Final = re.compile(r"[a-z']{4,}")
_COMMON: Final = 1_500  # a word of more texts than this finds none
_AMONG: Final = 40  # texts of other lines are drawn from so many that share the most
_MOST_SHARED: Final = 0.75  # of the phrase's words, by rarity: a text with more may say it
_ANY_SHARE: Final = 0.35
_MINED: Final = 0.7
_JOINTS: Final = (". ", ", and ", "; ", ", but ", " and ", ", ", " - ", ", so ")


@dataclass(frozen=True, slots=True)
class Example:
    """A pair, the probability of a match, and the verdict and difference where these are known."""

    pair: Pair
    match: float
    verdict: Verdict | None = None
    differs: Difference | None = None


def examples_of(line: ContrastLine, marks: Sequence[CharSpan | None]) -> list[Example]:
    """The four texts of a line, in the order of its columns: two that say the phrase, two that do not."""
    told: Verdict = "unrelated" if line.kind == "topic" else "differs"
    return [
        Example(Pair(line.phrase, text, mark), float(says), "match" if says else told, None if says else line.kind)
        for (text, says), mark in zip(line.pairs, marks, strict=True)
    ]


def turned(line: ContrastLine, rng: random.Random) -> list[Example]:
    """A text of a line as the phrase, and what other texts of it say of that.

    What says the phrase says it in most, and more besides; a text that does not say the phrase differs from both that
    do. Whether the two that do not say the same is not known.
    """
    (phrase, other), wrong = rng.sample([line.same, line.same_close], 2), [line.differs, line.differs_far]
    told: Verdict = "unrelated" if line.kind == "topic" else "differs"
    said = [Example(Pair(phrase, other), _NEARLY)]
    if rng.random() < _TURNED_WRONG:
        said, phrase, wrong = [], rng.choice(wrong), [phrase, other]
    return [*said, *(Example(Pair(phrase, text), 0.0, told, line.kind) for text in wrong)]


class OtherTexts:
    """Texts of other lines, as unrelated to a phrase: some that share its words, and some that need not.

    Without the first, a network would learn that what shares words is a match. ``mined`` are wrong hits of searches, by
    the ids of lines; they may be near what the phrase says, so that their verdict is left open.
    """

    def __init__(self, lines: Sequence[ContrastLine], mined: Mapping[str, Sequence[Pair]]) -> None:
        self._lines, self._mined = lines, mined
        self._texts = [(number, text) for number, line in enumerate(lines) for text, _ in line.pairs]
        self._holding: dict[str, list[int]] = defaultdict(list)
        for at, (_, text) in enumerate(self._texts):
            for word in _words(text):
                self._holding[word].append(at)

    def draw(self, number: int, rng: random.Random) -> Example:
        """A text of another line than this, for its phrase."""
        hits = self._mined.get(self._lines[number].id)
        if hits and rng.random() < _MINED:
            return Example(rng.choice(hits), 0.0)
        phrase = self._lines[number].phrase
        sharing = [] if rng.random() < _ANY_SHARE else self._sharing(number, phrase)
        at = rng.choice(sharing) if sharing else rng.randrange(len(self._texts))
        if self._texts[at][0] == number:
            return self.draw(number, rng)
        return Example(Pair(phrase, self._texts[at][1]), 0.0, "unrelated")

    def within(self, example: Example, rng: random.Random) -> Example:
        """The same within a longer sentence: sentences of documents say more than one thing.

        Other lines' texts stand before or after it, or both; the mark, if there is one, stays on what it marks.
        """
        pair, others = example.pair, [rng.choice(self._texts)[1] for _ in range(rng.choice((1, 1, 2)))]
        after = others.pop() if len(others) == 2 or rng.random() < 0.5 else ""
        before = others.pop() if others else ""
        text = pair.text
        if after:
            text = text.rstrip(".!?") + (joined := rng.choice(_JOINTS)) + _going_on(after, joined)
        start = 0
        if before:
            head = before.rstrip(".!?") + (joined := rng.choice(_JOINTS))
            text, start = head + _going_on(text, joined), len(head)
        mark = None if pair.mark is None else CharSpan(pair.mark.start + start, pair.mark.end + start)
        return replace(example, pair=Pair(pair.phrase, text, mark, pair.similarity))

    def _sharing(self, number: int, phrase: str) -> list[int]:
        rarity = {
            word: math.log(len(self._texts) / len(self._holding[word]))
            for word in _words(phrase) & self._holding.keys()
        }
        shared: Counter[int] = Counter()
        for word, weight in sorted(rarity.items()):
            if len(self._holding[word]) <= _COMMON:
                for at in self._holding[word]:
                    shared[at] += weight  # type: ignore[assignment]  # a counter of weights
        most = _MOST_SHARED * sum(rarity.values())
        return [at for at, share in shared.most_common(_AMONG) if share < most and self._texts[at][0] != number]


def _going_on(text: str, joint: str) -> str:
    """A text as it goes on after a joint: in lower case within a sentence, but for `I` and names of more capitals."""
    begins = text[:1].isupper() and not (text[1:2].isupper() or text.startswith(("I ", "I'")))
    return text if joint.endswith(". ") or not begins else text[0].lower() + text[1:]


def read_public(data: Path, excluded: Sequence[str], seed: int) -> list[Example]:
    """Pairs of Breaking NLI, MoNLI, SNLI and the training split of STS-B: the second sentence is the phrase."""
    rng = random.Random(seed)  # noqa: S311  sampling, not secrets
    inferred = [
        *_breaking_nli(data / "contrast-nli/breaking_nli_dataset.zip", rng),
        *(row for name in ("nmonli_train", "pmonli") for row in _rows(data / f"contrast-nli/monli-{name}.jsonl.gz")),
        *_rows(data / "snli/snli_1.0_dev.jsonl.gz"),
    ]
    examples = [example for row in inferred if (example := _inferred(row)) is not None]
    for graded in read_graded_pairs(data, excluded):
        match = float(np.interp(5 * graded.score, range(6), _GRADES))
        both = (graded.query, graded.paraphrase)
        examples += [Example(Pair(*both), match), Example(Pair(*both[::-1]), match)]
    return examples


def read_graded(data: Path, excluded: Sequence[str]) -> list[Example]:
    """Pairs of the training split of STS-B in both directions; a match is the grade, from 0 to 1."""
    return [
        Example(Pair(*both), graded.score)
        for graded in read_graded_pairs(data, excluded)
        for both in ((graded.query, graded.paraphrase), (graded.paraphrase, graded.query))
    ]


def read_changed(path: Path) -> Iterator[Example]:
    """Rows of ``research.training.minimal_changes``: a phrase, a text, a label, and the kind of what was changed."""
    for row in _rows(path):
        verdict: Verdict = row["label"]
        differs = row["kind"] if verdict == "differs" else None
        yield Example(Pair(row["phrase"], row["text"]), float(verdict == "match"), verdict, differs)


def _inferred(row: Mapping[str, Any]) -> Example | None:
    """A pair of natural language inference: what is entailed is said; None without a label."""
    label, differs = row["gold_label"], _OF_CATEGORY.get(row.get("category", ""))
    pair = Pair(row["sentence2"], row["sentence1"])
    if label == "entailment":
        return Example(pair, 1.0, "match")
    if label == "contradiction" and "category" in row:
        return Example(pair, 0.0, "differs", differs)
    return Example(pair, 0.0) if label in ("contradiction", "neutral") else None


def _breaking_nli(path: Path, rng: random.Random) -> list[dict[str, Any]]:
    """Rows of Breaking NLI, of which some categories have thousands: at most so many contradictions of each."""
    with zipfile.ZipFile(path) as archive:
        rows = [json.loads(line) for line in archive.read("data/dataset.jsonl").decode().splitlines()]
    rng.shuffle(rows)
    seen: Counter[str] = Counter()
    kept = []
    for row in rows:
        seen[row["category"]] += row["gold_label"] == "contradiction"
        if row["gold_label"] != "contradiction" or seen[row["category"]] <= _OF_A_CATEGORY:
            kept.append(row)
    return kept


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    for line in data.splitlines():
        yield json.loads(line)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
