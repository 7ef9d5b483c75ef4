"""Collections from the command line: created, listed, shown, deleted."""

import pytest

from tests.e2e.commands import Outcome, Run


def test_a_collection_from_its_creation_to_its_end(run: Run) -> None:
    made = run("collections", "create", "new", "--max-span", "6", "--nugget-ratio", "0.2", "--json").json
    assert (made["name"], made["span_units"], made["documents"]) == ("new", {"shortest": 1, "longest": 6}, 0)
    assert made["nuggets"]["ratio"] == 0.2
    assert run("collections", "create", "new", "--max-span", "6").out == "The collection new exists already.\n"
    differs = run("collections", "create", "new", "--max-span", "7")
    assert (differs.code, "was made with" in differs.err) == (1, True)
    assert run("index", "-c", "new", "--source", "calls.ndjson", "--json").json["documents"] == 2

    assert run("collections", "list", "--json").json["collections"] == [
        run("collections", "show", "new", "--json").json
    ]
    shown = run("collections", "show", "new").out
    for line in (
        "documents        2",
        "span_units       1 to 6",
        "representations  units, ",
        "nuggets          ratio 0.2",
    ):
        assert line in shown
    assert run("collections", "delete", "new", "--yes", "--json").json == {"name": "new", "status": "deleted"}
    assert run("collections", "show", "new").code == 1
    assert run("collections", "list").out.startswith("There is no collection yet")


def test_representations_are_named_or_given_by_their_older_options(run: Run) -> None:
    create = ("collections", "create", "new", "--json")
    made = run(*create, "--with", "nuggets=0.2", "--without", "words").json
    assert made["representations"] == ["units", "nuggets"]
    assert run(*create, "--nugget-ratio", "0.2", "--no-words").json == made
    assert run(*create, "--with", "nuggets").json == made
    for wrong, said in (
        (("--with", "nuggets=0.2", "--nugget-ratio", "0.1"), "say different things of nuggets"),
        (("--with", "nugets"), "Did you mean nuggets?"),
        (("--with", "words=2"), "words takes no value"),
        (("--with", "words", "--without", "words"), "both wanted and not"),
    ):
        refused = run(*create, *wrong)
        assert (refused.code, said in refused.err) == (1, True), refused.err


def test_aliases_are_set_listed_and_deleted(calls: Outcome, run: Run) -> None:
    assert "such as live=calls" in " ".join(run("aliases", "set", "live").err.replace("│", " ").split())
    run("collections", "create", "new")
    assert run("aliases", "list").out == "There is no alias.\n"
    assert run("aliases", "set", "live=calls", "next=new").out == "live -> calls\nnext -> new\n"
    assert run("search", "parcel", "-c", "live", "--json").json["hits"]
    assert run("index", "-c", "live", "--source", "calls.ndjson", "--json").json["unchanged"] == 2
    swapped = run("aliases", "set", "live=next", "next=live", "--json").json
    assert [(each["name"], each["collection"]) for each in swapped["aliases"]] == [("live", "new"), ("next", "calls")]
    refused = run("collections", "delete", "new", "--yes")
    assert (refused.code, "alias live" in refused.err) == (1, True)
    assert run("aliases", "delete", "live", "next").out == "There is no alias.\n"
    assert run("collections", "delete", "new", "--yes").code == 0


@pytest.mark.parametrize(
    "command",
    [
        ("serve", "--port", "0"),
        ("index", "--collection", "calls", "--source", "calls.ndjson"),
        ("collections", "create", "calls"),
        ("keys", "create", "--name", "a", "--scope", "search"),
        ("collections", "list"),
        ("keys", "list"),
        ("stats", "--collection", "calls"),
        ("search", "--collection", "calls", "cancel"),
    ],
)
def test_a_misspelt_data_folder_is_refused_and_not_made(run, data, calls, monkeypatch, command) -> None:
    misspelt = data.with_name("dota")
    monkeypatch.setenv("SPANSEEK_DATA_DIR", str(misspelt))
    outcome = run(*command)
    assert outcome.code == 1
    said = " ".join(outcome.err.split())
    assert "There is no catalog in the data folder" in said
    assert "SPANSEEK_DATA_DIR" in said
    assert not misspelt.exists()
    if command[0] != "serve":
        assert run("init-db").code == 0
        assert run("collections", "list", "--json").json == {"collections": []}


def test_the_first_key_is_created_once(run) -> None:
    create = ("keys", "create", "--name", "first", "--scope", "admin", "--if-none")
    assert "ssk_" in run(*create).out
    again = run(*create)
    assert (again.code, again.out) == (0, "There is a key already: none was created.\n")
    assert len(run("keys", "list", "--json").json) == 1
