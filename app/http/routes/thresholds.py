"""``/admin/collections/{collection}/thresholds``: see, set and take back what hits must reach."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from app.calibration.service import TunedMode
from app.http.auth import CallerDependency
from app.http.openapi import problems
from app.http.schemas import Body, CollectionName, Note, Similarity
from app.search.types import Mode
from indexer.tuning import Threshold, ThresholdChange, ThresholdOn

router = APIRouter(prefix="/admin/collections/{collection}/thresholds", tags=["admin"])
Collection = Annotated[CollectionName, Path(description="The collection's name.")]


class ThresholdState(BaseModel):
    """A threshold and what it means."""

    value: float
    on: ThresholdOn
    raw: float = Field(description="The same threshold on raw.")
    calibration: str | None = Field(description="The calibration its value belongs to; null: score is raw.")

    @classmethod
    def of(cls, threshold: Threshold | None) -> "ThresholdState | None":
        """A threshold as it is shown."""
        if threshold is None:
            return None
        return cls(value=threshold.value, on=threshold.on, raw=threshold.raw, calibration=threshold.calibration)


class ModeThreshold(BaseModel):
    """The threshold of searches in one mode that give none."""

    mode: Mode
    threshold: ThresholdState | None = Field(description="What applies now; null: none.")
    as_set: ThresholdState | None = Field(description="What was set: it may have been under another calibration.")
    calibration: str | None = Field(description="The active calibration.")

    @classmethod
    def of(cls, tuned: TunedMode) -> "ModeThreshold":
        """A mode's threshold as it is shown."""
        return cls(
            mode=tuned.mode,
            threshold=ThresholdState.of(tuned.tuning.present_threshold),
            as_set=ThresholdState.of(tuned.tuning.threshold),
            calibration=tuned.tuning.calibration_id,
        )


class ThresholdsBody(BaseModel):
    """The thresholds of a collection, by mode."""

    thresholds: list[ModeThreshold]


class Change(BaseModel):
    """One change of a threshold; null: no threshold."""

    model_config = ConfigDict(populate_by_name=True)

    at: datetime
    before: ThresholdState | None = Field(alias="from")
    after: ThresholdState | None = Field(alias="to")
    note: str
    undo: bool = Field(description="Whether it took another change back.")

    @classmethod
    def of(cls, change: ThresholdChange) -> "Change":
        """A change as it is shown."""
        before, after = ThresholdState.of(change.before), ThresholdState.of(change.after)
        return cls(at=change.at, before=before, after=after, note=change.note, undo=change.undo)


class HistoryBody(BaseModel):
    """All changes of a threshold, the newest first."""

    changes: list[Change]


_EXAMPLES: dict[str, Any] = {"examples": [{"value": 0.8, "on": "score", "note": "90 % precision in the audit"}]}


class PutThresholdBody(Body):
    """A threshold to set."""

    model_config = ConfigDict(json_schema_extra=_EXAMPLES)

    mode: Mode = Field("best_span", description="The mode it is for.")
    value: Similarity | None = Field(description="No hit of a search without a threshold lies under it.")
    on: ThresholdOn = Field("score", description="Which scale it is on.")
    note: Note = Field("", description="Why; kept in the history.")


class UndoBody(Body):
    """Which threshold to take back."""

    mode: Mode = Field("best_span", description="The mode it is for.")
    note: Note = Field("", description="Why; kept in the history.")


@router.get("", summary="See the thresholds", responses=problems(401, 403, 404, 422, 503))
def get_thresholds(collection: Collection, caller: CallerDependency) -> ThresholdsBody:
    """The threshold of every mode, in the scores of the active calibration."""
    caller.require("admin", collection)
    return ThresholdsBody(thresholds=list(map(ModeThreshold.of, caller.backend.thresholds.thresholds(collection))))


@router.put("", summary="Set a threshold", responses=problems(400, 401, 403, 404, 413, 422, 503))
def put_threshold(collection: Collection, body: PutThresholdBody, caller: CallerDependency) -> ModeThreshold:
    """Set the threshold of searches that give none; null takes it away."""
    caller.require("admin", collection)
    service = caller.backend.thresholds
    return ModeThreshold.of(service.set(collection, body.mode, body.value, body.on, body.note))


@router.get("/history", summary="See how a threshold was changed", responses=problems(401, 403, 404, 422, 503))
def get_threshold_history(
    collection: Collection,
    caller: CallerDependency,
    mode: Annotated[Mode, Query(description="The mode it is for.")] = "best_span",
) -> HistoryBody:
    """All changes, the newest first."""
    caller.require("admin", collection)
    return HistoryBody(changes=list(map(Change.of, caller.backend.thresholds.history(collection, mode))))


@router.post("/undo", summary="Take a change back", responses=problems(400, 401, 403, 404, 409, 413, 422, 503))
def undo_threshold(collection: Collection, caller: CallerDependency, body: UndoBody | None = None) -> ModeThreshold:
    """Take the last change back that has not been taken back yet; once more takes back the one before."""
    caller.require("admin", collection)
    asked = body or UndoBody(mode="best_span", note="")
    return ModeThreshold.of(caller.backend.thresholds.undo(collection, asked.mode, asked.note))
