"""Every distribution that the product imports is declared, and bounded above where private parts of it are used."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("app", "indexer", "models", "migrations")
PLUGINS = sorted(ROOT.glob("plugins/*/pyproject.toml"))
# Of extras that need not be installed; the names of some differ by platform.
OPTIONAL = {"faiss", "openpyxl", "opentelemetry"}


def requirements(path: Path) -> list[str]:
    project = tomllib.loads(path.read_text("utf-8"))["project"]
    extras = project.get("optional-dependencies", {}).values()
    return [*project["dependencies"], *(each for extra in extras for each in extra)]


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


def foreign(folders: Iterable[Path]) -> set[str]:
    """The packages of others that the modules of folders import."""
    sources = [path for folder in folders for path in folder.rglob("*.py")]
    modules = {name.partition(".")[0] for path in sources for name in imported(ast.parse(path.read_text("utf-8")))}
    return modules - set(sys.stdlib_module_names) - set(PRODUCT) - {folder.name for folder in folders}


def undeclared(names: set[str], path: Path) -> set[str]:
    declared, distributions = {named(each) for each in requirements(path)}, packages_distributions()
    return {name for name in names if declared.isdisjoint(map(normalized, distributions.get(name, [])))}


def test_everything_imported_is_declared() -> None:
    names = foreign([ROOT / room for room in PRODUCT])
    assert {"llvmlite", "huggingface_hub", "uvicorn"} <= names
    assert undeclared(names - OPTIONAL, ROOT / "pyproject.toml") == set()
    assert {"faiss-cpu", "opentelemetry-api"} <= {named(each) for each in requirements(ROOT / "pyproject.toml")}


def test_plug_ins_declare_what_they_import() -> None:
    missing = {path.parent.name: undeclared(foreign([*path.parent.glob("spanseek_*")]), path) for path in PLUGINS}
    assert {name: names for name, names in missing.items() if names} == {}


@pytest.mark.parametrize("name", ["python-oxmsg"])
def test_distributions_with_private_parts_in_use_have_an_upper_bound(name: str) -> None:
    declared = [each for path in (ROOT / "pyproject.toml", *PLUGINS) for each in requirements(path)]
    assert any(named(each) == name and "<" in each for each in declared)


def test_every_pinned_version_has_its_hashes() -> None:
    """`make audit` and installations with ``--require-hashes`` take files that are those of `make lock` alone."""
    pinned = [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if line[:1] not in ("", "#")]
    locked = re.findall(
        r"^(\S+==\S+)(?: ;[^\\]*)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
        (ROOT / "constraints.lock").read_text("utf-8"),
        re.MULTILINE,
    )
    versions = {f"{normalized(name)}=={version}" for name, _, version in (line.partition("==") for line, _ in locked)}
    assert {
        f"{normalized(name)}=={version}" for name, _, version in (line.partition("==") for line in pinned)
    } == versions
