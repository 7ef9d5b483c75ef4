"""The version is said once, in ``app.__version__``; what cannot read it there says the same."""

import json
import re
import tomllib
from pathlib import Path

from typer.testing import CliRunner

from app import __version__
from app.cli import cli
from app.http.app import create_app
from app.settings import Settings

ROOT = Path(__file__).parents[2]
PROJECTS = ["pyproject.toml", "client/pyproject.toml", "research/pyproject.toml"]
PLACES = ["README.md", "Dockerfile", "docker-compose.yml", *map(str, ROOT.glob("docs/**/*.md"))]


def test_every_place_says_the_same_version() -> None:
    product, client, research = (tomllib.loads((ROOT / name).read_text("utf-8")) for name in PROJECTS)
    assert product["project"]["dynamic"] == ["version"]
    assert product["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "app.__version__"}
    assert client["project"]["version"] == research["project"]["version"] == __version__
    typescript = json.loads((ROOT / "client" / "typescript" / "package.json").read_text("utf-8"))
    assert typescript["version"] == __version__
    assert f"spanseek-client=={__version__}" in product["project"]["dependencies"]
    assert f"spanseek=={__version__}" in research["project"]["dependencies"]
    assert create_app(Settings(_env_file=None)).openapi()["info"]["version"] == __version__
    assert CliRunner().invoke(cli, ["--version"]).output == f"spanseek {__version__}\n"
    entries = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert entries[0] == __version__
    pinned = re.compile(r"spanseek(?:==|:|@v?)(\d+\.\d+\.\d+)")
    assert {each for name in PLACES for each in pinned.findall((ROOT / name).read_text("utf-8"))} <= {__version__}


def test_the_newest_entry_has_every_group_once() -> None:
    entry = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)[1]
    groups = ["Added", "Changed", "Deprecated", "Removed", "Fixed"]
    assert re.findall(r"^### (.+)$", entry, re.MULTILINE) == groups
