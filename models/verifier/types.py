"""Pairs and judgements: what the verifier reads, and what it says."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

from models.types import CharSpan

Verdict = Literal["match", "differs", "unrelated"]
# In what a text departs from a phrase; ``topic`` is what ``unrelated`` says already.
Difference = Literal[
    "number", "antonym", "negation", "object", "action", "role", "modality", "condition", "scope", "topic"
]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
DIFFERENCES: Final[tuple[Difference, ...]] = get_args(Difference)
OUTPUTS: Final = len(VERDICTS) + len(DIFFERENCES)
# A match is likely from this probability on.
LIKELY: Final = 0.5


@dataclass(frozen=True, slots=True)
class Pair:
    """A phrase, a text, the characters of the text that a search has found, and how similar (raw) they are."""

    phrase: str
    text: str
    mark: CharSpan | None = None
    similarity: float = 0.5

    @property
    def marked(self) -> tuple[int, int]:
        """The code points of what is marked, or of the whole text."""
        return (self.mark.start, self.mark.end) if self.mark else (0, len(self.text))


@dataclass(frozen=True, slots=True)
class Judgement:
    """The calibrated probability that a text says a phrase, the verdict, and in what it differs."""

    probability: float
    verdict: Verdict
    differs: tuple[Difference, ...] = ()

    @property
    def is_likely(self) -> bool:
        """True if a match is more probable than not."""
        return self.probability >= LIKELY
