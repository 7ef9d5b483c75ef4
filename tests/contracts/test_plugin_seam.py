"""Plug-ins: the one of CONTRIBUTING.md, and one with tables, as distributions that the product finds by itself."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(?:toml|python)\n# (\S+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def walk_through() -> dict[str, str]:
    """The files of the plug-in in CONTRIBUTING.md, by their paths."""
    section = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("\n## Write a plug-in\n")[2].partition("\n## ")[0]
    return dict(_BLOCK.findall(section))


def install(folder: Path, files: Mapping[str, str]) -> None:
    """Make a distribution of these files, one of which is its ``pyproject.toml``."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    project = tomllib.loads(files["pyproject.toml"])["project"]
    metadata = folder / f"{project['name'].replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    ]
    (metadata / "entry_points.txt").write_text("\n".join(groups))


def run(script: str, *folders: Path, data: Path) -> object:
    """What a script prints last, as JSON, in a process that finds the distributions of these folders."""
    paths = f"import sys; sys.path[:0] = {[str(path) for path in (*folders, ROOT)]!r}\n"
    command = [sys.executable, "-c", paths + script, str(data)]
    child = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout.splitlines()[-1])


USE = """
import json, os
from contextlib import closing
os.environ["SPANSEEK_DATA_DIR"], os.environ["SPANSEEK_ENCODER"] = sys.argv[1], "hashing"
from fastapi.testclient import TestClient
from typer.main import get_command
from typer.testing import CliRunner
from app.cli import cli
from app.collections.documents import DocumentService
from app.collections.service import CollectionService
from app.http.app import create_app
from app.plugins import plugins
from app.services import Services, open_store
from app.settings import Settings
from app.tasks.service import TaskService
from app.tasks.worker import TaskWorkers
from indexer.catalog import schema
from models.types import Document, Part

(plugin,) = (each for each in plugins() if each.name == "spanseek-size")
listed = [*plugin.routes, *plugin.commands, *plugin.tasks]
loaded = [name for name in sys.modules if name.startswith("spanseek_size")]
settings = Settings(_env_file=None, deadline_s=200)
settings.data_dir.mkdir()
schema.upgrade(settings.catalog_url)
with closing(open_store(settings)) as store:
    services = Services(settings, store)
    services.get(CollectionService).create("c")
    services.get(DocumentService).upsert("c", [Document(id, (Part("Cancel my plan."),)) for id in "ab"])
    queued = services.get(TaskService).add("size", "c", {})
    TaskWorkers(services, services.get(TaskService), threads=0, keep_days=1).turn()
    task = services.get(TaskService).get(queued.id)
with TestClient(create_app(settings), base_url="http://localhost") as client:
    route = client.get("/collections/c/size").json()
    missing = client.get("/collections/other/size").json()["code"]
    kinds = client.get("/tasks?kind=size").json()["tasks"]
    schemas = client.app.openapi()["components"]["schemas"]
print(json.dumps({
    "listed": listed, "loaded": loaded, "route": route, "missing": missing, "task": [task.status, task.result],
    "kinds": len(kinds), "described": "Size" in schemas,
    "command": CliRunner().invoke(cli, ["size", "-c", "c"]).output,
    "command_listed": "size" in get_command(cli).list_commands(None),
}))
"""


@pytest.mark.ci("starts a process that serves")
def test_a_route_a_command_and_a_task_take_under_sixty_lines(tmp_path: Path) -> None:
    files = walk_through()
    assert sum(bool(line.strip()) for text in files.values() for line in text.splitlines()) < 60
    install(tmp_path / "installed", files)
    assert run(USE, tmp_path / "installed", data=tmp_path / "data") == {
        "listed": ["size", "size", "size"],
        "loaded": [],
        "route": {"documents": 2},
        "missing": "collection_not_found",
        "task": ["done", {"documents": 2}],
        "kinds": 1,
        "described": True,
        "command": "2\n",
        "command_listed": True,
    }


