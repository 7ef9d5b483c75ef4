"""Cues joined to turns: what one speaker says without a break is one part, whatever cues it was cut into.

A part knows the times of its words by ``cues``: the character of the part at which each cue begins, its start and its
end. Captions that roll, in which each cue repeats what the one before has shown, are read once.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from indexer.sources.cue_text import Run
from indexer.sources.cues import Cue
from models.types import JsonValue, Part

# Seconds of silence that end a turn of no named speaker: after a sentence, and in any case.
_PAUSE: Final = 1.0
_LONG_PAUSE: Final = 5.0
_ENDS: Final = tuple(".!?\u2026\u3002\uff01\uff1f\u061f\u0964")
_CLOSING: Final = "\"')]}\u201d\u2019\u00bb\u266a "
# Lines of a cue that are compared with the lines of the cue before.
_LINES: Final = 40
# The share of cues that repeat lines in a file whose captions roll.
_ROLLING: Final = 0.5


@dataclass(slots=True)
class _Turn:
    """A part while its cues come in."""

    speaker: str | None
    start: float
    end: float
    pieces: list[str] = field(default_factory=list)
    cues: list[list[JsonValue]] = field(default_factory=list)
    length: int = 0

    def add(self, text: str, cue: Cue) -> None:
        """Add the text of a cue on a line of its own."""
        self.cues.append([self.length, cue.start, cue.end])
        self.pieces.append(text)
        self.length += len(text) + 1
        self.start, self.end = min(self.start, cue.start), max(self.end, cue.end)

    def goes_on(self, run: Run, cue: Cue, *, is_same_cue: bool) -> bool:
        """True if a run is of the same turn; one without a speaker is of a named one only if it ends its sentence."""
        if run.speaker is not None or is_same_cue:
            return run.speaker == self.speaker and (run.speaker is not None or not run.begins)
        if run.begins:
            return False
        pause, is_open = cue.start - self.end, not _ends_sentence(self.pieces[-1])
        return pause < _LONG_PAUSE if is_open else pause < _PAUSE and self.speaker is None

    def part(self) -> Part:
        """The part."""
        metadata: dict[str, JsonValue] = {"start": self.start, "end": self.end}
        if self.speaker is not None:
            metadata["speaker"] = self.speaker
        if len(self.cues) > 1:
            metadata["cues"] = list(self.cues)
        return Part("\n".join(self.pieces), metadata)


def turns(cues: Sequence[Cue], runs: Sequence[Sequence[Run]]) -> list[Part]:
    """The parts of the cues of a file, from the runs of each.

    >>> cues = [Cue(1.0, 2.0), Cue(2.0, 3.0)]
    >>> (part,) = turns(cues, [[Run(None, ["I would like to cancel"])], [Run(None, ["my plan."])]])
    >>> part.text
    'I would like to cancel\\nmy plan.'
    >>> part.metadata
    {'start': 1.0, 'end': 3.0, 'cues': [[0, 1.0, 2.0], [23, 2.0, 3.0]]}
    """
    found: list[_Turn] = []
    for cue, of_cue in zip(cues, runs, strict=True):
        is_same_cue = False
        for run in of_cue:
            if not found or not found[-1].goes_on(run, cue, is_same_cue=is_same_cue):
                found.append(_Turn(run.speaker, cue.start, cue.end))
            found[-1].add("\n".join(run.lines), cue)
            is_same_cue = True
    return [turn.part() for turn in found]


def _ends_sentence(text: str) -> bool:
    return text.rstrip(_CLOSING).endswith(_ENDS)


def without_repeats(cues: Iterable[Sequence[Run]]) -> list[list[Run]]:
    """The runs of every cue without what the one before has shown, in a file whose captions roll.

    >>> shown = [["a", "b"], ["b"], ["b", "c"], ["c", "d e"], ["c", "d e f"]]
    >>> [[run.lines for run in runs] for runs in without_repeats([[Run(None, lines)] for lines in shown])]
    [[['a', 'b']], [], [['c']], [['d e']], [['f']]]
    """
    runs = [list(of_cue) for of_cue in cues]
    filled = [number for number, of_cue in enumerate(runs) if of_cue]
    texts = {number: [line for run in runs[number] for line in run.lines] for number in filled}
    shown = {after: _shown(texts[before], texts[after]) for before, after in pairwise(filled)}
    adds = any(0 < count < len("\n".join(texts[number])) for number, count in shown.items())
    if adds and sum(map(bool, shown.values())) >= _ROLLING * len(shown):
        for number, count in shown.items():
            runs[number] = [*_left(runs[number], count)]
    return runs


def _shown(before: Sequence[str], after: Sequence[str]) -> int:
    """The length of the beginning of a cue that repeats the last lines of the previous one; its last line may go on."""
    text = "\n".join(after)
    for first in range(max(len(before) - _LINES, 0), len(before)):
        old = "\n".join(before[first:])
        if text.startswith(old) and not text[len(old) : len(old) + 1].strip():
            return len(old)
    return 0


def _left(runs: Sequence[Run], shown: int) -> Iterator[Run]:
    """The runs of a cue without its first characters."""
    for run in runs:
        lines = [line[max(shown - at, 0) :].strip() for at, line in _placed(run.lines)]
        shown = max(shown - sum(len(line) + 1 for line in run.lines), 0)
        if any(lines):
            yield replace(run, lines=[line for line in lines if line])


def _placed(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Every line with the number of characters before it."""
    at = 0
    for line in lines:
        yield at, line
        at += len(line) + 1
