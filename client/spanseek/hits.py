"""Hits of a search, as a list that a notebook draws."""

from collections.abc import Iterator, Sequence
from copy import copy
from html import escape
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from spanseek.models import Hit, SearchAnswer, SpansAnswer, TextHit
from spanseek.values import json_of

if TYPE_CHECKING:
    import pandas
    import pyarrow

Kind = TypeVar("Kind", bound=Hit | TextHit)
AnswerKind = TypeVar("AnswerKind", bound=SearchAnswer | SpansAnswer)
_COLUMNS = ("document_id", "start", "end", "text", "score", "raw", "rank", "verdict", "probability", "match")


class _HitList(Sequence[Kind], Generic[Kind, AnswerKind]):
    """Hits, best first. ``answer`` has the rest of what the API said: the threshold, the generation, the time."""

    def __init__(self, hits: Sequence[Kind], answer: AnswerKind) -> None:
        self._hits, self.answer = list(hits), answer

    def __len__(self) -> int:
        return len(self._hits)

    @overload
    def __getitem__(self, index: int) -> Kind: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Kind | Self:
        if not isinstance(index, slice):
            return self._hits[index]
        some = copy(self)
        some._hits = self._hits[index]
        return some

    def __repr__(self) -> str:
        return "\n".join(f"{hit.score:.3f}  {hit.document_id}[{hit.start}:{hit.end}]  {hit.text}" for hit in self)

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for every hit: its own fields, then its metadata as ``metadata.KEY`` and ``part.KEY``."""
        for hit in self._hits:
            row = {name: getattr(hit, name) for name in _COLUMNS}
            row |= {f"metadata.{name}": value for name, value in hit.metadata.items()}
            yield row | {f"part.{name}": value for name, value in (hit.part_metadata or {}).items()}

    def to_pandas(self) -> "pandas.DataFrame":
        """A data frame with a row for every hit. Needs pandas."""
        import pandas

        return pandas.DataFrame(self.rows(), columns=self._columns())

    def to_arrow(self) -> "pyarrow.Table":
        """A table with a row for every hit. Needs pyarrow."""
        import pyarrow

        rows = list(self.rows())
        return pyarrow.table({name: _array([row.get(name) for row in rows]) for name in self._columns()})

    def _columns(self) -> list[str]:
        return list(dict.fromkeys([*_COLUMNS, *(name for row in self.rows() for name in row)]))

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{hit.score:.3f}</td><td>{escape(hit.document_id)}</td><td>{hit.start}:{hit.end}</td>"
            f'<td style="text-align:left">{marked(hit)}</td><td>{escape(hit.verdict or hit.match or "")}</td></tr>'
            for hit in self._hits
        )
        head = "".join(f"<th>{name}</th>" for name in ("score", "document", "span", "text", "verdict"))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _array(values: list[Any]) -> "pyarrow.Array[Any]":
    """A column; of strings, if a key of metadata has values of several types."""
    import pyarrow

    try:
        return pyarrow.array(values)
    except (pyarrow.ArrowException, OverflowError):
        written = [value if value is None or isinstance(value, str) else json_of(value).decode() for value in values]
        return pyarrow.array(written)


class Hits(_HitList[Hit, SearchAnswer]):
    """The hits of a search."""


class TextHits(_HitList[TextHit, SpansAnswer]):
    """The spans of one text that came with a request; ``id`` is the text's."""

    def __init__(self, hits: Sequence[TextHit], answer: SpansAnswer, id: str) -> None:
        super().__init__(hits, answer)
        self.id = id


def marked(hit: Hit | TextHit) -> str:
    """The hit within its context as HTML, between marks."""
    context = hit.context
    if context is None:
        return f"<mark>{escape(hit.text)}</mark>"
    before, inside, after = (
        escape(context.text[part])
        for part in (slice(context.start), slice(context.start, context.end), slice(context.end, None))
    )
    return f"{before}<mark>{inside}</mark>{after}"
