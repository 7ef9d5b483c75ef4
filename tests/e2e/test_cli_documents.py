"""Documents from the command line: listed, shown, changed, and deleted by their metadata."""

from contextlib import closing

from app.composition import open_store
from app.settings import Settings
from indexer.catalog.tasks import NewTask, add_task, new_task_id
from tests.e2e.commands import Outcome, Run


def test_documents_are_listed_shown_changed_and_deleted(calls: Outcome, run: Run) -> None:
    page = run("documents", "list", "-c", "calls", "--where", "lang=en", "--json").json
    assert ([each["id"] for each in page["documents"]], page["total"], page["cursor"]) == (["a"], 1, None)
    first = run("documents", "list", "-c", "calls", "--limit", "1")
    assert "1 of 2 documents" in first.out
    assert "--cursor" in first.out

    shown = run("documents", "show", "a", "-c", "calls", "--json").json
    assert shown["text"].startswith("Where is my parcel?")
    assert shown["parts"] == [{"start": 0, "end": len(shown["text"]), "metadata": {}}]
    text = run("documents", "show", "b\u2028[/red]", "-c", "calls").out
    assert '[0, 43)  {"speaker": "customer"}' in text
    assert "\x1b" not in text
    missing = run("documents", "show", "z", "-c", "calls")
    assert (missing.code, "no document" in missing.err) == (1, True)

    changed = run("documents", "change", "a", "-c", "calls", "--set", "week=8", "--remove", "lang", "--json").json
    assert (changed["status"], changed["metadata"]) == ("changed", {"week": 8})
    assert run("delete", "-c", "calls", "--where", "week=8", "--json").json["deleted"] == 1
    assert run("documents", "list", "-c", "calls", "--json").json["total"] == 1


def test_tasks_are_listed_shown_and_cancelled(calls: Outcome, run: Run) -> None:
    assert run("tasks", "list").out == "There is no task.\n"
    with closing(open_store(Settings()).catalog) as catalog:
        id = new_task_id()
        new = NewTask("optimize", "calls", catalog.collection("calls").id, {"words": False})
        add_task(catalog, id, new, limit=10**6)
    assert run("tasks", "list", "--status", "queued", "--json").json["tasks"][0]["id"] == id
    assert f"{id}  optimize    calls  queued" in run("tasks", "show", id).out
    assert run("tasks", "cancel", id, "--json").json["status"] == "cancelled"
    assert run("tasks", "list", "--status", "queued").out == "There is no task.\n"
    assert run("tasks", "show", "nobody").code == 1
