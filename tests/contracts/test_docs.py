"""The documentation is whole: every route, error code and setting is in it, as it is in the code."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_core import PydanticUndefined

import app
import indexer
import models
from app.http.app import create_app
from app.http.problems import status_of
from app.settings import Settings
from models.errors import SpanseekError

DOCS = Path(__file__).parents[2] / "docs"


def rows(name: str) -> dict[str, list[str]]:
    """The rows of all tables of a page whose first cell is code, by that."""
    lines = (DOCS / name).read_text("utf-8").splitlines()
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `"))
    return {first.strip("`"): rest for first, *rest in cells}


def error_classes() -> Iterator[type[SpanseekError]]:
    for package in (app, indexer, models):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    waiting = [SpanseekError]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind is not SpanseekError and kind.__module__.split(".")[0] in ("app", "indexer", "models"):
            yield kind


def test_every_route_is_documented() -> None:
    text = (DOCS / "api.md").read_text("utf-8")
    document = create_app(Settings(_env_file=None)).openapi()
    routes = {f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item}
    assert routes == set(re.findall(r"^#+ `(\w+ /\S*)`$", text, re.MULTILINE))


def test_every_error_code_is_documented() -> None:
    documented = {code: rest[0] for code, rest in rows("errors.md").items()}
    assert documented == {kind.code: str(status_of(kind).value) for kind in error_classes()}


def test_every_error_class_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in error_classes()]
    assert len(set(codes)) == len(codes)


def shown(default: object) -> str:
    return "none" if default is None else "empty" if default == "" else f"`{default}`"


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_documented(name) -> None:
    field = Settings.model_fields[name]
    assert field.default is not PydanticUndefined
    assert rows("settings.md")[f"SPANSEEK_{name.upper()}"] == [shown(field.default), field.description]


def test_no_setting_is_documented_that_is_not_there() -> None:
    assert rows("settings.md").keys() == {f"SPANSEEK_{name.upper()}" for name in Settings.model_fields}
