"""The client is what the server's code says, and stands on little."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from app.http.app import create_app
from app.settings import Settings
from docs import client_code
from docs.client_code.schemas import operations_of
from spanseek.asynchronous.api import AsyncApi
from spanseek.synchronous.api import Api

PACKAGE = Path(__file__).parents[2] / "client" / "spanseek"
CORE = [path for path in PACKAGE.rglob("*.py") if not {"integrations", "mcp"} & set(path.parts)]


def test_generated_files_are_as_the_code_has_them() -> None:
    old = [path.name for path, text in client_code.files().items() if path.read_text("utf-8") != text]
    assert old == [], "python -m docs.generate"


@pytest.mark.parametrize("api", [Api, AsyncApi])
def test_every_operation_of_the_api_has_a_method(api: type) -> None:
    document = create_app(Settings(_env_file=None)).openapi()
    names = {operation["operationId"] for _, _, operation in operations_of(document)}
    assert {name for name in vars(api) if not name.startswith("_")} == names


@pytest.mark.parametrize("path", CORE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_client_imports_httpx_and_pydantic_alone(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    imported = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in tree.body if isinstance(node, ast.ImportFrom)}
    known = {*sys.stdlib_module_names, "spanseek", "httpx", "pydantic", "pydantic_core"}
    assert {name.partition(".")[0] for name in imported} <= known


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import spanseek", {"asyncio", "httpx", "numpy", "pydantic", "ssl"}),
        ("import spanseek; spanseek.connect()", {"app", "numpy", "pandas", "pyarrow", "torch"}),
    ],
)
def test_the_import_loads_nothing_heavy(code: str, heavy: set[str]) -> None:
    script = f"import sys\n{code}\nprint({heavy} & sys.modules.keys() or 'light')"
    said = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True).stdout
    assert said == "light\n"
