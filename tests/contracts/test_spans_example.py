"""The worked example of ``docs/spans.md`` runs as it stands there."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.http.app import create_app
from app.settings import Settings
from indexer.catalog.schema import upgrade

PAGE = Path(__file__).parents[2] / "docs" / "spans.md"
HIGHLIGHT, ELASTICSEARCH, QDRANT, CALL = re.findall(
    r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
)
BODIES = {"7": "Hello <b>you</b> 😀. Cancel my subscription. Thanks!", "9": "Nothing."}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    settings = Settings(_env_file=None, data_dir=tmp_path_factory.mktemp("data"), encoder="hashing", database_url="")
    upgrade(settings.catalog_url)
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        yield client


def elasticsearch_search(**_: Any) -> dict[str, Any]:
    return {"hits": {"hits": [{"_id": id, "_source": {"body": body}} for id, body in BODIES.items()]}}


def query_points(*_: Any, **__: Any) -> SimpleNamespace:
    return SimpleNamespace(points=[SimpleNamespace(id=int(id), payload={"body": body}) for id, body in BODIES.items()])


@pytest.mark.parametrize("engine", [ELASTICSEARCH, QDRANT], ids=["elasticsearch", "qdrant"])
def test_the_results_of_an_engine_are_highlighted(server: TestClient, engine: str) -> None:
    names: dict[str, Any] = {
        "elasticsearch": SimpleNamespace(search=elasticsearch_search),
        "qdrant": SimpleNamespace(query_points=query_points),
        "phrase": "cancel my subscription",
        "vector": [1.0],
    }
    exec(HIGHLIGHT + engine, names)
    assert names["texts"] == BODIES
    snippets = names["highlight"](server, names["phrase"], names["texts"])
    assert snippets["7"].count("<mark>Cancel my subscription.</mark>") == 1
    assert "&lt;b&gt;" in snippets["7"]
    assert snippets.keys() == BODIES.keys()
    assert re.sub("</?mark>", "", snippets["9"]) == "Nothing."


def test_the_call_names_what_was_defined() -> None:
    compile(CALL, str(PAGE), "exec")
    assert "highlight(spanseek, phrase, texts)" in CALL