TABLES = {
    "pyproject.toml": """
[project]
name = "spanseek-notes"
[project.entry-points."spanseek.tables"]
notes = "spanseek_notes.tables:BRANCH"
""",
    "spanseek_notes/tables.py": """
from pathlib import Path

import pytest
from sqlalchemy import Column, ForeignKey, Table, Text, insert, select
from indexer.catalog.branches import Branch
from indexer.catalog.sql import id_type
from indexer.catalog.tables import collections, metadata

notes = Table(
    "notes",
    metadata,
    Column("collection_id", id_type(), ForeignKey(collections.c.id), primary_key=True),
    Column("text", Text, nullable=False),
)

def note(connection, task_id, now):
    (id,) = connection.scalars(select(collections.c.id))
    connection.execute(insert(notes).values(collection_id=id, text="ended"))

BRANCH = Branch("notes", "0001", Path(__file__).parent / "versions", (notes,), (notes,), note)
""",
    "spanseek_notes/versions/0001_initial.py": """
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "0001", None, None, None

def upgrade():
    op.create_table(
        "notes",
        sa.Column("collection_id", sa.String(64), sa.ForeignKey("collections.id"), primary_key=True),
        sa.Column("text", sa.Text(), nullable=False),
    )

def downgrade():
    op.drop_table("notes")
""",
}
STEP = """
import json
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import inspect, text
from indexer.catalog import schema
from indexer.catalog.claims import claim_task, finish_task
from indexer.catalog.collections import Catalog
from indexer.catalog.copying import copy_catalog
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove_collection
from indexer.catalog.tasks import NewTask, add_task, new_task_id
from indexer.errors import CatalogNotInitialised
from indexer.types import Recipe

url = f"sqlite:///{sys.argv[1]}"

def rows(url):
    with closing(Catalog(url)) as catalog, catalog.database.read() as connection:
        return [*connection.scalars(text("SELECT text FROM notes"))]

def version(url):
    with closing(Catalog(url)) as catalog, catalog.database.read() as connection:
        return [*connection.scalars(text("SELECT version_num FROM alembic_version_notes"))]
"""
WITHOUT = """
schema.upgrade(url)
with closing(Catalog(url)) as catalog:
    catalog.create_collection("c", Recipe("hashing", "f", 64))
print("{}")
"""
WITH = """
with closing(Catalog(url)) as catalog:
    try:
        schema.check(catalog)
    except CatalogNotInitialised as error:
        refused = [str(error).partition(", ")[2], error.hint]
    schema.upgrade(url)
    schema.check(catalog)
    id = new_task_id()
    add_task(catalog, id, NewTask("optimize", "c", catalog.collection("c").id), limit=10**6)
    finish_task(catalog, claim_task(catalog), "done")
    copy = copy_catalog(catalog, Path(sys.argv[1] + ".copy"))
    of_collection = copy_catalog(catalog, Path(sys.argv[1] + ".one"), catalog.collection("c").id)
print(json.dumps([refused, rows(url), rows(copy), rows(of_collection), version(url)]))
"""
GONE = """
schema.upgrade(url)
with closing(Catalog(url)) as catalog:
    schema.check(catalog)
    with lease(catalog, "c") as held:
        remove_collection(catalog, held)
print(json.dumps([rows(url), version(url)]))
"""
BASE = """
schema.check(Catalog(url))
schema.downgrade(url, "base")
with closing(Catalog(url)) as catalog, catalog.database.read() as connection:
    print(json.dumps([name for name in inspect(connection).get_table_names() if "alembic" not in name]))
"""


@pytest.mark.ci("starts four processes")
def test_tables_of_a_plugin_come_and_stay_whether_it_is_installed_or_not(tmp_path: Path) -> None:
    installed, data = tmp_path / "installed", tmp_path / "catalog.db"
    install(installed, TABLES)
    run(STEP + WITHOUT, data=data)
    assert run(STEP + WITH, installed, data=data) == [
        [
            "the plug-in notes needs tables of version 0001",
            "Run `spanseek init-db`; it makes the tables, or brings them up to date.",
        ],
        ["ended"],
        ["ended"],  # a backup has it, a snapshot of a collection has not
        [],
        ["0001"],
    ]
    assert run(STEP + GONE, data=data) == [[], ["0001"]]
    assert run(STEP + BASE, installed, data=data) == []
