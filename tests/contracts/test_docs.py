"""The documentation is whole: every route, error code and setting is in it, as it is in the code."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import app
import indexer
import models
from app.http.app import create_app
from app.http.problems import status_of
from app.settings import Settings
from docs.generate import PAGES, options, updated
from models.errors import SpanseekError

DOCS = Path(__file__).parents[2] / "docs"
PLUGINS = [path.parent.name for path in DOCS.parent.glob("plugins/*/spanseek_*/__init__.py")]


def rows(name: str) -> dict[str, list[str]]:
    """The rows of all tables of a page whose first cell is code, by that."""
    lines = (DOCS / name).read_text("utf-8").splitlines()
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `"))
    return {first.strip("`"): rest for first, *rest in cells}


def error_classes() -> Iterator[type[SpanseekError]]:
    plugins = map(importlib.import_module, PLUGINS)
    for package in (app, indexer, models, *plugins):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    waiting = [SpanseekError]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind is not SpanseekError and kind.__module__.split(".")[0] in ("app", "indexer", "models", *PLUGINS):
            yield kind


def test_every_route_is_documented() -> None:
    text = "".join(page.read_text("utf-8") for page in DOCS.glob("api/*.md"))
    document = create_app(Settings(_env_file=None)).openapi()
    routes = {f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item}
    assert routes == set(re.findall(r"^#+ `(\w+ /\S*)`$", text, re.MULTILINE))


def test_every_error_code_is_documented() -> None:
    documented = {code: rest[0] for code, rest in rows("errors.md").items()}
    assert documented == {kind.code: str(status_of(kind).value) for kind in error_classes()}


def test_every_error_class_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in error_classes()]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_tables_of_options_are_as_the_code_has_them(page: Path) -> None:
    text = page.read_text("utf-8")
    assert updated(text) == text, "Run `make docs`."


def test_every_option_of_a_route_stands_in_a_table() -> None:
    named = re.findall(r"<!-- options: (\w+ /\S*)", "".join(page.read_text("utf-8") for page in PAGES))
    document = create_app(Settings(_env_file=None)).openapi()
    routes = {f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item}
    assert sorted(named) == sorted(route for route in routes if any(options(route)))


def test_a_table_leaves_out_the_options_of_another_route() -> None:
    shared = {each.name for each in options("POST /search")}
    assert "| `text` |" in updated("<!-- options: POST /search/export -->\n<!-- end -->")
    table = updated("<!-- options: POST /search/export without POST /search -->\n<!-- end -->")
    assert (
        set(re.findall(r"^\| `(\S+)`", table, re.MULTILINE))
        == {each.name for each in options("POST /search/export") if each.name not in shared}
        == {"limit"}
    )
