"""Documents from the command line: listed, shown, changed, and deleted by their metadata."""

import csv
import json
from contextlib import closing
from pathlib import Path

from pyarrow import parquet

from app.services import open_store
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


def test_an_export_is_indexed_again_as_it_was(calls: Outcome, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "calls.ndjson.gz"
    assert run("documents", "export", "-c", "calls", "--out", str(path), "--json").json["documents"] == 2
    again = run("index", "-c", "calls", "--source", str(path), "--json").json
    assert (again["documents"], again["unchanged"]) == (0, 2)
    some = tmp_path / "english.ndjson"
    run("documents", "export", "-c", "calls", "--where", "lang=en", "--out", str(some))
    assert [json.loads(line)["id"] for line in some.read_text("utf-8").splitlines()] == ["a"]
    assert run("documents", "export", "-c", "calls", "--out", str(some)).code == 2
    assert run("documents", "export", "-c", "calls", "--out", str(tmp_path / "a.txt")).code == 2
    table = tmp_path / "a.parquet"
    assert run("documents", "export", "-c", "calls", "--out", str(table), "--json").json["documents"] == 2
    assert parquet.read_table(table).column("id").to_pylist() == ["a", "b\u2028[/red]", "b\u2028[/red]"]


def test_all_hits_are_written(calls: Outcome, run: Run, tmp_path: Path) -> None:
    asked = ("search", "cancel my subscription", "-c", "calls")
    hits = run(*asked, "--top-k", "1000", "--json").json["hits"]
    lines, table = tmp_path / "hits.ndjson", tmp_path / "hits.csv"
    end = run(*asked, "--out", str(lines), "--json").json
    assert (end["hits"], end["complete"], end["file"]) == (len(hits), True, str(lines))
    assert list(map(json.loads, lines.read_text("utf-8").split("\n")[:-1])) == hits
    assert f"{len(hits)} hits written" in run(*asked, "--out", str(table)).out
    with table.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["document_id"], int(row["start"]), row["text"]) for row in rows] == [
        (hit["document_id"], hit["start"], hit["text"]) for hit in hits
    ]
    assert json.loads(rows[0]["part_metadata"]) == {"speaker": "customer"}
    columns = tmp_path / "new" / "hits.parquet"
    assert run(*asked, "--out", str(columns), "--json").json["hits"] == len(hits)
    assert parquet.read_table(columns).column("text").to_pylist() == [hit["text"] for hit in hits]
    of_pages = (("--offset", "1"), ("--total",), ("--top-k", "3"), ("--estimate",), ("--verify", "0"))
    for more in (("-c", "other"), ("--counts", "lang"), *of_pages):
        refused = run(*asked, *more, "--out", str(tmp_path / "c.csv"))
        assert (refused.code, "All hits of one collection" in refused.err) == (2, True)


def test_hits_are_sorted_collapsed_and_counted(calls: Outcome, run: Run) -> None:
    asked = ("search", "my", "-c", "calls", "--threshold", "0.2", "--threshold-on", "raw", "--group-by", "part")
    plain = run(*asked, "--json").json["hits"]
    assert len({hit["document_id"] for hit in plain}) == 2 < len(plain)
    answer = run(*asked, "--sort", "document.id:desc", "--per-document", "1", "--counts", "lang", "--json").json
    assert [hit["document_id"] for hit in answer["hits"]] == ["b\u2028[/red]", "a"]
    assert answer["arranged"] == {"hits": len(plain), "listed": 2, "complete": True}
    shown = run(*asked, "--collapse", "lang", "--counts", "lang", "--counts", "week:1,7").out
    assert "2 copies" in shown
    assert f"2 listed of {len(plain)}." in shown.replace("\n", "")
    assert "7 and over" in shown
    assert [bucket["value"] for bucket in answer["counts"][0]["buckets"]] == ["de", "en"]
    cursor = run(*asked, "--top-k", "1", "--json").json["cursor"]
    assert run(*asked, "--cursor", cursor, "--json").json["hits"] == plain[1:]
    assert "Did you mean `lang`?" in run(*asked, "--sort", "lnag").err
    assert run(*asked, "--sort", "lang", "-c", "other").code == 2


def test_pages_totals_and_several_collections(calls: Outcome, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "more.ndjson"
    path.write_text('{"id": "m", "text": "cancel my subscription please", "metadata": {"tags": ["x", "y"]}}\n', "utf-8")
    run("index", "-c", "more", "--source", str(path))
    asked = ("search", "cancel my subscription", "-c", "calls")
    both = run(*asked, "-c", "more", "--top-k", "2", "--threshold", "0.9", "--total", "--json").json
    assert [(hit["collection"], hit["rank"]) for hit in both["hits"]] == [("calls", 1), ("more", 2)]
    assert [each["total"] for each in both["collections"]] == [{"documents": 1, "spans": 1}] * 2
    assert "more  m  [0, 22)" in run(*asked, "-c", "more", "--top-k", "2").out
    second = run(*asked, "--top-k", "1", "--offset", "1", "--json").json["hits"]
    assert second == run(*asked, "--top-k", "2", "--json").json["hits"][1:]
    shown = run(*asked, "--threshold", "0.9", "--total")
    assert "1 hit of 1 span in 1 document" in shown.out
    listed = run("search", "cancel", "-c", "more", "--where", "tags=y", "--json").json
    assert listed["filtered"] == {"documents": 1, "of": 1, "unknown_keys": []}
    misspelt = run("search", "cancel", "-c", "more", "--where", "tagz=y")
    assert "No document has the metadata document.tagz." in misspelt.err
    assert "0 of 1 document pass the filter." in misspelt.err
