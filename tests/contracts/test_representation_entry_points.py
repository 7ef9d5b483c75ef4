"""A representation of another distribution, with an option of its own: one module and an entry point."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from indexer.errors import RecipeMismatch
from indexer.representations.registry import GROUP, representation, representations

MODULE = '''
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from indexer.representations.base import EncodedWindow, Representation, Wanted
from indexer.representations.columns import ArrayRows, ColumnRepresentation
from indexer.representations.stored import StoredDetails
from indexer.segments.mapping import mapped
from indexer.types import Details
from models.encoders.registry import Models


@dataclass(frozen=True)
class LengthOptions:
    """Which lengths count."""

    most: Annotated[int, Field(ge=1, description="Longer units count as this long.")] = 100


@dataclass(frozen=True)
class LengthAnswer:
    """The lengths of a collection."""

    most: int
    fingerprint: str


class LengthDetails(StoredDetails):
    """The details of a recipe with lengths."""

    most: Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class LengthRows(ArrayRows):
    """The number of characters of every unit."""

    lengths: np.ndarray
    units: np.ndarray


class Lengths(ColumnRepresentation, Representation[LengthRows]):
    """The number of characters of every unit, as uint16."""

    name = "lengths"
    description = "Store the lengths of units."
    options = LengthOptions
    answer = LengthAnswer
    stored = LengthDetails
    columns = {"lengths.u16": "<u2", "length_units.u32": "<u4"}
    rows_a_piece = 65_536

    def details(self, wanted: Wanted, models: Models) -> Details:
        return {"fingerprint": "lengths.v1", "most": wanted.options.most}

    def rows(self, window: EncodedWindow) -> LengthRows:
        spans = window.units.spans
        return LengthRows(spans[:, 1] - spans[:, 0], np.arange(len(spans)) + window.first_unit)

    def join(self, rows: Sequence[LengthRows], details: Details) -> LengthRows:
        joined = LengthRows(np.zeros(0, np.int64), np.zeros(0, np.int64)).followed_by(rows)
        return LengthRows(np.minimum(joined.lengths, details["most"]), joined.units)

    def open(self, folder: Path, details: Details, count: int, files: Collection[str]) -> LengthRows:
        return LengthRows(*(mapped(folder / name, dtype, (count,)) for name, dtype in self.columns.items()))
'''

# Entry points are read when the process starts.
CHILD = """
import json, sys
from contextlib import closing
from pathlib import Path
from fastapi.testclient import TestClient
from typer.testing import CliRunner
from app.cli import cli
from app.services import open_store
from app.main import create_app
from app.settings import Settings

data = Path(sys.argv[1])
settings = Settings(data_dir=data, encoder="hashing", words=False, grace_s=0)

def run(*arguments):
    done = CliRunner().invoke(cli, arguments)
    assert not done.exception, (arguments, done.exception)
    return json.loads(done.stdout.splitlines()[-1])

def stored(name):
    store = open_store(settings)
    with closing(store.catalog):
        segments = [view.segment for view in store.snapshot(name).views]
        return sorted(segment.stored["lengths"].lengths.tolist() for segment in segments)

run_init = CliRunner().invoke(cli, ["init-db"])
for document, text in (("a", "Cancel my plan."), ("b", "Keep it.")):
    (data / "one.ndjson").write_text(json.dumps({"id": document, "text": text}))
    report = run("index", "-c", "calls", "--source", str(data / "one.ndjson"), "--with", "lengths=4", "--json")
before = stored("calls")
run("optimize", "-c", "calls", "--json")
merged = stored("calls")
run("reindex", "-c", "calls", "--max-span", "5", "--json")
shown = run("collections", "show", "calls", "--json")
with TestClient(create_app(settings), base_url="http://localhost") as client:
    body = {"representations": {"lengths": {"most": 4}}, "span_units": {"shortest": 1, "longest": 5}}
    made = client.put("/collections/other", json=body).json()
    same = client.put("/collections/calls", json=body).status_code
    refused = client.put("/collections/third", json={"representations": {"lengths": {"most": 0}}}).json()
    hint = client.put("/collections/third", json={"representations": {"lenghts": {}}}).json()["hint"]
    schema = client.get("/openapi.json").json()["components"]["schemas"]["CreateCollectionBody"]
print(json.dumps({
    "report": report["lengths"],
    "before": before, "merged": merged, "reindexed": stored("calls"),
    "shown": [shown["representations"], shown["lengths"]],
    "made": made["lengths"], "same": same,
    "refused": [refused["code"], refused["errors"][0]["field"]],
    "hint": hint,
    "listed": "lengths" in schema["properties"]["representations"]["anyOf"][0]["properties"],
}))
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    metadata = tmp_path / "installed" / "lengths-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: lengths\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\nlengths = length_columns:Lengths\n")
    (metadata.parent / "length_columns.py").write_text(MODULE)
    return metadata.parent


@pytest.mark.ci("a distribution of its own")
def test_a_representation_is_one_package_and_an_entry_point(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name, value in {"DATA_DIR": str(data), "ENCODER": "hashing", "WORDS": "false", "GRACE_S": "0"}.items():
        monkeypatch.setenv(f"SPANSEEK_{name}", value)
    paths = f"import sys; sys.path[:0] = [{str(installed)!r}, {str(Path.cwd())!r}]\n"
    command = [sys.executable, "-c", paths + CHILD, str(data)]
    child = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert child.returncode == 0, child.stderr
    lengths = [4, 2, 4, 1, 4, 2, 1]
    assert json.loads(child.stdout.splitlines()[-1]) == {
        "report": 3,
        "before": sorted([lengths[:4], lengths[4:]]),
        "merged": [lengths],
        "reindexed": [lengths],
        "shown": [["units", "lengths"], {"most": 4, "fingerprint": "lengths.v1"}],
        "made": {"most": 4, "fingerprint": "lengths.v1"},
        "same": 200,
        "refused": ["invalid_input", "representations.lengths"],
        "hint": f"Did you mean lengths? Known are {', '.join(sorted([*representations(), 'lengths']))}.",
        "listed": True,
    }


def test_representations_of_the_product_are_found_by_their_names() -> None:
    assert {name: each.name for name, each in representations().items()} == {name: name for name in representations()}


def test_a_representation_that_is_not_installed_is_said_to_be() -> None:
    with pytest.raises(RecipeMismatch, match="stores lengths") as caught:
        representation("lengths")
    assert "Install the distribution" in caught.value.hint
