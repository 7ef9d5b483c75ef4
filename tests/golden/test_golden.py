"""What must not change unnoticed: where units are, and what stands in a segment's files.

A change here changes every collection on every disk. Where it is meant, add a ``TextForm`` or raise
``FORMAT_VERSION``, say so in an ADR, and write the file anew: ``python -m tests.golden.test_golden``.
"""

import hashlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import pytest

from indexer.indexing.encode import encode, split
from indexer.segments import layout
from indexer.segments.manifest import read_manifest
from indexer.segments.writer import SegmentWriter
from indexer.types import Recipe
from models.encoders.hashing import HashingEncoder
from models.text import units
from models.text.units import OLDEST, TextForm
from models.types import Document, Part, SpanBounds

FOLDER = Path(__file__).parent
UNITS = {form: FOLDER / f"units.{form.removeprefix('text.')}.json" for form in get_args(TextForm)}
SEGMENT = FOLDER / "segment.v1.json"
STABLE = [
    layout.VECTORS, layout.SCALES, layout.UNIT_SPANS, layout.NORM_CODES,
]  # fmt: skip

DOCUMENTS = [
    Document(
        "call-1",
        (
            Part("Good morning, how can I help you?", {"speaker": "agent"}),
            Part("I'd like to cancel; I've paid €3.14 too much.", {"speaker": "customer"}),
            Part("", {"speaker": "agent"}),
        ),
        {"kind": "conversation", "year": 2024},
    ),
    Document("contract-1", (Part("Either party may end this agreement. " * 20),), {"kind": "contract"}),
    Document("scripts", (Part("中文 สวัสดี שלום 😀 👩‍👩‍👧 e\u0301\r\n\0 " + "x" * 200),)),
    Document("empty", ()),
]


def units_of(text: str, form: TextForm) -> list[str]:
    return [text[start:end] for start, end in units.split(text, form)]


def segment_facts(folder: Path) -> dict[str, object]:
    encoder = HashingEncoder(dim=16, window=32)
    recipe = Recipe("hashing", encoder.fingerprint, encoder.dim, SpanBounds(1, 8), text=OLDEST)
    with SegmentWriter(folder, recipe) as writer:
        for pool in encode(encoder, split(encoder, [(document, "") for document in DOCUMENTS], OLDEST), 256):
            for item in pool.documents:
                writer.add_document(item.document, item.content_hash, item.part_units)
            writer.add_vectors(pool.vectors)
        info = writer.finish()
    manifest = read_manifest(folder, info.manifest_sha256)
    return {
        "format": layout.FORMAT_VERSION,
        "fingerprint": encoder.fingerprint,
        "documents": manifest.documents,
        "parts": manifest.parts,
        "units": manifest.units,
        "code_points": manifest.code_points,
        "files": {name: manifest.files[name].sha256 for name in STABLE},
    }


@pytest.mark.parametrize("form", UNITS)
def test_units_are_where_they_were(form: TextForm) -> None:
    golden = json.loads(UNITS[form].read_text("utf-8"))
    assert golden["version"] == UNITS[form].stem
    assert len(golden["texts"]) >= 30
    for text, expected in golden["texts"]:
        assert units_of(text, form) == expected


def test_segments_hold_the_same_bits(tmp_path: Path) -> None:
    assert segment_facts(tmp_path / "golden") == json.loads(SEGMENT.read_text("utf-8"))


@pytest.mark.parametrize("path", [*UNITS.values(), SEGMENT], ids=lambda path: path.name)
def test_golden_files_are_plain(path: Path) -> None:
    assert path.read_text("utf-8").endswith("}\n")
    assert hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    """Write the segment's file anew; the units' file is written by hand, for it says what is right."""
    with TemporaryDirectory() as folder:
        facts = segment_facts(Path(folder) / "golden")
    SEGMENT.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
