"""``/admin/collections/{collection}/calibrations``: teach the scores of a collection what they mean."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat
from pydantic.types import JsonValue
from starlette.responses import Response

from app.calibration.labels import label_from_json
from app.calibration.metrics import ThresholdTargets
from app.calibration.service import CalibrationRequest, ThresholdService
from app.collections.answers import SpanUnits
from app.http.auth import CallerDependency
from app.http.openapi import problems
from app.http.responses import json_response
from app.http.routes.thresholds import Collection
from app.http.schemas import MAX_NAME, Body, DocumentId, Note, QueryText, Similarity
from app.search.types import Mode
from indexer.tuning import Calibration, CalibrationDraft
from models.errors import InvalidInput
from models.types import SpanBounds

router = APIRouter(prefix="/admin/collections/{collection}/calibrations", tags=["admin"])
MAX_KNOTS = 20_000
CalibrationId = Annotated[str, Path(description="The calibration's id.", max_length=200)]

_LABELS: list[JsonValue] = [
    {"phrase": "cancel my subscription", "text": "stop my membership", "match": True},
    {
        "phrase": "cancel my subscription",
        "span": {"document_id": "call-17", "start": 42, "end": 60},
        "degree": 4.5,
    },
]


class StoredSpanBody(Body):
    """A span of a document of the collection."""

    document_id: DocumentId
    start: int = Field(ge=0, description="In code points.")
    end: int = Field(ge=0)


class LabelBody(Body):
    """What somebody says of a phrase and a text: `text` or `span`, `match` or `degree`."""

    phrase: QueryText = Field(description="The origin phrase.")
    text: QueryText | None = Field(None, description="A text to compare it with.")
    span: StoredSpanBody | None = Field(None, description="Or a span of the collection.")
    match: bool | None = Field(None, description="Whether both mean the same.")
    degree: FiniteFloat | None = Field(None, ge=0, le=5, description="Or how much, from 0 to 5; 4 or more is a match.")
    probability: FiniteFloat | None = Field(None, gt=0, le=1, description="With which it was proposed, if it was.")
    stratum: int = Field(0, ge=0, lt=2**31, description="From which it was proposed.")


class CalibrateBody(Body):
    """Labels, and what to do with what is learned from them."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"labels": _LABELS, "note": "March audit"}]})

    labels: list[LabelBody] = Field(description="At least 20 different ones.")
    mode: Mode = Field("best_span", description="The mode whose scores are calibrated.")
    note: Note = Field("", description="What the labels are; kept with the calibration.")
    activate: bool = Field(False, description="Whether to make it the active calibration in the same step.")
    precision: FiniteFloat = Field(0.9, gt=0, le=1, description="The precision that a threshold is wanted for.")
    recall: FiniteFloat = Field(0.9, gt=0, le=1, description="The recall that a threshold is wanted for.")

    def request(self) -> CalibrationRequest:
        """The body as the service understands it; raises ``LabelsRefused`` for what is no label."""
        labels = [label_from_json(label.model_dump(), f"labels[{n}]") for n, label in enumerate(self.labels)]
        return CalibrationRequest(
            labels, self.mode, self.note, self.activate, ThresholdTargets(self.precision, self.recall)
        )


class SpanUnitsBody(Body):
    """How many units a span may hold, both included."""

    shortest: int = Field(ge=1)
    longest: int = Field(le=64)


