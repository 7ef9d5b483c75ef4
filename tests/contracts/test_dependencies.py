"""Every distribution that the product imports is declared, and bounded above where private parts of it are used."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("app", "indexer", "models", "migrations")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
REQUIREMENTS = [
    *PROJECT["dependencies"],
    *(each for extra in PROJECT["optional-dependencies"].values() for each in extra),
]


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def named(requirement: str) -> str:
    return normalized(re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0])


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_everything_imported_is_declared() -> None:
    sources = [path for room in PRODUCT for path in (ROOT / room).rglob("*.py")]
    modules = {name.partition(".")[0] for path in sources for name in imported(ast.parse(path.read_text("utf-8")))}
    foreign = modules - set(sys.stdlib_module_names) - set(PRODUCT)
    assert {"llvmlite", "huggingface_hub", "uvicorn"} <= foreign
    declared, distributions = {named(each) for each in REQUIREMENTS}, packages_distributions()
    undeclared = {name for name in foreign if declared.isdisjoint(map(normalized, distributions.get(name, [])))} - {
        "faiss",
        "opentelemetry",
    }  # of extras that need not be installed; their names differ by platform
    assert undeclared == set()
    assert {"faiss-cpu", "opentelemetry-api"} <= declared


@pytest.mark.parametrize("name", ["python-oxmsg"])
def test_distributions_with_private_parts_in_use_have_an_upper_bound(name: str) -> None:
    assert any(named(each) == name and "<" in each for each in REQUIREMENTS)
