"""Generators of clients read the OpenAPI document without a warning, and make every operation of it.

`make generators` installs them apart from the product, whose dependencies they do not share.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.http.app import create_app
from app.http.openapi_schemas import share_objects
from app.settings import Settings

CONFIG = Path(__file__).parents[2] / "docs" / "openapi-python-client.yaml"
GENERATORS = Path(__file__).parents[2] / ".generators"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_app(Settings(_env_file=None)).openapi()


@pytest.fixture
def path(document: dict[str, Any], tmp_path: Path) -> Path:
    written = tmp_path / "openapi.json"
    written.write_text(json.dumps(document))
    return written


def operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for item in document["paths"].values() for operation in item.values()]


def generate(name: str, *arguments: str | Path) -> str:
    """What a generator says that succeeds."""
    path = os.pathsep.join([str(GENERATORS / "bin"), str(GENERATORS / "node_modules" / ".bin"), os.environ["PATH"]])
    program = shutil.which(name, path=path)
    if program is None:
        pytest.skip(f"{name} is not installed: run `make generators`")
    environment = os.environ | {"PATH": path}  # they call others
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=300, env=environment)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


@pytest.mark.slow("needs generators of clients")
def test_openapi_python_client_makes_every_operation(document, path: Path, tmp_path: Path) -> None:
    target = tmp_path / "client"
    arguments = ("--path", path, "--config", CONFIG, "--meta", "none", "--output-path", target)
    said = generate("openapi-python-client", "generate", *arguments)
    assert not re.search("warning|unable|error|omitted|not be generated", said, re.IGNORECASE), said
    made = {file.stem for file in (target / "api").rglob("*.py")} - {"__init__"}
    assert made == {operation["operationId"] for operation in operations(document)}


@pytest.mark.slow("needs generators of clients")
def test_openapi_typescript_makes_every_operation(document, path: Path, tmp_path: Path) -> None:
    target = tmp_path / "client.d.ts"
    said = generate("openapi-typescript", path, "--output", target)
    assert not re.search("warn|error|unable", said, re.IGNORECASE), said
    block = re.search(r"export interface operations \{\n(.*?)\n\}", target.read_text(), re.DOTALL)
    assert block is not None
    made = set(re.findall(r"^ {4}(\w+): \{$", block[1], re.MULTILINE))
    assert made == {operation["operationId"] for operation in operations(document)}


def test_names_of_schemas_are_unique_and_readable(document) -> None:
    """Pydantic names two classes of one name by their modules."""
    schemas = document["components"]["schemas"]
    assert all(re.fullmatch(r"[A-Z][A-Za-z0-9]+(_[A-Za-z0-9]+)*", name) and "__" not in name for name in schemas)


def test_two_objects_of_one_name_are_found() -> None:
    point = {"title": "Point", "type": "object", "properties": {"x": {"type": "number"}}}
    other = point | {"properties": {}}
    with pytest.raises(ValueError, match="Point"):
        share_objects({"components": {"schemas": {"A": {"items": point}, "B": {"items": other}}}})


def test_every_body_and_answer_has_a_type(document) -> None:
    for operation in operations(document):
        contents = [operation.get("requestBody", {}), *operation["responses"].values()]
        for media_type, content in ((kind, one) for each in contents for kind, one in each.get("content", {}).items()):
            assert content.get("schema"), f"{operation['operationId']}: {media_type}"
        for status, response in operation["responses"].items():
            assert response.get("content") or status in ("204", "304"), f"{operation['operationId']}: {status}"
            assert response["description"]