class ImportBody(Body):
    """A calibration of another collection, as its list shows it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "fingerprint": "slice.v1-5c2b...",
                    "span_units": {"shortest": 1, "longest": 20},
                    "knots": [[0, 0], [0.71, 0.02], [0.93, 0.98], [1, 1]],
                    "method": "logistic",
                    "labels": 200,
                }
            ]
        }
    )

    fingerprint: str = Field(max_length=MAX_NAME, description="The encoder it was made for.")
    span_units: SpanUnitsBody = Field(description="The span bounds it was made for.")
    mode: Mode = Field("best_span", description="The mode it was made for.")
    knots: list[Annotated[list[Similarity], Field(min_length=2, max_length=2)]] = Field(
        min_length=2, max_length=MAX_KNOTS, description="Raw and score, both rising from 0 to 1."
    )
    method: Literal["isotonic", "logistic"] = Field(description="How it was learned.")
    labels: int = Field(ge=0, le=2**53, description="Of how many labels.")
    note: Note = Field("", description="Where it comes from; kept with the calibration.")
    activate: bool = Field(False, description="Whether to make it the active calibration in the same step.")

    def draft(self) -> CalibrationDraft:
        """The body as the catalog understands it; raises ``InvalidInput`` for bounds that no spans have."""
        try:
            bounds = SpanBounds(self.span_units.shortest, self.span_units.longest)
        except ValueError as error:
            raise InvalidInput(str(error), hint="shortest cannot be more than longest.", field="span_units") from error
        knots = tuple((raw, score) for raw, score in self.knots)
        return CalibrationDraft(self.mode, self.fingerprint, bounds, knots, self.method, self.labels, self.note)


class CalibrationBody(BaseModel):
    """A map from raw to score, and what it was made for and of."""

    id: str
    mode: Mode
    active: bool
    method: str = Field(description="isotonic or logistic, whichever did better on labels it had not seen.")
    labels: int
    note: str
    created_at: datetime
    fingerprint: str = Field(description="The encoder it was made for.")
    span_units: SpanUnits
    knots: list[tuple[float, float]] = Field(description="Raw and score; straight lines lie between.")
    figures: dict[str, Any] = Field(description="What is kept of the report that came with it.")

    @classmethod
    def of(cls, calibration: Calibration) -> "CalibrationBody":
        """A calibration as it is shown."""
        bounds = calibration.bounds
        return cls.model_validate(
            {
                "id": calibration.id,
                "mode": calibration.mode,
                "active": calibration.active,
                "method": calibration.method,
                "labels": calibration.labels,
                "note": calibration.note,
                "created_at": calibration.created_at,
                "fingerprint": calibration.fingerprint,
                "span_units": SpanUnits(shortest=bounds.shortest, longest=bounds.longest),
                "knots": calibration.knots,
                "figures": dict(calibration.figures),
            }
        )


class CalibrationsBody(BaseModel):
    """Calibrations, the newest first."""

    calibrations: list[CalibrationBody]


class ShareBody(BaseModel):
    """A share, and its 95 % interval."""

    value: float
    low: float
    high: float


class AtThresholdBody(BaseModel):
    """What a threshold finds among the labels."""

    raw: float
    score: float
    found: int = Field(description="Labels that reach it.")
    precision: ShareBody
    recall: ShareBody
    f1: ShareBody


class BarBody(BaseModel):
    """A tenth of the labels, by score."""

    score: float = Field(description="What they score on average.")
    observed: float = Field(description="The share of a match that people gave them.")
    labels: int


class SuggestedBody(BaseModel):
    """The threshold for a wish."""

    wish: str
    threshold: AtThresholdBody | None = Field(description="Null where no threshold fulfils it.")


class ReportBody(BaseModel):
    """What the labels say. What is `after` is of labels that the map had not seen."""

    method: str
    labels: int
    matches: int
    weighted: bool = Field(description="Whether precision, recall and F1 are those of what the labels were drawn from.")
    squared_errors: dict[str, float] = Field(description="Of both methods, on labels they had not seen.")
    error_before: float = Field(description="How far raw is from what people said, on average.")
    error_after: float = Field(description="The same of score.")
    reliability_before: list[BarBody]
    reliability_after: list[BarBody]
    suggested: list[SuggestedBody]
    thresholds: list[AtThresholdBody] = Field(description="Precision and recall at the raw of every label, rising.")
    warnings: list[str] = Field(description="Where the labels are too few for what the figures claim.")


class CalibratedBody(BaseModel):
    """The calibration that was kept, and the report on it."""

    calibration: CalibrationBody
    report: ReportBody


class RemovedBody(BaseModel):
    """What was deleted."""

    id: str
    status: str


@router.get("", summary="List the calibrations", responses=problems(401, 403, 404, 422, 503))
def list_calibrations(collection: Collection, caller: CallerDependency) -> CalibrationsBody:
    """The collection's calibrations, the newest first."""
    caller.require("admin", collection)
    found = caller.backend.thresholds.calibrations(collection)
    return CalibrationsBody(calibrations=list(map(CalibrationBody.of, found)))


@router.post(
    "",
    response_model=CalibratedBody,
    summary="Learn a calibration from labels",
    responses=problems(400, 401, 403, 404, 409, 413, 422, 429, 503, 504),
)
async def calibrate(collection: Collection, body: CalibrateBody, caller: CallerDependency) -> Response:
    """Learn a rising map from raw to score and keep it; of labels that are refused nothing is kept."""
    caller.require("admin", collection)
    backend = caller.backend
    made = await backend.tuning.run(
        lambda: _calibrated(backend.thresholds, collection, body), backend.limits.write_deadline_s
    )
    return json_response(made)


@router.post(
    "/import",
    summary="Take a calibration over from another collection",
    responses=problems(400, 401, 403, 404, 409, 413, 422, 503),
)
def import_calibration(collection: Collection, body: ImportBody, caller: CallerDependency) -> CalibrationBody:
    """Keep a calibration that was made for the same encoder, mode and span bounds; any other is refused."""
    caller.require("admin", collection)
    service = caller.backend.thresholds
    return CalibrationBody.of(service.adopt(collection, body.draft(), activate=body.activate))


@router.post("/{id}/activate", summary="Activate a calibration", responses=problems(401, 403, 404, 422, 503))
def activate_calibration(collection: Collection, id: CalibrationId, caller: CallerDependency) -> CalibrationBody:
    """Make it the active one of its mode, in one step; the collection's threshold keeps meaning the same hits."""
    caller.require("admin", collection)
    return CalibrationBody.of(caller.backend.thresholds.activate(collection, id))


@router.post("/{id}/deactivate", summary="Deactivate a calibration", responses=problems(401, 403, 404, 422, 503))
def deactivate_calibration(collection: Collection, id: CalibrationId, caller: CallerDependency) -> CalibrationBody:
    """Let score be raw again, if it is the active one."""
    caller.require("admin", collection)
    return CalibrationBody.of(caller.backend.thresholds.deactivate(collection, id))


@router.delete("/{id}", summary="Delete a calibration", responses=problems(401, 403, 404, 409, 422, 503))
def delete_calibration(collection: Collection, id: CalibrationId, caller: CallerDependency) -> RemovedBody:
    """Delete a calibration that is not active. Thresholds that were set under it keep what they mean."""
    caller.require("admin", collection)
    caller.backend.thresholds.delete(collection, id)
    return RemovedBody(id=id, status="deleted")


def _calibrated(service: ThresholdService, collection: str, body: CalibrateBody) -> dict[str, object]:
    # Imported here, in the lane, because scikit-learn takes long and the event loop must not wait for it.
    from app.calibration.report import report_as_json

    made, report = service.calibrate(collection, body.request())
    return {"calibration": CalibrationBody.of(made).model_dump(mode="json"), "report": report_as_json(report)}
