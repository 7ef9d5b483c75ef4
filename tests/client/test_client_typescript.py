"""The TypeScript client is built from the OpenAPI document and asks a server, by node's own test runner."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from docs import openapi_document
from tests.client.homes import Homes

ROOT = Path(__file__).parents[2]
MODULES = ROOT / ".generators" / "node_modules"
NODE = shutil.which("node")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client, built in a folder of its own: as `make typescript` builds it in place."""
    if NODE is None or not (MODULES / ".bin" / "tsc").exists():
        pytest.skip("node or its packages are not installed: run `make generators`")
    folder = tmp_path_factory.mktemp("typescript") / "client"
    ignored = shutil.ignore_patterns("node_modules", "dist", "openapi.json", "api.ts")
    shutil.copytree(ROOT / "client" / "typescript", folder, ignore=ignored)
    (folder / "node_modules").symlink_to(MODULES)
    openapi_document.written(folder / "openapi.json")
    said = run(folder, "npm", "run", "--silent", "build")
    assert (folder / "dist" / "index.d.ts").exists(), said
    return folder


def run(folder: Path, *command: str, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=400
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


@pytest.mark.slow("needs node and its packages")
@pytest.mark.timeout(900)
def test_the_client_asks_a_server(built: Path, homes: Homes) -> None:
    said = run(built, "node", "--test", "test/", SPANSEEK_URL=homes.connected.url)
    assert "# fail 0" in said
    assert "# pass 7" in said


@pytest.mark.slow("needs node and its packages")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "wrong",
    [
        'void client.call("get", "/nowhere", {});',
        'void client.call("delete", "/search", {});',
        'void client.call("get", "/collections/{collection}", {});',  # without its path
        'void client.collection("calls").search({ text: "x", top_k: "many" });',
    ],
)
def test_what_the_api_does_not_have_does_not_compile(built: Path, wrong: str) -> None:
    source = built / "src" / "wrong.ts"
    source.write_text(f'import {{ Client }} from "./index.js";\nconst client = new Client();\n{wrong}\n')
    try:
        done = subprocess.run(["npx", "tsc", "--noEmit"], cwd=built, capture_output=True, text=True, timeout=400)
    finally:
        source.unlink()
    assert "src/wrong.ts(3," in done.stdout, done.stdout + done.stderr
