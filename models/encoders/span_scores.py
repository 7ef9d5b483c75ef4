"""The span score of an encoder, stored in ``span_score.json`` beside its weights.

The file has an entry for every encoder that uses the weights, by its fingerprint: ``discount``, ``start``, ``end``,
``crossing``, ``whole_share``, ``part_share`` and ``context_share`` as in :class:`models.ops.span_score.SpanScore`. The
last four may be missing; parts then have the share of other whole spans. An encoder without an entry has the literal
cosine.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from models.artifacts import read_entries, write_entry
from models.errors import BackboneMismatch
from models.ops.span_score import COSINE, SpanScore

FILE = "span_score.json"


def read_span_score(folder: Path, fingerprint: str) -> SpanScore:
    """The span score of the encoder with this fingerprint. Raises ``BackboneMismatch`` for an unreadable file."""
    path = folder / FILE
    try:
        entry: dict[str, Any] | None = read_entries(path).get(fingerprint)
        if entry is None:
            return COSINE
        borders = tuple(entry["start"]), tuple(entry["end"])
        whole_share = entry.get("whole_share", 1.0)
        shares = whole_share, entry.get("part_share", whole_share), entry.get("context_share", 0.0)
        return SpanScore(entry["discount"], *borders, entry.get("crossing", 0.0), *shares)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BackboneMismatch(
            f"{path} is not a span score: {error}.",
            hint="Restore the file, or remove it; without it spans are ranked by their cosine.",
        ) from error


def write_span_score(folder: Path, fingerprint: str, score: SpanScore) -> None:
    """Write the span score of the encoder with this fingerprint beside its weights; other entries stay."""
    write_entry(folder / FILE, fingerprint, asdict(score))
