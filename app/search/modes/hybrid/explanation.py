"""The explanation of a hybrid score."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from app.answers import described, optional
from app.search.types import TextSpan

# What a hybrid score is made of: the hit's best span, the hit and the part around it, by meaning and by their words.
HybridTermName = Literal["best_span", "whole", "part", "words", "words_of_part"]


@dataclass(frozen=True, slots=True)
class HybridTerm:
    """A term of a hybrid score."""

    name: HybridTermName
    value: Annotated[float, described("From -1 to 1: a score of meaning, or `2 * share - 1` of the BM25 score.")]
    weight: Annotated[float, described("How much it counts; the weights add up to 1.")]


@dataclass(frozen=True, slots=True)
class HybridExplanation:
    """The terms of a hybrid score, which is `2 * raw - 1`: `cosine` is their weighted mean, and `exact` the rest."""

    cosine: Annotated[float, described("The weighted mean of the terms.")]
    terms: tuple[HybridTerm, ...]
    span: Annotated[TextSpan | None, optional("The best span of the hit; absent where none fits into it.")] = None
    exact: Annotated[float, described("What an occurrence of the query's own words adds, to a score of 1.")] = 0.0

    def lines(self) -> Iterator[str]:
        """The terms, and the best span of the hit."""
        weighed = "  ".join(f"{term.name.replace('_', ' ')} {term.value:+.3f}" for term in self.terms)
        yield f"{weighed}  {self.span.text}" if self.span else weighed
