"""``/admin/collections/{collection}/thresholds/preview``: what a threshold would find."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat
from starlette.responses import Response

from app.calibration.preview import MAX_EXAMPLES, MAX_PHRASES, PreviewRequest, preview_as_json
from app.http.auth import CallerDependency
from app.http.openapi import problems
from app.http.responses import ThresholdBody, json_response
from app.http.routes.thresholds import Collection
from app.http.schemas import Body, FilterBody, QueryText
from app.search.types import Mode
from indexer.engine.query import Filter
from indexer.tuning import ThresholdOn

router = APIRouter(prefix="/admin/collections/{collection}/thresholds/preview", tags=["admin"])


class PreviewBody(Body):
    """Phrases to count for, and a threshold."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"phrases": ["cancel my subscription"], "threshold": 0.8, "floor": 0.7}]}
    )

    phrases: list[QueryText] = Field([], max_length=MAX_PHRASES, description="Origin phrases.")
    saved: list[QueryText] | Literal["all"] = Field([], description="Names of saved phrases, or all of them.")
    mode: Mode = Field("best_span", description="How to search.")
    threshold: FiniteFloat | None = Field(
        None, ge=0, le=1, description="The threshold to look at; without it, the collection's."
    )
    threshold_on: ThresholdOn = Field("score", description="Which scale the threshold and the floor are on.")
    floor: FiniteFloat | None = Field(
        None, ge=0, le=1, description="Spans are counted from here up; without it, from the threshold up."
    )
    filter: FilterBody = Field(FilterBody(), description="Where to search.")
    examples: int = Field(5, ge=0, le=MAX_EXAMPLES, description="At most so many examples on either side.")

    def request(self, collection: str) -> PreviewRequest:
        """The body as the preview understands it."""
        return PreviewRequest(
            collection=collection,
            phrases=tuple(self.phrases),
            mode=self.mode,
            threshold=self.threshold,
            threshold_on=self.threshold_on,
            floor=self.floor,
            filter=Filter(self.filter.document, self.filter.part),
            examples=self.examples,
            saved="all" if self.saved == "all" else tuple(self.saved),
        )


class ExampleBody(BaseModel):
    """The best span of a document near the threshold."""

    document_id: str
    start: int = Field(description="In code points.")
    end: int
    text: str
    score: float
    raw: float


Counts = Annotated[list[int], Field(description="One for each of `scores`.")]


class PhrasePreviewBody(BaseModel):
    """What one phrase finds."""

    phrase: str
    saved: str | None = Field(description="Its name, if it is a saved phrase.")
    threshold: ThresholdBody = Field(description="The threshold it is counted with: a saved phrase may have its own.")
    floor: float | None = Field(description="On this threshold's scale.")
    with_spans: int = Field(description="All documents that have a span at all.")
    documents: int | None = Field(description="Documents whose best span reaches the threshold; null without one.")
    spans: int | None = Field(description="Spans that reach it and do not overlap; null if it is under the floor.")
    documents_above: Counts
    spans_above: list[int | None] = Field(description="As `documents_above`, for spans; null under the floor.")
    histogram: list[int] = Field(description="Documents whose best score lies from one of `scores` up to the next.")
    above: list[ExampleBody] = Field(description="Documents just above the threshold, the nearest first.")
    below: list[ExampleBody] = Field(description="Documents just below it, the nearest first.")


class NoMatchBody(BaseModel):
    """What no match looks like in a collection of this size."""

    units: int = Field(description="How much text the collection holds.")
    median: float = Field(description="Half of all phrases without a match have a best score up to here,")
    high: float = Field(description="and nineteen of twenty up to here.")
    median_raw: float
    high_raw: float


class PreviewAnswerBody(BaseModel):
    """Exact counts, all from one generation and under one calibration."""

    collection: str
    mode: Mode
    generation: int
    threshold: ThresholdBody
    floor: float | None = Field(description="On the threshold's scale.")
    scores: list[float] = Field(description="Where everything is counted: 0, 0.01, ... 1.")
    no_match: NoMatchBody | None = Field(description="Null where nothing is known of the collection's encoder.")
    phrases: list[PhrasePreviewBody]
    took_ms: float


@router.post(
    "",
    response_model=PreviewAnswerBody,
    summary="See what a threshold would find",
    responses=problems(400, 401, 403, 404, 409, 413, 422, 429, 503, 504),
)
async def preview_threshold(collection: Collection, body: PreviewBody, caller: CallerDependency) -> Response:
    """Count, exactly and over the whole collection, what reaches every threshold; nothing is changed."""
    caller.require("admin", collection)
    backend = caller.backend
    request = body.request(collection)
    found = await backend.tuning.run(lambda: backend.thresholds.preview(request), backend.limits.write_deadline_s)
    return json_response(preview_as_json(found))
