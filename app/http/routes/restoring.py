"""``/vectors`` and ``/restore``: texts to vectors that give them back, and back."""

from typing import Annotated, Self

import numpy as np
from pydantic import ConfigDict, Field, model_validator
from starlette.responses import Response

from app.http.auth import CallerDependency
from app.http.openapi import api_router, problems
from app.http.responses import answer_response
from app.requests import Body, CollectionName
from app.texts.requests import SpanBody, SpanRange, StorableText
from app.texts.restored_answers import (
    MAX_BEAMS,
    MAX_RESTORED,
    GivenVectors,
    RestoreAnswer,
    RestoreRequest,
    StoredSpans,
    TextVectors,
)
from app.texts.restoring import RestoreService
from indexer.engine.query import Filter
from models.encoders.restorable.base import Memory
from models.errors import InvalidInput

router = api_router(tags=["search"], responses=problems(401, 403, 404, 409, 422))
Vector = list[float]


class VectorsBody(Body):
    """Texts, of a few sentences each."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"texts": ["Stop my plan."]}]})

    texts: list[StorableText] = Field(
        min_length=1,
        max_length=MAX_RESTORED,
        description="Texts of at most 256 tokens, about six sentences; a longer one is refused.",
    )


class RestoreBody(Body):
    """Vectors, or spans of a collection's documents."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"collection": "sample", "spans": [{"document_id": "call-01", "start": 0, "end": 20}]}]
        }
    )

    vectors: list[list[Vector]] = Field(
        [], max_length=MAX_RESTORED, description="For every text its vectors, as `POST /vectors` gives them."
    )
    fingerprint: str | None = Field(
        None,
        max_length=200,
        description="The fingerprint of `vectors`, which need it: vectors of another model are refused.",
    )
    collection: CollectionName | None = Field(None, description="The collection of `spans`.")
    spans: list[SpanBody] = Field(
        [],
        max_length=MAX_RESTORED,
        description="Spans such as hits, in code points: the sentences that they touch are restored.",
    )
    beams: int = Field(1, ge=1, le=MAX_BEAMS, description="Beams of the search for the most probable text.")
    warn_below: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="Warn of texts of a lower confidence; without it `SPANSEEK_RESTORE_WARN_BELOW`."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if bool(self.spans) != (self.collection is not None):
            raise ValueError("Give a collection together with spans.")
        if bool(self.spans) == bool(self.vectors):
            raise ValueError("Give vectors, or a collection with spans.")
        if bool(self.vectors) != (self.fingerprint is not None):
            raise ValueError("Give vectors together with their fingerprint, as `POST /vectors` answers them.")
        return self

    def request(self, reach: Filter) -> RestoreRequest:
        """The request for the service, of the documents in reach."""
        spans = tuple(SpanRange(span.document_id, span.start, span.end) for span in self.spans)
        stored = None if self.collection is None else StoredSpans(self.collection, spans, reach)
        texts = tuple(memory(number, rows) for number, rows in enumerate(self.vectors))
        given = GivenVectors(texts, self.fingerprint) if texts and self.fingerprint else None
        return RestoreRequest(given, stored, self.beams, self.warn_below)


def memory(number: int, rows: list[Vector]) -> Memory:
    """The vectors of a text as an array. Raises ``InvalidInput`` for none, and for vectors of several lengths."""
    if len({len(row) for row in rows}) != 1:
        raise InvalidInput(
            f"Text {number} has {'vectors of several lengths' if rows else 'no vectors'}.",
            hint="Give the vectors as they were made, by this model.",
            field="vectors",
        )
    with np.errstate(over="ignore"):
        return np.array(rows, np.float32)


@router.post("/vectors", response_model=TextVectors, summary="Make vectors that give texts back")
async def make_vectors(body: VectorsBody, caller: CallerDependency) -> Response:
    """Encode texts into vectors from which `POST /restore` writes them again. They are as confidential as the texts."""
    caller.require_scope("search", confined=True)
    backend = caller.backend
    answer = await backend.restore_lane.run(
        lambda: backend.get(RestoreService).vectors(body.texts), backend.limits.write_deadline_s
    )
    return answer_response(answer)


@router.post("/restore", response_model=RestoreAnswer, summary="Restore texts from vectors")
async def restore(body: RestoreBody, caller: CallerDependency) -> Response:
    """Write the texts of vectors, or of stored sentences, with the confidence of every token."""
    backend, request = caller.backend, body.request(caller.searchable(body.collection))
    caller.note(span.document_id for span in body.spans)
    answer = await backend.restore_lane.run(
        lambda: backend.get(RestoreService).restore(request), backend.limits.write_deadline_s
    )
    return answer_response(answer)
