"""The tools: what a language model asks, and what it is told. All only read."""

from typing import Annotated

from pydantic import Field

from spanseek.asynchronous.client import AsyncClient
from spanseek.asynchronous.collection import AsyncCollection
from spanseek.errors_by_code import InvalidInput
from spanseek.mcp.answers import (
    LONGEST_READ,
    CollectionLine,
    CountLine,
    Extract,
    Found,
    Hits,
    Matches,
    MatchLine,
    PhraseLine,
    Quotation,
)
from spanseek.mcp.quotations import occurrences
from spanseek.models import Verified

CollectionArgument = Annotated[str, Field(description="The name of a collection; the tool collections lists them.")]
DocumentArgument = Annotated[str, Field(description="The id of a document, as hits name it.")]
FilterArgument = Annotated[
    str | None,
    Field(description='What must be true of the metadata: `year >= 2020 and not part.speaker = "agent"`.'),
]
_CONTEXT = 150
# Characters of a quotation's beginning, which is searched where the whole is too long for a query.
_BEGINNING = 200


class Tools:
    """The tools over one server or folder."""

    def __init__(self, db: AsyncClient) -> None:
        self._db = db

    async def collections(self) -> list[CollectionLine]:
        """List the collections that can be searched."""
        listed = await self._db.collections()
        return [
            CollectionLine(name=each.name, documents=each.documents, texts_are_stored=each.store_text)
            for each in listed
        ]

    async def search(
        self,
        collection: CollectionArgument,
        text: Annotated[str, Field(description="A phrase as it might be said, not keywords: `I was charged twice`.")],
        limit: Annotated[int, Field(ge=1, le=50)] = 5,
        filter: FilterArgument = None,
        likely: Annotated[bool, Field(description="Only hits that probably say the same.")] = False,
    ) -> Hits:
        """Find the spans of documents that mean the same as a phrase, best first, with their places.

        `score` is similarity from 0 to 1. `verdict` is `exact` for the phrase's own words; `match`, `differs` or
        `unrelated` is what a second look at the sentence says. Cite a span by `cite`. The text of a `restored` span is
        a guess with a `confidence`: do not quote it.
        """
        hits = await self._db.collection(collection).search(
            text, k=limit, filter=filter, context=_CONTEXT, likely=likely or None
        )
        found = [Found.of(hit) for hit in hits]
        read = hits.answer.verified
        if isinstance(read, Verified):
            return Hits(hits=found, likely=read.likely, complete=read.complete)
        return Hits(hits=found)

    async def read(
        self,
        collection: CollectionArgument,
        document_id: DocumentArgument,
        start: Annotated[int, Field(ge=0, description="The first character.")] = 0,
        characters: Annotated[int, Field(ge=1, le=LONGEST_READ)] = 2_000,
    ) -> Extract:
        """Read a document, or the part of it around a span."""
        document = await self._db.collection(collection).read(document_id)
        text = document.text[start : start + characters]
        return Extract(
            document_id=document_id,
            start=min(start, len(document.text)),
            end=min(start + characters, len(document.text)),
            characters=len(document.text),
            text=text,
            restored=document.restored,
            confidence=document.confidence,
            metadata=document.metadata,
        )

    async def quote(
        self,
        collection: CollectionArgument,
        document_id: DocumentArgument,
        quotation: Annotated[str, Field(min_length=1, max_length=10_000, description="The words to verify.")],
    ) -> Quotation:
        """Verify that a document says something word for word, and give its place; else the nearest span.

        Use it before you quote. Case, white space and the forms of quotation marks make no difference. A document whose
        text is not stored (`restored`) verifies nothing.
        """
        within = self._db.collection(collection)
        document = await within.read(document_id)
        places = [] if document.restored else occurrences(document.text, quotation)
        if not places:
            return Quotation(
                verified=False,
                nearest=await _nearest(within, document_id, quotation),
                restored=document.restored,
                confidence=document.confidence,
            )
        start, end = places[0]
        return Quotation(
            verified=True,
            cite=f"{document_id}[{start}:{end}]",
            start=start,
            end=end,
            text=document.text[start:end],
            occurrences=len(places),
        )

    async def spans(
        self,
        phrases: Annotated[list[str], Field(min_length=1, max_length=20)],
        texts: Annotated[list[str], Field(min_length=1, max_length=50)],
        limit: Annotated[int, Field(ge=1, le=20, description="Spans of a text for each phrase.")] = 3,
    ) -> list[Hits]:
        """Find the spans of given texts that mean the same as phrases; a list for each text, whose id is its number."""
        lists = await self._db.spans(phrases, texts, limit=limit, context=0)
        return [Hits(hits=[Found.of(hit) for hit in hits]) for hits in lists]

    async def mine(
        self,
        collection: CollectionArgument,
        phrases: Annotated[list[str], Field(min_length=1, max_length=50)],
        threshold: Annotated[float, Field(ge=0, le=1, description="The least score of a span that counts.")] = 0.5,
        filter: FilterArgument = None,
        count_by: Annotated[
            str | None, Field(description="A key of metadata, `queue` or `part.speaker`: counts for its values, too.")
        ] = None,
    ) -> list[CountLine]:
        """Count how often phrases are said in a whole collection, and in how many documents. Search cites examples."""
        mined = await self._db.collection(collection).mine(
            phrases, filter=filter, threshold=threshold, count_by=[] if count_by is None else [count_by]
        )
        return [
            CountLine(
                phrase=row.phrase,
                hits=row.hits,
                documents=row.documents,
                complete=row.complete,
                key=row.key,
                value=row.value,
            )
            for row in mined.counts
        ]

    async def phrases(self, collection: CollectionArgument) -> list[PhraseLine]:
        """List the saved phrases of a collection, which are matched with every document that arrives."""
        saved = self._db.collection(collection).phrases()
        return [PhraseLine(name=each.name, text=each.text, note=each.note) async for each in saved]

    async def matches(
        self,
        collection: CollectionArgument,
        phrase: Annotated[str | None, Field(description="The name of a saved phrase; all without it.")] = None,
        cursor: Annotated[str | None, Field(description="The cursor of an earlier answer.")] = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
    ) -> Matches:
        """Read what saved phrases have matched, in the order of time."""
        names = None if phrase is None else [phrase]
        page = await self._db.api.read_matches(collection, cursor=cursor, limit=limit, phrase=names)
        lines = [
            MatchLine(
                event=each.event,
                phrase=each.phrase,
                cite=f"{each.document_id}[{each.start}:{each.end}]",
                text=each.text,
                score=round(each.score, 3),
            )
            for each in page.events
        ]
        return Matches(matches=lines, cursor=page.cursor, more=page.more)

    async def matched(self, collection: str) -> Matches:
        """The first matches of a collection's saved phrases; the tool ``matches`` reads on from their cursor."""
        return await self.matches(collection, limit=100)


async def _nearest(collection: AsyncCollection, document_id: str, quotation: str) -> Found | None:
    """The span of a document that is nearest to a quotation, or to its beginning; None if neither can be searched."""
    only = {"expression": {"key": "document.id", "op": "=", "value": document_id}}
    for text in (quotation, quotation[:_BEGINNING]):
        try:
            hits = await collection.search(text, k=1, filter=only, context=_CONTEXT, threshold=0)
        except InvalidInput as error:
            if "text" not in dict(error.fields):
                raise
        else:
            return Found.of(hits[0]) if len(hits) else None
    return None
