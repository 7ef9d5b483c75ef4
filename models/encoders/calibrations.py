"""The default calibration of an encoder, stored in ``calibration.json`` beside its weights.

The file has an entry for every encoder that uses the weights, by its fingerprint. An entry with another fingerprint
was fitted to other weights, and is not used.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from models.artifacts import read_entries, write_entry
from models.errors import BackboneMismatch
from models.ops.calibrate import Knots, check_knots
from models.types import JsonValue, SpanBounds

FILE = "calibration.json"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NoMatch:
    """The best score of a phrase in unrelated text, by the size of the text.

    In texts of ``units[n]`` units, the best span has a raw with median ``median[n]`` and 95th percentile ``high[n]``.
    Measured for spans within ``bounds`` and this number of ``phrases``; ``data`` describes them.
    """

    bounds: SpanBounds
    units: tuple[int, ...]
    median: tuple[float, ...]
    high: tuple[float, ...]
    phrases: int
    data: str

    def at(self, units: int) -> tuple[float, float]:
        """``median`` and ``high`` for a collection of any size: linear interpolation and extrapolation in log units.

        >>> measured = NoMatch(SpanBounds(), (100, 10_000), (0.5, 0.7), (0.6, 0.8), 10, "made up")
        >>> [round(raw, 3) for raw in measured.at(1000)], [round(raw, 3) for raw in measured.at(1_000_000)]
        ([0.6, 0.7], [0.9, 1.0])
        """
        x, size = np.log(self.units), np.log(max(units, 1))
        # Beyond the ends, extrapolate the line through the last two points.
        n = int(np.clip(np.searchsorted(x, size) - 1, 0, len(x) - 2))
        share = (size - x[n]) / (x[n + 1] - x[n])
        median, high = (of[n] + share * (of[n + 1] - of[n]) for of in (self.median, self.high))
        return float(np.clip(median, 0, 1)), float(np.clip(high, 0, 1))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "NoMatch":
        """Parse an entry of the file."""
        columns = {name: tuple(value[name]) for name in ("units", "median", "high")}
        return cls(SpanBounds(**value["bounds"]), **columns, phrases=value["phrases"], data=value["data"])


@dataclass(frozen=True, slots=True)
class DefaultCalibration:
    """A map from raw to score for one encoder, fitted to ``pairs`` with human grades, and how it was fitted."""

    knots: tuple[tuple[float, float], ...]
    method: str
    pairs: int
    seed: int
    data: str
    figures: Mapping[str, JsonValue]
    no_match: NoMatch | None = None
    span_score: str = ""  # the fingerprint of the score it was fitted to; empty: the literal cosine

    @property
    def map(self) -> Knots:
        """The knots as ``models.ops.calibrate`` takes them."""
        return np.array(self.knots, np.float64)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "DefaultCalibration":
        """Parse an entry of the file. Raises ``ValueError``, ``KeyError`` or ``TypeError`` if it is invalid."""
        given = dict(value)
        knots = tuple((float(raw), float(score)) for raw, score in given.pop("knots"))
        check_knots(np.array(knots, np.float64))
        no_match = given.pop("no_match", None)
        return cls(knots, **given, no_match=NoMatch.from_json(no_match) if no_match else None)


def read_default(folder: Path, fingerprint: str) -> DefaultCalibration | None:
    """The default calibration of the encoder with this fingerprint; None if the folder has none.

    Logs a warning if the file has entries, but none for this encoder. Raises ``BackboneMismatch`` for an unreadable
    file.
    """
    try:
        entries = read_entries(folder / FILE)
    except ValueError as error:
        raise _unreadable(folder, error) from error
    if entries and fingerprint not in entries:
        _log.warning("%s was made for other weights than %s: score equals raw", folder / FILE, fingerprint)
    if fingerprint not in entries:
        return None
    try:
        return DefaultCalibration.from_json(entries[fingerprint])
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(folder, error) from error


def write_default(folder: Path, fingerprint: str, calibration: DefaultCalibration) -> Path:
    """Store a calibration beside the weights, replacing the encoder's; other entries stay."""
    entry: dict[str, JsonValue] = json.loads(json.dumps(asdict(calibration), sort_keys=True))
    write_entry(folder / FILE, fingerprint, entry)
    return folder / FILE


def _unreadable(folder: Path, error: Exception) -> BackboneMismatch:
    return BackboneMismatch(
        f"{folder / FILE} is not a calibration: {error}.",
        hint="Remove it, or make it again with spanseek train calibration; without it score equals raw.",
    )
