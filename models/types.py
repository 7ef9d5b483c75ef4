"""Types shared by all packages, and the axis names of array shapes.

Axis names: ``units``, ``tokens``, ``spans``, ``queries``, ``lengths`` (span lengths, shortest first),
``blocks``, ``dim``. Arrays on disk and in memory nest them in this order. A leading underscore, as in ``_tokens``,
means that the arrays of one list differ in this axis.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float32, Int

# Not recursive: annotations are checked at run time in tests, and nested values are checked on input.
JsonValue: TypeAlias = bool | int | float | str | list[Any] | dict[str, Any] | None
Metadata: TypeAlias = Mapping[str, JsonValue]

CharSpans: TypeAlias = Int[np.ndarray, "units 2"]
UnitVectors: TypeAlias = Float32[np.ndarray, "units dim"]
QueryVectors: TypeAlias = Float32[np.ndarray, "queries dim"]


@dataclass(frozen=True, slots=True, order=True)
class CharSpan:
    """Half-open ``[start, end)`` in code points of a document's text.

    >>> CharSpan(4, 7).of("one twofold")
    'two'
    >>> len(CharSpan(4, 7))
    3
    """

    start: int
    end: int

    def of(self, text: str) -> str:
        """The text the span covers."""
        return text[self.start : self.end]

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True, order=True)
class UnitSpan:
    """Half-open ``[start, end)`` in units of one document."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Part:
    """A run of text that no span crosses: a turn, a clause, a field, or the whole text."""

    text: str
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """A text with an id and metadata, all given by the caller.

    >>> Document("c1", (Part("Hello."), Part("How are you?"))).text
    'Hello.\\nHow are you?'
    """

    id: str
    parts: tuple[Part, ...]
    metadata: Metadata = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        """The parts joined by a newline; all character offsets refer to it."""
        return "\n".join(part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class SpanBounds:
    """Bounds of the number of units of a span: ``shortest..longest``, both included.

    >>> list(SpanBounds(2, 4).lengths)
    [2, 3, 4]
    """

    shortest: int = 1
    longest: int = 20

    def __post_init__(self) -> None:
        if not 1 <= self.shortest <= self.longest <= 64:
            raise ValueError(f"span bounds must satisfy 1 <= shortest <= longest <= 64, not {self}")

    @property
    def lengths(self) -> range:
        """Every length a span may have, shortest first."""
        return range(self.shortest, self.longest + 1)
