"""Pages of hits: where one begins, and the cursor of the next. All pages of a cursor are slices of one list.

A cursor says of which generation the list is, whether its first hits was verified, and by a digest which list
it is. It carries no secret: forged, it is another ``offset``.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from app.cursors import cursor_at, digest_of, position_of
from app.requests import MAX_EXPORT, SearchRequest
from app.search.answers import UsedThreshold
from indexer.engine.query import Filter
from indexer.errors import CursorExpired
from indexer.types import Generation
from models.errors import InvalidInput


class _Position(NamedTuple):
    """A cursor's content: its generation, its place, 1 if the list was verified, and digests of the list."""

    generation: int
    place: int
    judged: int
    request: str
    tuning: str


@dataclass(frozen=True, slots=True)
class Page:
    """The place in the list of hits at which a page begins, and what a cursor says of that list.

    ``judged`` says whether the list was verified; None leaves it to the request.
    """

    place: int
    generation: int | None = None
    judged: bool | None = None
    request: str = ""
    tuning: str = ""


def page_of(request: SearchRequest, collection_id: str) -> Page:
    """The start of a request's page. Raises ``InvalidInput`` for a cursor of another list."""
    if request.cursor is None:
        return Page(request.offset)
    position = _Position(*position_of(request.cursor, "hits", collection_id, _Position(0, 0, 0, "-", "-")))
    if position.place > MAX_EXPORT:
        raise InvalidInput("The cursor leads too far.", hint="Send the cursor of an answer unchanged.", field="cursor")
    place = position.place + request.offset
    return Page(place, position.generation, bool(position.judged), position.request, position.tuning)


def check_list(page: Page, request: SearchRequest, used: UsedThreshold) -> None:
    """Raise an error if a cursor continues another list than the request has: ``CursorExpired`` if tuning changed."""
    if page.generation is None:
        return
    if page.request != _request_digest(request):
        raise InvalidInput(
            "The cursor was made for another request.",
            hint="Repeat its request; only top_k, offset, what is counted and the form of hits may differ.",
            field="cursor",
        )
    if page.tuning != digest_of(repr(used)):
        raise CursorExpired(
            "The collection's threshold or calibration has changed since the cursor was made.",
            hint="Search again without a cursor.",
            field="cursor",
        )


def cursor_of(request: SearchRequest, generation: Generation, used: UsedThreshold, place: int, *, judged: bool) -> str:
    """The cursor of a place in a list."""
    digests = _request_digest(request), digest_of(repr(used))
    return cursor_at("hits", generation.collection_id, *_Position(generation.number, place, int(judged), *digests))


def _request_digest(request: SearchRequest) -> str:
    """Equal for requests whose hits are the same list."""
    plain = replace(
        request,
        collection="",
        filter=Filter(),
        top_k=1,
        offset=0,
        cursor=None,
        total=False,
        counts=(),
        explain=False,
        context=0,
        offset_unit="codepoint",
        verify=request.read,
        estimate=False,
    )
    return digest_of(f"{plain!r} {request.filter.key}")
