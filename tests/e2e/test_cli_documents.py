"""Documents from the command line: listed, shown, changed, and deleted by their metadata."""

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
