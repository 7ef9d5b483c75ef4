"""``/admin/collections/{collection}/thresholds``: read, set and undo the thresholds of a collection."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import ConfigDict, Field, FiniteFloat
from starlette.responses import Response

from app.calibration.answers import ModeThreshold, ModeThresholds, PhraseThresholds, ThresholdHistory
from app.calibration.phrase_thresholds import PhraseThresholdsRequest
from app.calibration.service import ThresholdService
from app.http.auth import CallerDependency, in_pool
from app.http.openapi import api_router, problems
from app.http.responses import answer_response
from app.http.routes.calibrations import LABELS, LabelBody, labels_of
from app.http.schemas import CollectionPath, Note
from app.requests import Body, ModeName, Similarity
from indexer.tuning import ThresholdOn

router = api_router(
    prefix="/admin/collections/{collection}/thresholds", tags=["admin"], responses=problems(401, 403, 404, 422)
)


_EXAMPLES: dict[str, Any] = {"examples": [{"value": 0.8, "on": "score", "note": "90 % precision in the audit"}]}


class PutThresholdBody(Body):
    """A threshold to set."""

    model_config = ConfigDict(json_schema_extra=_EXAMPLES)

    mode: ModeName = Field("best_span", description="The mode of the threshold.")
    value: Similarity | None = Field(description="The default minimum similarity of hits; null removes it.")
    on: ThresholdOn = Field("score", description="The scale of the value.")
    note: Note = Field("", description="The reason; stored in the history.")


class UndoBody(Body):
    """The threshold whose last change to undo."""

    mode: ModeName = Field("best_span", description="The mode of the threshold.")
    note: Note = Field("", description="The reason; stored in the history.")


class ProposeBody(Body):
    """Few labels of one or more phrases."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"labels": LABELS, "precision": 0.9}]})

    labels: list[LabelBody] = Field(
        description="At least 5 of every phrase, better 20, as for a calibration; label candidates are a good choice."
    )
    precision: FiniteFloat = Field(0.9, gt=0, le=1, description="The precision that each phrase is to have.")

    def request(self, collection: str) -> PhraseThresholdsRequest:
        """The request for the service."""
        return PhraseThresholdsRequest(collection, labels_of(self.labels), self.precision)


@router.get("", response_model=ModeThresholds, summary="See the thresholds")
def get_thresholds(collection: CollectionPath, caller: CallerDependency) -> Response:
    """List the threshold of every mode, under the active calibration."""
    caller.require("admin", collection)
    return answer_response(ModeThresholds(caller.backend.get(ThresholdService).thresholds(collection)))


@router.put("", response_model=ModeThreshold, summary="Set a threshold", responses=problems(507))
@in_pool
def put_threshold(collection: CollectionPath, body: PutThresholdBody, caller: CallerDependency) -> Response:
    """Set the default threshold of searches; null removes it."""
    caller.require("admin", collection)
    service = caller.backend.get(ThresholdService)
    return answer_response(service.set(collection, body.mode, body.value, body.on, body.note))


@router.post("/propose", response_model=PhraseThresholds, summary="Propose thresholds of phrases from few labels")
async def propose_thresholds(collection: CollectionPath, body: ProposeBody, caller: CallerDependency) -> Response:
    """Propose a threshold for every labelled phrase, with the interval of its precision. Nothing is set."""
    caller.require("admin", collection)
    backend = caller.backend
    request = body.request(collection)
    proposed = await backend.tuning.run(
        lambda: backend.get(ThresholdService).propose(request), backend.limits.write_deadline_s
    )
    return answer_response(PhraseThresholds(proposed))


@router.get("/history", response_model=ThresholdHistory, summary="See how a threshold was changed")
def get_threshold_history(
    collection: CollectionPath,
    caller: CallerDependency,
    mode: Annotated[ModeName, Query(description="The mode of the threshold.")] = "best_span",
) -> Response:
    """List all changes, the newest first."""
    caller.require("admin", collection)
    return answer_response(ThresholdHistory(caller.backend.get(ThresholdService).history(collection, mode)))


@router.post("/undo", response_model=ModeThreshold, summary="Take a change back", responses=problems(409, 507))
@in_pool
def undo_threshold(collection: CollectionPath, caller: CallerDependency, body: UndoBody | None = None) -> Response:
    """Undo the last change; a second call undoes the change before it."""
    caller.require("admin", collection)
    undo = body or UndoBody(mode="best_span", note="")
    return answer_response(caller.backend.get(ThresholdService).undo(collection, undo.mode, undo.note))
