"""Encoders of other distributions are found through entry points, and loaded only when they are used."""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.requests import SearchRequest
from app.search.service import SearchService
from app.services import Services, open_store
from app.settings import Settings
from indexer.catalog import schema
from indexer.indexing.pipeline import IndexJob
from indexer.types import Recipe
from models.encoders.registry import ENCODERS, EncoderOptions, encoder_names, load_encoder, load_nuggets, weights_folder
from models.entry_points import installed
from models.errors import UnknownEncoder
from tests.workspace import document

MODULE = """
from models.encoders.hashing import HashingEncoder
from models.encoders.registry import EncoderFactory

FACTORY = EncoderFactory(lambda options: HashingEncoder(dim=16))
NO_FACTORY = HashingEncoder
"""
ENTRY_POINTS = """
[spanseek.encoders]
toy = toy_encoder:FACTORY
hashing = toy_encoder:FACTORY
broken = no_such_module:FACTORY
nameless = toy_encoder:NOTHING
alien = toy_encoder:NO_FACTORY
"""


@pytest.fixture(autouse=True)
def _distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A distribution with a toy encoder, installed while a test runs."""
    metadata = tmp_path / "installed" / "toy-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    (metadata.parent / "toy_encoder.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(metadata.parent))
    installed.cache_clear()
    yield
    installed.cache_clear()
    sys.modules.pop("toy_encoder", None)


def test_a_collection_is_indexed_and_searched_with_an_installed_encoder(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", encoder="toy", engine="scan", _env_file=None)
    schema.upgrade(settings.catalog_url)
    store = open_store(settings)
    with closing(store.catalog):
        services = Services(settings, store)
        encoder = services.encoders.load(settings.encoder)
        assert encoder.dim == 16
        collection = store.catalog.create_collection("c", Recipe("toy", encoder.fingerprint, encoder.dim))
        IndexJob(store, encoder, collection).run([document("a", "Please cancel my subscription.")])
        (answer,) = services.get(SearchService).search(SearchRequest("c", text="cancel my subscription", top_k=1))
    assert [(hit.document_id, hit.text) for hit in answer.hits] == [("a", "cancel my subscription")]
    assert answer.hits[0].raw == pytest.approx(1, abs=1e-3)


def test_entry_points_are_listed_and_not_loaded() -> None:
    assert set(encoder_names()) == {*ENCODERS, "toy", "broken", "nameless", "alien"}
    assert load_encoder("hashing").dim == 64
    assert weights_folder("slice", EncoderOptions()) is not None
    assert "toy_encoder" not in sys.modules


def test_an_installed_encoder_may_have_neither_weights_nor_nuggets() -> None:
    assert weights_folder("toy", EncoderOptions(weights=Path("mine"))) is None
    with pytest.raises(UnknownEncoder, match="toy has no nuggets"):
        load_nuggets("toy")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("broken", "cannot be loaded from no_such_module:FACTORY"),
        ("nameless", "cannot be loaded from toy_encoder:NOTHING"),
        ("alien", "is not an EncoderFactory"),
        ("magic", "There is no encoder named 'magic'"),
    ],
)
def test_an_encoder_that_cannot_be_loaded_says_why(name: str, reason: str) -> None:
    with pytest.raises(UnknownEncoder, match=reason) as refused:
        load_encoder(name)
    assert refused.value.field == "encoder"
    assert refused.value.hint
