"""``/compare`` and ``/summarize``: texts by their facets, beside the similarities of all modes."""

from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from starlette.responses import Response

from app.http.auth import CallerDependency
from app.http.openapi import api_router, problems
from app.http.responses import answer_response
from app.requests import Body, CollectionName, DocumentId
from app.texts.requests import SpanBody, SpanRange, StorableText, TextInput
from app.texts.span_answers import MAX_TEXTS, check_size
from indexer.engine.query import Filter
from indexer.segments.text import OffsetUnit
from spanseek_facets.answers import (
    MAX_CHOSEN,
    MAX_COMPARED,
    MAX_SPANS,
    CompareAnswer,
    CompareRequest,
    StoredTexts,
    SummaryAnswer,
    SummaryRequest,
)
from spanseek_facets.comparing import CompareService
from spanseek_facets.summaries import SummaryService

router = api_router(tags=["search"], responses=problems(401, 403, 404, 409, 422))


def _short(text: str) -> str:
    if len(text) > MAX_COMPARED:
        raise ValueError(f"The text has {len(text):,} characters; at most {MAX_COMPARED:,} can be compared.")
    return text


ComparedText = Annotated[StorableText, AfterValidator(_short)]


class CompareBody(Body):
    """Two texts."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"first": "cancel my plan", "second": "stop it"}]})

    first: ComparedText = Field(description="The query, as in a search.")
    second: ComparedText = Field(description="The text that it is compared with.")
    collection: CollectionName | None = Field(
        None,
        description="Compare with its encoder, nuggets and calibrations. Without one: all modes, with the server's "
        "encoder, its default calibration, and nuggets as they were trained, with a ratio of 0.1.",
    )


class SummaryBody(Body):
    """Texts, stored or given, and how many sentences to choose."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"collection": "sample", "document_ids": ["call-01"], "sentences": 2},
                {"texts": ["The parcel never came. I called twice. Nobody answered."], "sentences": 1},
            ]
        }
    )

    collection: CollectionName | None = Field(None, description="The collection of `document_ids` and `spans`.")
    document_ids: list[DocumentId] = Field([], max_length=MAX_TEXTS, description="Documents to summarize, together.")
    spans: list[SpanBody] = Field(
        [],
        max_length=MAX_SPANS,
        description="Spans such as hits, with `document_id`, `start` and `end` in code points: the sentences that they "
        "touch are summarized.",
    )
    texts: list[TextInput] = Field(
        [], max_length=MAX_TEXTS, description="Texts that are not stored, as in `POST /spans`."
    )
    sentences: int = Field(3, ge=1, le=MAX_CHOSEN, description="The number of sentences to choose.")
    offset_unit: OffsetUnit = Field("codepoint", description="As in a search, for the answer.")

    @model_validator(mode="after")
    def _check(self) -> Self:
        named = bool(self.document_ids or self.spans)
        if named != (self.collection is not None):
            raise ValueError("Give a collection together with document_ids or spans.")
        if not named and not self.texts:
            raise ValueError("Give texts, or a collection with document_ids or spans.")
        return self

    def request(self, reach: Filter) -> SummaryRequest:
        """The request for the service, of the documents in reach."""
        texts = tuple(text.document(number) for number, text in enumerate(self.texts))
        check_size(texts)
        spans = tuple(SpanRange(span.document_id, span.start, span.end) for span in self.spans)
        ids = tuple(self.document_ids)
        stored = None if self.collection is None else StoredTexts(self.collection, ids, spans, reach)
        return SummaryRequest(stored, texts, self.sentences, self.offset_unit)


@router.post("/compare", response_model=CompareAnswer, summary="Compare two texts in every mode")
async def compare(body: CompareBody, caller: CallerDependency) -> Response:
    """Say how similar two texts are in every mode, what their facets are, and which is more general."""
    caller.searchable(body.collection)  # none of its documents is read
    backend = caller.backend
    request = CompareRequest(body.first, body.second, body.collection)
    answer = await backend.texts.run(lambda: backend.get(CompareService).compare(request), backend.limits.deadline_s)
    return answer_response(answer)


@router.post("/summarize", response_model=SummaryAnswer, summary="Summarize texts")
async def summarize(body: SummaryBody, caller: CallerDependency) -> Response:
    """Choose the sentences of documents, of hits or of given texts that cover their words best."""
    backend, request = caller.backend, body.request(caller.searchable(body.collection))
    caller.note([*body.document_ids, *(span.document_id for span in body.spans)])
    answer = await backend.texts.run(
        lambda: backend.get(SummaryService).summarize(request), backend.limits.write_deadline_s
    )
    return answer_response(answer)
