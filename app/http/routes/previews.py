"""``/admin/collections/{collection}/thresholds/preview``: counts for a threshold before it is set."""

from typing import Literal

from fastapi import APIRouter
from pydantic import ConfigDict, Field
from starlette.responses import Response

from app.calibration.preview import MAX_EXAMPLES, MAX_PHRASES, Preview, PreviewRequest
from app.http.auth import CallerDependency
from app.http.openapi import problems
from app.http.responses import answer_response
from app.http.routes.thresholds import Collection
from app.http.schemas import Body, FilterBody, QueryText, Similarity, SpansBody
from app.search.types import Mode, Ranking
from indexer.engine.query import Filter
from indexer.tuning import ThresholdOn
from models.text.stemming import Language

router = APIRouter(prefix="/admin/collections/{collection}/thresholds/preview", tags=["admin"])


class PreviewBody(Body):
    """Phrases to preview, and a threshold."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"phrases": ["cancel my subscription"], "threshold": 0.8, "floor": 0.7}]}
    )

    phrases: list[QueryText] = Field([], max_length=MAX_PHRASES, description="Origin phrases.")
    saved: list[QueryText] | Literal["all"] = Field([], description="Names of saved phrases, or all of them.")
    mode: Mode = Field("best_span", description="The search mode.")
    threshold: Similarity | None = Field(None, description="The threshold to preview; by default the collection's.")
    threshold_on: ThresholdOn = Field("score", description="The scale of the threshold and the floor.")
    floor: Similarity | None = Field(
        None, description="The lowest similarity of counted spans; by default the threshold."
    )
    filter: FilterBody = Field(FilterBody(), description="The documents and parts to count.")
    examples: int = Field(5, ge=0, le=MAX_EXAMPLES, description="Maximum number of examples on either side.")

    ranking: Ranking = Field("span_score", description="What spans are ranked by, as in a search.")
    stemming: Language | None = Field(None, description="The language of stems, as in a search.")

    spans: SpansBody = Field(SpansBody(), description="Which spans count: their lengths and their boundaries.")

    def request(self, collection: str) -> PreviewRequest:
        """The request for the service."""
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
            ranking=self.ranking,
            stemming=self.stemming,
            spans=self.spans.choice(),
        )


@router.post(
    "",
    response_model=Preview,
    summary="See what a threshold would find",
    responses=problems(400, 401, 403, 404, 409, 413, 422, 429, 503, 504, 507),
)
async def preview_threshold(collection: Collection, body: PreviewBody, caller: CallerDependency) -> Response:
    """Count, exactly and over the whole collection, the hits of every threshold. Changes nothing."""
    caller.require("admin", collection)
    backend = caller.backend
    request = body.request(collection)
    preview = await backend.tuning.run(lambda: backend.thresholds.preview(request), backend.limits.write_deadline_s)
    return answer_response(preview)
