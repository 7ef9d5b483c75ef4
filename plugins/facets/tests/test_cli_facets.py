"""``spanseek compare`` and ``spanseek summarize``."""

from tests.e2e.commands import Outcome, Run


def test_two_texts_are_compared(calls: Outcome, run: Run) -> None:
    outcome = run("compare", "dog", "animal")
    assert "best_span" in outcome.out
    assert "The second text is more general" in outcome.out
    answer = run("compare", "dog", "animal", "-c", "calls", "--json").json
    assert answer["direction"]["more_general"] == "second"
    assert run("compare", "dog", "?!").out.count("No facets") == 1


def test_documents_and_files_are_summarized(calls: Outcome, run: Run) -> None:
    stored = run("summarize", "a", "-c", "calls", "--sentences", "1")
    assert "1 of 2 sentences." in stored.out
    answer = run("summarize", "a", "-c", "calls", "--json").json
    assert [sentence["text"] for sentence in answer["sentences"]] == ["Where is my parcel?", "It was due on Monday."]
    assert run("summarize").code == 2
    assert run("summarize", "a").code == 2
    broken = run("summarize", "--source", "calls.ndjson")
    assert (broken.code, "calls.ndjson:3" in broken.err) == (1, True)
