"""The default calibration of an encoder: what its raws mean out of the box, in ``calibration.json`` beside its weights.

The file has an entry for every encoder that the weights make, by its fingerprint. An entry whose fingerprint is not the
encoder's was made of other weights, and is not used.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from models.atomic import replacing
from models.checksums import read_checked, record_checksums
from models.errors import BackboneMismatch
from models.ops.calibrate import Knots, check_knots
from models.types import JsonValue, SpanBounds

FILE = "calibration.json"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NoMatch:
    """How high the best span of text scores that has nothing to do with a phrase, by how much of it is searched.

    Of texts of ``units[n]`` units, half have a best span up to ``median[n]`` on raw, and nineteen of twenty up to
    ``high[n]``. It was measured for spans within ``bounds``, of so many ``phrases``; ``data`` says which.
    """

    bounds: SpanBounds
    units: tuple[int, ...]
    median: tuple[float, ...]
    high: tuple[float, ...]
    phrases: int
    data: str

    def at(self, units: int) -> tuple[float, float]:
        """``median`` and ``high`` for a collection of any size, between and beyond those measured: linear in log units.

        >>> told = NoMatch(SpanBounds(), (100, 10_000), (0.5, 0.7), (0.6, 0.8), 10, "made up")
        >>> [round(raw, 3) for raw in told.at(1000)], [round(raw, 3) for raw in told.at(1_000_000)]
        ([0.6, 0.7], [0.9, 1.0])
        """
        x, asked = np.log(self.units), np.log(max(units, 1))
        # Beyond the ends the line of the last two points goes on.
        n = int(np.clip(np.searchsorted(x, asked) - 1, 0, len(x) - 2))
        share = (asked - x[n]) / (x[n + 1] - x[n])
        median, high = (of[n] + share * (of[n + 1] - of[n]) for of in (self.median, self.high))
        return float(np.clip(median, 0, 1)), float(np.clip(high, 0, 1))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "NoMatch":
        """From what the file holds."""
        columns = {name: tuple(value[name]) for name in ("units", "median", "high")}
        return cls(SpanBounds(**value["bounds"]), **columns, phrases=value["phrases"], data=value["data"])


@dataclass(frozen=True, slots=True)
class DefaultCalibration:
    """A map from raw to score for one encoder, learned from ``pairs`` that people graded, and how it was found."""

    knots: tuple[tuple[float, float], ...]
    method: str
    pairs: int
    seed: int
    data: str
    figures: Mapping[str, JsonValue]
    no_match: NoMatch | None = None

    @property
    def map(self) -> Knots:
        """The knots as ``models.ops.calibrate`` takes them."""
        return np.array(self.knots, np.float64)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "DefaultCalibration":
        """From what the file holds. Raises ``ValueError``, ``KeyError`` or ``TypeError`` for what is no calibration."""
        given = dict(value)
        knots = tuple((float(raw), float(score)) for raw, score in given.pop("knots"))
        check_knots(np.array(knots, np.float64))
        no_match = given.pop("no_match", None)
        return cls(knots, **given, no_match=NoMatch.from_json(no_match) if no_match else None)


def read_default(folder: Path, fingerprint: str) -> DefaultCalibration | None:
    """The default calibration of the encoder with this fingerprint; none where the folder has none.

    A file that has some, but none for this encoder, is told of in the log. Raises ``BackboneMismatch`` for a file that
    cannot be read.
    """
    entries = _entries(folder)
    if entries and fingerprint not in entries:
        _log.warning("%s was made for other weights than %s: score starts as raw", folder / FILE, fingerprint)
    if fingerprint not in entries:
        return None
    try:
        return DefaultCalibration.from_json(entries[fingerprint])
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(folder, error) from error


def write_default(folder: Path, fingerprint: str, made: DefaultCalibration) -> Path:
    """Keep a calibration beside the weights, instead of the one that the encoder had; other entries stay."""
    path = folder / FILE
    entries = _entries(folder) | {fingerprint: asdict(made)}
    lines = [f"{json.dumps(name)}: {json.dumps(entry, sort_keys=True)}" for name, entry in sorted(entries.items())]
    with replacing(path) as partial:
        partial.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    record_checksums(folder)
    return path


def _entries(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        found = json.loads(read_checked(path))
    except ValueError as error:
        raise _unreadable(folder, error) from error
    if not isinstance(found, dict):
        raise _unreadable(folder, TypeError("it is no object"))
    return found


def _unreadable(folder: Path, error: Exception) -> BackboneMismatch:
    return BackboneMismatch(
        f"{folder / FILE} is no calibration: {error}.",
        hint="Remove it and make it again with spanseek train calibration; without it score starts as raw.",
    )
