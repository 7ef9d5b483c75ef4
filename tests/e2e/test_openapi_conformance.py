"""Requests that the OpenAPI document allows, and such that it does not: no 5xx, and every answer as documented."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import FlakyStrategyDefinition

from app.settings import Settings
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import create_key
from indexer.catalog.schema import upgrade
from tests.examples import examples
from tests.serving import running

schemathesis = pytest.importorskip("schemathesis")

# Half of the requests go to this collection, which exists; few names that are drawn do.
NAME = "sample"
DOCUMENTS = [{"id": f"call-{n}", "text": f"Ticket {n}. I want to cancel.", "metadata": {"n": n}} for n in range(20)]
# `make conformance` tries 200 for each operation, which takes minutes.
EXAMPLES = int(os.environ.get("OPENAPI_EXAMPLES", examples(30)))
PARTS = 2
# As long as a server may take that loads a model first, and longer than its own deadlines.
_TIMEOUT_S = 120


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server with the encoder hashing, a collection with a phrase, and an alias of it, and a client with a key.

    Without a key all requests after the one that makes the first would be refused.
    """
    data_dir = tmp_path_factory.mktemp("data")
    made = Settings(_env_file=None, data_dir=data_dir, encoder="hashing", database_url="")
    upgrade(made.catalog_url)
    with closing(Catalog(made.catalog_url)) as catalog:
        _, token = create_key(catalog, "all", ["admin"])
    with running(made) as (_, client):
        client.headers = {"Authorization": f"Bearer {token}"}
        for method, path, body in (
            ("PUT", f"/collections/{NAME}", {"words": True}),
            ("POST", f"/collections/{NAME}/documents", DOCUMENTS),
            ("POST", f"/collections/{NAME}/phrases", {"name": "a", "text": "cancel"}),
            ("PUT", "/aliases/a", {"collection": NAME}),
        ):
            assert client.request(method, path, json=body).is_success
        yield client


@pytest.mark.slow("hundreds of generated requests of every operation")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_operation_answers_as_documented(server: httpx.Client, part: int) -> None:
    from schemathesis.openapi import from_url

    operations = [
        result.ok() for result in from_url(f"{str(server.base_url).rstrip('/')}/openapi.json").get_all_operations()
    ]
    assert len(operations) > 50
    for operation in operations[part::PARTS]:
        check_operation(operation, dict(server.headers))


def checks() -> list[Any]:
    """What is true of every answer."""
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    return [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def check_operation(operation: Any, headers: dict[str, str]) -> None:
    """Send valid and invalid requests to one operation, and check every answer."""
    from schemathesis import GenerationMode

    key = {"Authorization": headers["authorization"]}
    cases = st.one_of([operation.as_strategy(generation_mode=mode) for mode in GenerationMode])

    @settings(max_examples=EXAMPLES, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(cases, st.booleans())
    def answers(case: Any, exists: bool) -> None:
        if exists and operation.label != "DELETE /collections/{collection}":
            name_the_collection(case)
        wait_no_longer(case)
        case.call_and_validate(checks=checks(), headers=key, timeout=_TIMEOUT_S)

    answers()


@pytest.mark.slow("hundreds of generated requests of every operation")
@pytest.mark.timeout(1800)
def test_operations_on_what_others_made_answer_as_documented(server: httpx.Client) -> None:
    """Walks of several requests: each may name the collection, document, phrase, key or task of an earlier answer."""
    from schemathesis import GenerationMode
    from schemathesis.openapi import from_url

    key = {"Authorization": dict(server.headers)["authorization"]}
    own = {each["id"] for each in server.get("/admin/keys").json()["keys"]}
    followed = Counter[str]()
    schema = from_url(f"{str(server.base_url).rstrip('/')}/openapi.json")
    schema.config.generation.update(modes=[GenerationMode.POSITIVE])  # what is refused makes nothing to go on with
    machine: Any = schema.as_state_machine()

    class Walk(machine):  # type: ignore[misc]
        def before_call(self, case: Any) -> None:
            wait_no_longer(case)
            if case.operation.label != "DELETE /collections/{collection}":
                name_the_collection(case)  # walks begin with posts, and a post makes no collection
            if (case.path_parameters or {}).get("id") in own:
                case.path_parameters["id"] = "another"

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"headers": key, "timeout": _TIMEOUT_S}

        def validate_response(self, response: Any, case: Any, *others: Any, **named: Any) -> None:
            followed[case.operation.label] += response.status_code < 300
            case.validate_response(response, checks=checks())

    few = settings(
        max_examples=10,
        stateful_step_count=8,
        phases=[Phase.generate],
        derandomize=False,
        suppress_health_check=list(HealthCheck),
    )
    for number in range(EXAMPLES):
        # A walk finds what the ones before it made, so that the same requests are answered otherwise.
        with suppress(FlakyStrategyDefinition):
            seed(number)(Walk).run(settings=few)
    assert len(+followed) > 12, followed


def name_the_collection(case: Any) -> None:
    """Let a request name the collection that exists."""
    if "collection" in (case.path_parameters or {}):
        case.path_parameters["collection"] = NAME
    if isinstance(case.body, dict):
        for key, value in (("collection", NAME), ("collections", [NAME])):
            if key in case.body:
                case.body[key] = value


def wait_no_longer(case: Any) -> None:
    """Replace a valid time to wait for a task, or for events: it may be longer than the client waits for answers."""
    if case.operation.path.endswith("/matches/stream"):
        case.query = {"wait": 0} | {key: value for key, value in (case.query or {}).items() if key != "wait"}
    with suppress(TypeError, ValueError, KeyError):
        if 0 <= float(case.query["wait"]) <= 60:
            case.query["wait"] = 0
