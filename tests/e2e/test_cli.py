"""Indexing, searching and operating from the command line."""

import gzip
import json
import re
from contextlib import closing
from pathlib import Path

import pytest
from rich.console import Console

from app.cli.console import out
from indexer.catalog.collections import Catalog
from indexer.catalog.thresholds import set_threshold
from tests.e2e.commands import CALLS, Outcome, Run


def test_index_reports_in_one_line_of_json(calls: Outcome, run: Run) -> None:
    assert calls.code == 3  # the text of a line is lost
    assert calls.err.startswith("skipped calls.ndjson:3: not valid JSON: Expecting property name")
    report = calls.json
    assert {name: report[name] for name in ("documents", "parts", "units", "skipped", "unknown_units")} == {
        "documents": 2,
        "parts": 3,
        "units": 22,
        "skipped": 1,
        "unknown_units": 0,
    }
    assert all(report[name] > 0 for name in ("bytes_on_disk", "seconds", "units_per_second", "peak_rss_mb"))
    again = run("index", "-c", "calls", "--source", "calls.ndjson", "--json").json
    assert (again["documents"], again["unchanged"], again["generation"]) == (0, 2, 1)


@pytest.mark.parametrize("damage", ["truncated", "checksum"])
def test_index_publishes_nothing_of_a_damaged_gzip_file_and_exits_3(damage: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/good.ndjson").write_text(json.dumps(CALLS[0]))
    packed = gzip.compress("\n".join(json.dumps({"id": f"d{n}", "text": "x"}) for n in range(5_000)).encode())
    broken = packed[:-20] if damage == "truncated" else packed[:-8] + bytes(4) + packed[-4:]
    (tmp_path / "folder/broken.ndjson.gz").write_bytes(broken)
    said = run("index", "-c", "calls", "--source", "folder", "--json")
    assert (said.code, said.json["documents"], said.json["skipped"]) == (3, 1, 1)
    assert said.err.splitlines()[-1] == "Could not be read to the end: broken.ndjson.gz."
    alone = run("index", "-c", "alone", "--source", "folder/broken.ndjson.gz")
    assert alone.code == 1
    assert "broken.ndjson.gz cannot be read" in alone.err


def test_index_says_what_it_did(run: Run) -> None:
    said = run("index", "--collection", "calls", "--source", "calls.ndjson")
    assert "2 documents (17 words, 22 units) indexed into calls, 0 unchanged, 1 skipped" in said.out
    assert "  skipped 1: not valid JSON" in said.out
    assert "Languages: en 100%." in said.out


def test_search_prints_what_the_http_answer_holds(calls: Outcome, run: Run) -> None:
    answer = run("search", "cancel my subscription", "--collection", "calls", "--top-k", "2", "--json").json
    assert list(answer) == ["hits", "generation", "threshold", "took_ms", "cursor"]
    assert answer["threshold"] == {"value": None, "on": "score", "source": "none", "calibration": None}
    assert len(answer["hits"]) == 2
    hit = answer["hits"][0]
    assert {"document_id", "start", "end", "text", "score", "raw", "mode", "rank", "metadata"} <= hit.keys()
    assert (hit["document_id"], hit["start"], hit["end"]) == ("b\u2028[/red]", 10, 32)
    assert hit["part_metadata"] == {"speaker": "customer"}
    assert "context" not in hit
    with_more = run("search", "parcel", "-c", "calls", "--json", "--context", "3", "--explain").json["hits"][0]
    assert with_more["context"] == {"text": "my parcel?\r\n", "start": 3, "end": 9}
    assert with_more["explanation"]["units"][0]["text"] == "parcel"


def test_search_highlights_the_hit_in_its_context(calls: Outcome, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run("search", "my parcel", "-c", "calls", "--top-k", "1")
    assert "1.000  a  [9, 18)  exact\n" in plain.out
    assert "       Where is [[my parcel]]?  It was due on Monday.\n" in plain.out
    assert "1 hit in" in plain.out
    with monkeypatch.context() as patches:
        patches.setattr(out, "_color_system", Console(force_terminal=True)._color_system)
        patches.setattr(out, "_force_terminal", True)
        coloured = run("search", "my parcel", "-c", "calls", "--top-k", "1", "--explain").out
    assert "Where is \x1b[1;7mmy parcel\x1b[0m?" in coloured
    assert "my +0." in coloured


def test_documents_cannot_write_to_the_terminal(calls: Outcome, run: Run) -> None:
    said = run("search", "subscription", "-c", "calls", "--top-k", "1", "--explain").out
    assert "\x1b" not in said
    assert "\u2028" not in said
    assert "b [/red]  [" in said
    assert "[[subscription]]  [31mtoday" in said


def test_thresholds_filters_and_groups(calls: Outcome, run: Run) -> None:
    assert "No span was found." in run("search", "unheard of", "-c", "calls", "--threshold", "0.99").out
    assert "No span was found." in run("search", "parcel", "-c", "calls", "--where", "lang=fr").out
    search = ("search", "my", "-c", "calls", "--json", "--group-by", "document")
    assert [hit["document_id"] for hit in run(*search, "--where", "lang=en", "--where", "week=7").json["hits"]] == ["a"]
    assert run(*search, "--where", 'week="7"').json["hits"] == []
    assert len(run(*search, "--where-part", "speaker=agent").json["hits"]) == 1
    (hit,) = run(*search, "--filter", 'week >= 7 and not lang = "fr"').json["hits"]
    assert hit["document_id"] == "a"
    assert "character 9" in run(*search, "--filter", "week >= or").err
    raw = run(*search, "--threshold", "0.9", "--threshold-on", "raw").json
    assert raw["threshold"] == {"value": 0.9, "on": "raw", "source": "request", "calibration": None}
    assert run(*search, "--where", "lang").code == 2


def test_documents_by_their_nuggets(data: Path, run: Run) -> None:
    index = ("index", "-c", "calls", "--source", "calls.ndjson")
    assert run(*index, "--nugget-ratio", "0.5", "--json").json["nuggets"] == 12
    # What a collection was made with need not be said again; something else is refused.
    assert run(*index, "--json").json["unchanged"] == 2
    assert "ratio 0.5" in run(*index, "--nugget-ratio", "0.25").err
    search = ("search", "Where is my parcel?", "-c", "calls", "--mode", "maxsim")
    hits = run(*search, "--json", "--explain").json["hits"]
    assert [hit["document_id"] for hit in hits] == ["a", "b\u2028[/red]"]
    assert hits[0]["text"] == CALLS[0]["text"]
    told = hits[0]["explanation"]
    assert sum(pair["contribution"] for pair in told["pairs"]) == pytest.approx(told["cosine"])
    shown = run(*search, "--explain")
    assert "a  [0, 42)" in shown.out
    assert "       Where is my parcel?  It was due on Monday.\n" in shown.out
    assert "→" in shown.out
    assert "\x1b" not in shown.out
    assert "No document was found." in run(*search, "--threshold", "1", "--where", "lang=fr").out
    assert "cannot be grouped by part" in run(*search, "--group-by", "part").err
    assert run("verify", "--json").json["damages"] == []


def test_nuggets_are_whitened_by_what_is_indexed(data: Path, run: Run) -> None:
    index = ("index", "--source", "calls.ndjson", "--nugget-ratio", "0.5", "-c")
    assert run(*index, "trained", "--as-trained").code == 3
    assert not (data / "whitenings").exists()
    assert "to fit models to them" in run(*index, "calls").err
    (kept,) = (data / "whitenings").iterdir()
    search = ("search", "Where is it, my parcel?", "--mode", "maxsim", "--json", "-c")
    first, trained = (run(*search, name).json["hits"][0] for name in ("calls", "trained"))
    assert first["document_id"] == trained["document_id"] == "a"
    assert first["raw"] != trained["raw"]
    # Whoever indexes more must find the same whitening, and is told where it is gone.
    assert run(*index, "calls", "--json").json["unchanged"] == 2
    assert run(*index, "trained", "--as-trained", "--json").json["unchanged"] == 2
    assert "was made" in run(*index, "calls", "--as-trained").err
    kept.rename(kept.with_suffix(".gone"))
    for said in (run(*search, "calls"), run(*index, "calls")):
        assert said.code == 1
        assert "backup" in said.err
    assert run("search", "parcel", "-c", "calls").code == 0


@pytest.mark.parametrize("ratio", ["0", "1.01", "-1", "nan"])
def test_a_nugget_ratio_that_cannot_be(data: Path, run: Run, ratio: str) -> None:
    said = run("index", "-c", "calls", "--source", "calls.ndjson", "--nugget-ratio", ratio)
    assert said.code == 1
    assert "not above 0 and at most 1" in said.err
    assert "0.05 to 0.25" in said.err


def test_without_nuggets_there_is_no_mode_maxsim(calls: Outcome, run: Run) -> None:
    said = run("search", "parcel", "-c", "calls", "--mode", "maxsim")
    assert said.code == 1
    assert "--nugget-ratio" in said.err


def test_collections(calls: Outcome, run: Run) -> None:
    (listed,) = run("collections", "list", "--json").json["collections"]
    assert (listed["name"], listed["documents"], listed["units"], listed["generation"]) == ("calls", 2, 22, 1)
    assert "calls" in run("collections", "list").out


def test_no_collections(run: Run) -> None:
    run("init-db")
    assert "There is no collection yet" in run("collections", "list").out
    assert run("collections", "list", "--json").json == {"collections": []}


def test_verify_finds_a_flipped_bit(calls: Outcome, run: Run, data: Path) -> None:
    whole = run("verify")
    assert (whole.code, whole.out) == (0, "1 segment checked, 0 errors found.\n")
    for path in sorted(data.glob("collections/*/*/*")):
        body = path.read_bytes()
        if not body:
            continue
        path.write_bytes(body[:-1] + bytes([body[-1] ^ 1]))
        damaged = run("verify", "--collection", "calls")
        assert damaged.code == 1, path.name
        assert path.name in damaged.err
        found = run("verify", "--json")
        assert (found.code, len(found.json["damages"])) == (1, 1)
        path.write_bytes(body)
    path.unlink()
    assert "is missing" in run("verify").err
    assert run("verify", "--collection", "letters").code == 1


def test_delete(calls: Outcome, run: Run, tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("never there\r\n\nb\u2028[/red]\n", "utf-8", newline="")
    deleted = run("delete", "-c", "calls", "--ids", "ids.txt", "--id", "nor this", "--json").json
    assert deleted == {"deleted": 1, "not_found": ["never there", "nor this"], "generation": 2, "purged": None}
    assert {hit["document_id"] for hit in run("search", "parcel", "-c", "calls", "--json").json["hits"]} == {"a"}
    assert "1 document deleted from calls; 0 not found." in run("delete", "-c", "calls", "--id", "a").out
    assert run("search", "parcel", "-c", "calls", "--json").json["hits"] == []


def test_purge(calls: Outcome, run: Run, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANSEEK_GRACE_S", "0.25")
    old = set(data.glob("collections/*/*"))
    outcome = run("delete", "-c", "calls", "--id", "a", "--purge", "--json")
    assert outcome.err == "Waiting 0.25 s for searches that may still be reading the old segments.\n"
    purged = outcome.json["purged"]
    assert (purged["segments"], purged["waited_s"]) == (1, 0.25)
    assert purged["bytes"] == calls.json["bytes_on_disk"]
    new = set(data.glob("collections/*/*"))
    assert len(new) == 1
    assert new.isdisjoint(old)
    assert run("delete", "-c", "calls", "--purge", "--json").json["purged"] == {
        "segments": 0, "bytes": 0, "waited_s": 0, "remains": [],
    }  # fmt: skip
    assert "All deleted text is erased from the disk." in run("delete", "-c", "calls", "--purge").out


def test_optimize_and_stats(calls: Outcome, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANSEEK_GRACE_S", "0")
    (tmp_path / "more.ndjson").write_text(json.dumps({"id": "a", "text": "My parcel came."}) + "\n")
    run("index", "-c", "calls", "--source", "more.ndjson")
    before = run("stats", "-c", "calls", "--json").json
    assert (before["segments"], before["documents"], before["tombstones"]) == (2, 2, 1)
    assert [one["documents"] for one in before["per_segment"]] == [1, 1]
    done = run("optimize", "-c", "calls", "--json").json
    assert (done["segments"], done["segments_left"]) == (2, 1)
    after = run("stats", "-c", "calls", "--json").json
    assert (after["segments"], after["documents"], after["tombstones"]) == (1, 2, 0)
    assert (after["units"], after["parts"]) == (before["units"], before["parts"])
    assert (after["bytes_live"], after["bytes_reclaimable"]) == (done["bytes_left"], 0)
    assert "0 old segments removed" in run("optimize", "-c", "calls").out
    assert "bytes_per_unit" in run("stats", "-c", "calls").out


def test_search_tells_whose_threshold_it_keeps_to(calls: Outcome, run: Run, data: Path) -> None:
    with closing(Catalog(f"sqlite:///{data / 'catalog.sqlite3'}")) as catalog:
        set_threshold(catalog, "calls", "best_span", 0.9)
    search = ("search", "my parcel", "-c", "calls")
    assert "1 hit above the collection's threshold of 0.900 on score in" in run(*search).out
    assert (
        "1 hit above the threshold of 0.950 on raw in"
        in run(*search, "--threshold", "0.95", "--threshold-on", "raw").out
    )
    assert "10 hits above the threshold of 0.000" in run(*search, "--threshold", "0").out


def test_init_db(run: Run) -> None:
    missing = run("collections", "list")
    assert missing.code == 1
    assert "spanseek init-db" in missing.err
    for _ in range(2):
        assert run("init-db").out == "The catalog is up to date.\n"
    assert run("collections", "list").code == 0


def test_keys(run: Run) -> None:
    run("init-db")
    assert "There are no keys" in run("keys", "list").out
    made = run("keys", "create", "--name", "[/web]", "--scope", "search", "--scope", "index", "--json").json
    assert made["token"].startswith(f"ssk_{made['id']}_")
    shown = run("keys", "create", "--name", "calls", "--scope", "search", "--collection", "calls")
    assert shown.out.splitlines()[-1].startswith("ssk_")
    first, second = run("keys", "list", "--json").json
    assert (first["id"], first["name"], first["scopes"], first["collections"]) == (
        made["id"],
        "[/web]",
        "search, index",
        "all",
    )
    assert (second["collections"], second["revoked"]) == ("calls", "")
    listed = run("keys", "list")
    assert listed.code == 0
    assert made["id"] in listed.out  # whole, as `keys revoke` takes it
    assert made["token"] not in listed.out + run("keys", "list", "--json").out
    assert run("keys", "revoke", made["id"]).out == f"Key {made['id']} is revoked.\n"
    assert run("keys", "list", "--json").json[0]["revoked"]
    unknown = run("keys", "revoke", "[/x]")
    assert (unknown.code, "There is no key '[/x]'" in unknown.err) == (1, True)
    assert run("keys", "create", "--name", "x", "--scope", "everything").code == 1
    kept = ("keys", "create", "--name", "acme", "--scope", "search", "--filter")
    assert run(*kept, 'tenant="acme"').code == 0
    assert run("keys", "list", "--json").json[-1]["filter"] == 'tenant = "acme"'
    assert 'where tenant = "acme"' in run("keys", "list").out
    assert run(*kept, 'part.speaker = "agent"').code == 1


def test_eval_sample(run: Run, tmp_path: Path) -> None:
    (tmp_path / "samples" / "documents").mkdir(parents=True)
    (tmp_path / "samples" / "documents" / "d.ndjson").write_text('{"id": "a", "text": "the red parcel"}\n')
    phrases = [
        {"phrase": "red parcel", "gold": [{"document_id": "a", "start": 4, "end": 14}]},
        {"phrase": "blue sky", "gold": []},
    ]
    (tmp_path / "samples" / "phrases.ndjson").write_text("".join(json.dumps(phrase) + "\n" for phrase in phrases))
    figures = run("eval", "sample", "--json").json
    assert figures == {"phrases": 2, "top1": 1.0, "top5": 1.0, "f1": 1.0, "bm25_top1": 1.0, "no_match_auc": 1.0}
    assert "top1           1.000" in run("eval", "sample", "--samples", "samples", "--encoder", "hashing").out
    assert run("eval", "sample", "--samples", "nowhere").code == 1


ERRORS = {
    "no source": ("index -c calls --source nowhere.ndjson", "no file or folder nowhere.ndjson"),
    "not a source": ("index -c calls --source notes.png", "holds nothing that Spanseek reads"),
    "no name": ("index -c No/Name --source calls.ndjson", "cannot be the name of a collection"),
    "bounds": ("index -c calls --source calls.ndjson --min-span 5 --max-span 3", "Spans cannot have 5 to 3 units"),
    "no bounds": ("index -c calls --source calls.ndjson --max-span 0", "Spans cannot have 1 to 0 units"),
    "other bounds": ("index -c calls --source calls.ndjson --max-span 5", "spans of 1 to 5 units"),
    "no encoder": ("index -c new --source calls.ndjson --encoder magic", "no encoder named 'magic'"),
    "no collection": ("search parcel -c letters", "no collection 'letters'"),
    "nothing to delete": ("delete -c calls", "No document is named"),
    "no list": ("delete -c calls --ids nowhere.txt", "nowhere.txt cannot be read"),
    "delete from nothing": ("delete -c letters --id a", "no collection 'letters'"),
    "no place for hits": ("search parcel -c calls --out /proc/hits.csv", "cannot be used: No such file"),
    "no place for documents": ("documents export -c calls --out calls.ndjson/a.csv", "cannot be used: File exists"),
    "no place for a copy": ("backup /proc/copy", "cannot be used: No such file"),
    "mode": ("search parcel -c calls --mode maxsim", "cannot be searched in mode maxsim"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_a_sentence_and_what_to_do(name: str, calls: Outcome, run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.png").write_text("no source")
    command, sentence = ERRORS[name]
    outcome = run(*command.split())
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.startswith("Error: ")
    assert sentence in outcome.err
    assert len(outcome.err.splitlines()) == 2, "a sentence, and a hint"


def test_an_empty_phrase(calls: Outcome, run: Run) -> None:
    assert "The query holds no words." in run("search", " ", "-c", "calls").err


def test_a_phrase_that_is_no_text(calls: Outcome, run: Run) -> None:
    """What a shell passes on of bytes that are not UTF-8."""
    for phrase, *options in (["caf\udce9"], ["parcel", "--where", "lang=\udce9"]):
        refused = run("search", phrase, "-c", "calls", *options)
        assert refused.code == 1
        assert "holds a lone surrogate" in refused.err


TOO_LONG = [("WITHDRAWN_DAYS", "1000000"), ("GRACE_S", "1e12"), ("KEEP_ALIVE_S", "99999999")]


@pytest.mark.parametrize(("name", "value"), [("SEGMENT_UNITS", "0"), ("PORT", "many"), ("ENGINE", "steam"), *TOO_LONG])
def test_a_wrong_setting(name: str, value: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"SPANSEEK_{name}", value)
    outcome = run("collections", "list")
    assert (outcome.code, outcome.out) == (1, "")
    assert f"The setting {name.lower()} cannot be '{value}'" in outcome.err
    assert f"SPANSEEK_{name}" in outcome.err


DELIMITER = "index -c calls --source calls.ndjson --delimiter ab"


@pytest.mark.parametrize("command", ["serve --port 70000", "search", "index -c calls", "nothing", DELIMITER])
def test_wrong_usage_exits_with_2(command: str, run: Run) -> None:
    assert run(*command.split()).code == 2


def test_phrases_are_saved_and_what_arrives_is_matched(run: Run, data: Path, tmp_path: Path) -> None:
    run("index", "-c", "calls", "--source", "calls.ndjson")
    none = run("phrases", "add", "where is it", "-c", "calls")
    assert (none.code, "matches nothing yet" in none.err) == (0, True)
    (listed,) = run("phrases", "list", "-c", "calls", "--json").json
    assert listed["applies"] == {"value": None, "on": "score", "source": "none"}
    added = run("phrases", "add", "cancel my subscription", "-c", "calls", "--name", "cancel", "--threshold", "0.9",
                "--where-part", "speaker=customer", "--note", "churn", "--tag", "leaving", "--json")  # fmt: skip
    assert added.json["applies"] == {"value": 0.9, "on": "score", "source": "phrase"}
    taken = run("phrases", "add", "cancel", "-c", "calls", "--name", "cancel")
    assert (taken.code, "already" in taken.err) == (1, True)
    lines = '{"name": "parcel", "text": "my parcel", "threshold": 0.9}\n{"text": "a", "threshold": 2}\n'
    (tmp_path / "phrases.ndjson").write_text(lines)
    imported = run("phrases", "import", "phrases.ndjson", "-c", "calls", "--json").json
    assert [each["status"] for each in imported["results"]] == ["created", "failed"]
    shown = run("phrases", "import", "phrases.ndjson", "-c", "calls")
    assert shown.out == "1 phrase saved (0 created, 0 changed, 1 unchanged); 1 line refused.\n"
    assert shown.code == 0
    (tmp_path / "bad.ndjson").write_text('{broken\n{"text": "a", "threshold": 2}\n')
    bad = run("phrases", "import", "bad.ndjson", "-c", "calls")
    assert bad.code == 1
    assert bad.err.startswith("Line 1: not valid JSON")
    assert "a: Line 2: A threshold cannot be 2." in bad.err
    assert "0 phrases saved (0 created, 0 changed, 0 unchanged); 2 lines refused." in bad.out
    assert [each["name"] for each in run("phrases", "list", "-c", "calls", "--json").json] == [
        "cancel",
        "parcel",
        "where is it",
    ]
    assert "churn" in run("phrases", "list", "-c", "calls").out
    assert run("phrases", "list", "-c", "calls", "--tag", "no").out == "calls has no saved phrases with tag no.\n"
    (tmp_path / "more.ndjson").write_text(json.dumps({"id": "c", "text": "My parcel is late."}) + "\n")
    run("index", "-c", "calls", "--source", "more.ndjson")
    page = run("phrases", "matches", "-c", "calls", "--json").json
    assert [(each["phrase"], each["document_id"], each["text"]) for each in page["events"]] == [
        ("cancel", CALLS[1]["id"], "cancel my subscription"),
        ("parcel", CALLS[0]["id"], "my parcel"),
        ("parcel", "c", "My parcel"),
    ]
    tagged = run("phrases", "matches", "-c", "calls", "--tag", "leaving", "--json").json
    assert [each["phrase"] for each in tagged["events"]] == ["cancel"]
    paused = run("phrases", "change", "parcel", "-c", "calls", "--pause", "--tag", "late", "--json").json
    assert (paused["paused"], paused["tags"], "rematched" in paused) == (True, ["late"], False)
    assert [each["name"] for each in run("phrases", "list", "-c", "calls", "--tag", "late", "--json").json] == [
        "parcel"
    ]
    assert "paused" in run("phrases", "list", "-c", "calls").out
    cleared = run("phrases", "change", "parcel", "-c", "calls", "--tag", "", "--no-filter", "--json").json
    assert (cleared["tags"], cleared["filter"]["document"]) == ([], {})
    resumed = run("phrases", "change", "parcel", "-c", "calls", "--resume")
    assert resumed.out == "The phrase parcel is changed.\n0 matches in the documents that are there.\n"
    unlikely = run("phrases", "change", "parcel", "-c", "calls", "--likely-only")
    assert (unlikely.code, "second look" in unlikely.err) == (1, True)
    for threshold, said in (("auto", "second look"), ("high", "neither a number nor auto"), ("7", "cannot be 7")):
        refused = run("phrases", "add", "late", "-c", "calls", "--threshold", threshold)
        assert (refused.code != 0, said in refused.err) == (True, True)
    removed = run("phrases", "remove", "cancel", "none", "-c", "calls", "--json").json
    assert removed == {"deleted": 1, "not_found": ["none"]}
    rest = run("phrases", "matches", "-c", "calls", "--cursor", page["cursor"])
    assert "withdrawn: phrase_deleted" in rest.out
    preview = run("preview", "-c", "calls", "--saved", "parcel", "--json").json
    assert (preview["phrases"][0]["saved"], preview["phrases"][0]["threshold"]["source"]) == ("parcel", "phrase")
    assert run("phrases", "matches", "-c", "calls", "--cursor", "nonsense").code == 1


def test_help_is_grouped_by_what_users_do(run: Run) -> None:
    shown = run("--help").out
    panels = ["Search", "Documents", "Tuning", "Operation", "Research"]
    assert re.findall(r"─ (\w+) ─", shown)[1:] == panels
    research = shown[shown.index("Research") :]
    assert all(command in research for command in ("bench", "eval", "train"))


@pytest.mark.parametrize("command", ["bench", "eval", "train"])
def test_without_the_research_distribution(command: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.cli.plugins.entry_points_of", lambda group: {})
    outcome = run(command, "--help")
    assert (outcome.code, outcome.out) == (1, "")
    assert f"The command spanseek {command} comes with the distribution spanseek-research." in outcome.err
    assert "pip install spanseek-research" in outcome.err
    shown = run("--help")
    assert (shown.code, "Research" in shown.out) == (0, False)


def test_no_plots_without_the_research_distribution(calls: Outcome, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.cli.plugins.entry_points_of", lambda group: {})
    outcome = run("preview", "parcel", "-c", "calls", "--plot", "preview.svg")
    assert (outcome.code, "pip install spanseek-research" in outcome.err) == (1, True)


def test_a_source_without_a_valid_record_creates_nothing(run: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.ndjson").write_text("{broken\n{}\n")
    run("init-db")
    outcome = run("index", "-c", "bad", "--source", "bad.ndjson", "--json")
    assert (outcome.code, outcome.out) == (1, "")
    assert "skipped bad.ndjson:1: not valid JSON" in outcome.err
    assert "skipped bad.ndjson:2: " in outcome.err
    assert "bad.ndjson holds 2 records, none of them valid; nothing was indexed." in outcome.err
    assert run("search", "parcel", "-c", "bad").code == 1
    run("index", "-c", "calls", "--source", "calls.ndjson")
    assert run("index", "-c", "calls", "--source", "bad.ndjson").code == 1
    assert run("stats", "-c", "calls", "--json").json["documents"] == 2


def test_an_empty_source_creates_nothing(run: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.ndjson").write_text("\n")
    outcome = run("index", "-c", "empty", "--source", "empty.ndjson")
    assert outcome.code == 1
    assert "empty.ndjson holds no documents; nothing was indexed." in outcome.err
    assert run("search", "parcel", "-c", "empty").code == 1


TURNS = """Gespräch;Zeile;Sprecher;Text;Dauer
g1;1;Agent;Guten Tag, was kann ich für Sie tun?;12,5
g2;1;Kunde;Where is my parcel?;3
g1;2;Kunde;I want to cancel my subscription.;4
"""
COLUMNS = ("--id-column", "gespräch", "--part-column", "Zeile")


def test_a_spreadsheet_with_a_row_a_turn(run: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "gespräche.csv").write_bytes(TURNS.replace("\n", "\r\n").encode("cp1252"))
    shown = run("index", "-c", "g", "--source", "gespräche.csv", *COLUMNS, "--dry-run", "--json")
    assert shown.code == 0, shown.err
    assert {key: shown.json[key] for key in ("documents", "parts", "skipped")} == {
        "documents": 2, "parts": 3, "skipped": 0,
    }  # fmt: skip
    assert [one["id"] for one in shown.json["examples"]] == ["g1", "g2"]
    assert (
        "encoding cp1252 (a guess; --encoding says otherwise), delimiter semicolon; id from Gespräch"
        in shown.json["tables"]["gespräche.csv"]
    )
    assert run("search", "parcel", "-c", "g").code == 1
    assert run("index", "-c", "g", "--source", "gespräche.csv", *COLUMNS).code == 0
    (hit, *_) = run("search", "cancel my subscription", "-c", "g", "--json").json["hits"]
    assert hit["part_metadata"] == {"Zeile": 2, "Sprecher": "Kunde", "Dauer": 4.0}
    typed = run("search", "cancel my subscription", "-c", "g", "--where-part", "Dauer=4", "--json").json["hits"]
    assert {one["document_id"] for one in typed} == {"g1"}


def test_a_folder_of_all_kinds_good_and_broken(run: Run, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    (folder / "a.html").write_text("<p>Where is my <b>parcel</b>?</p>")
    (folder / "b.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nCancel it.\n")
    (folder / "broken.json").write_text("[nonsense")
    (folder / "broken.pdf").write_bytes(b"no")
    (folder / "c.json").write_text('[{"id": "c", "text": "A refund."}, {"id": "c2"}]')
    (folder / "d.png").write_bytes(b"x")
    outcome = run("index", "-c", "all", "--source", "all", "--json")
    assert outcome.code == 3
    assert (outcome.json["documents"], outcome.json["skipped"]) == (3, 3)
    assert (outcome.json["passed_over"], outcome.json["unreadable"]) == (["d.png"], ["broken.json"])
    assert "skipped c.json:2: a document needs either text or parts" in outcome.err
    assert "skipped broken.pdf:1: " in outcome.err
    shown = run("index", "-c", "all", "--source", "all", "--dry-run")
    assert shown.code == 3
    assert "3 documents (3 parts, " in shown.out
    assert "{" not in shown.out  # metadata is written in words
    assert "Passed over 1 file of other formats: d.png." in shown.err


def test_a_snapshot_moves_a_collection(
    calls: Outcome, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = run("snapshot", "create", "-c", "calls", "--json").json
    assert (made["documents"], Path(made["file"]).is_file()) == (2, True)
    assert made["id"] in run("snapshot", "list", "-c", "calls").out
    copied = run("snapshot", "create", "-c", "calls", "--out", "calls.tar")
    assert "2 documents, generation 1, " in copied.out
    assert run("snapshot", "create", "-c", "calls", "--out", "calls.tar").code == 2
    assert "2 documents, generation 1, " in run("snapshot", "verify", "calls.tar").out
    before = run("search", "cancel my subscription", "-c", "calls", "--json").json["hits"]
    monkeypatch.setenv("SPANSEEK_DATA_DIR", str(tmp_path / "elsewhere"))
    assert run("init-db").code == 0
    assert run("snapshot", "restore", "calls.tar", "--name", "moved").out == "2 documents restored as moved.\n"
    assert run("search", "cancel my subscription", "-c", "moved", "--json").json["hits"] == before
    assert run("verify", "-c", "moved").code == 0
    taken = run("snapshot", "restore", "calls.tar", "--name", "moved")
    assert (taken.code, "has the name 'moved' already" in taken.err) == (1, True)
    (tmp_path / "calls.tar").write_bytes((tmp_path / "calls.tar").read_bytes()[:5000])
    assert "calls.tar is no valid snapshot" in run("snapshot", "verify", "calls.tar").err
