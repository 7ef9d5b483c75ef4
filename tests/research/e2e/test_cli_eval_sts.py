"""``spanseek eval sts-b-context`` and ``spanseek eval sts``, from files to figures."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from models.errors import SpanseekError
from tests.research.command_line import run, run_json

PHRASES = ["red car", "cold soup", "old house", "new road", "blue sky", "two dogs", "a tall tree", "warm bread"]
# Of two phrases the better one is said in the passage, of the other one word at most.
ROWS = [(phrase, phrase, f"They told us of {phrase}, not of rain.", 5 - n / 10) for n, phrase in enumerate(PHRASES)]
ROWS += [(phrase, "nothing", "It rained and rained for seven days.", n / 10) for n, phrase in enumerate(PHRASES)]
# So that both halves hold both kinds.
ROWS = ROWS[::2] + ROWS[1::2]

COMMAND = ["eval", "sts-b-context", "--data", "rows.tsv"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPANSEEK_ENCODER", "hashing")
    lines = ["\tline\tparaphrase\tpassage\tgoldsim", *("\t".join(map(str, (n, *row))) for n, row in enumerate(ROWS))]
    (tmp_path / "rows.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    return tmp_path


def refusal(*arguments: str) -> SpanseekError:
    with pytest.raises(SpanseekError) as refused:
        run(*arguments)
    return refused.value


def test_a_plain_run_prints_the_three_setups() -> None:
    found = run_json(*COMMAND)
    assert found.keys() == {"rows", "setups", "degree_errors"}
    assert found["rows"] == 16
    assert found["setups"].keys() == {"full_context", "ngram_forward", "single_pass"}
    assert all(figures.keys() == {"pearson", "spearman"} for figures in found["setups"].values())
    assert found["setups"]["single_pass"]["pearson"] > 0.9
    # Vectors of this encoder know no context. Scores of literal matches tie but for rounding: no figure of ranks.
    assert found["setups"]["single_pass"]["pearson"] == pytest.approx(found["setups"]["ngram_forward"]["pearson"])


def test_setups_bounds_and_halves_are_chosen() -> None:
    halves = [run_json(*COMMAND, "--setups", "single_pass", "--half", half) for half in ("first", "second")]
    assert [half["rows"] for half in halves] == [8, 8]
    assert [list(half["setups"]) for half in halves] == [["single_pass"]] * 2
    assert halves[0] != halves[1]
    pairs = ["--setups", "single_pass, full_context"]
    wide, narrow = run_json(*COMMAND, *pairs), run_json(*COMMAND, *pairs, "--min-span", "5", "--max-span", "6")
    assert wide["setups"]["full_context"] == narrow["setups"]["full_context"]
    assert wide["setups"]["single_pass"] != narrow["setups"]["single_pass"]


def test_the_second_look_scores_one_half_of_the_ids() -> None:
    halves = [run_json(*COMMAND, "--setups", "single_pass", "--half", half) for half in ("chooses", "reported")]
    assert sum(half["rows"] for half in halves) == len(ROWS)
    found = run_json(*COMMAND, "--setups", "single_pass", "--half", "reported", "--verified")
    assert found["rows"] == halves[1]["rows"]
    assert found["verified"].keys() == {"first", "probability", "log_odds", "ranked", "gain"}
    assert found["verified"]["probability"]["spearman"] == found["verified"]["log_odds"]["spearman"] > 0
    assert "By the first look" in run(*COMMAND, "--setups", "single_pass", "--verified")


def test_everything_that_can_be_asked_for(folder: Path) -> None:
    asked = ["--setups", "single_pass", "--table", "--baseline", "hashing:full_context", "--plot", "out/sweep.png"]
    found = run_json(*COMMAND, *asked, "--scores", "kept")
    assert found.keys() == {"rows", "setups", "baselines", "comparison", "sweep", "degree_errors"}
    untrained = ["untrained:single_pass", "untrained:start_end", "untrained:gold_pair"]
    assert list(found["baselines"]) == ["bm25", *untrained, "hashing:gold_pair"]
    assert found["comparison"]["baseline"] == "hashing:full_context"
    assert found["comparison"]["setups"]["single_pass"].keys() == {
        "difference",
        "williams_t",
        "williams_p",
        "bootstrap_lower",
        "bootstrap_positive",
    }
    assert list(found["sweep"]) == ["hashing:single_pass"]
    assert found["sweep"]["hashing:single_pass"]["20"] == found["setups"]["single_pass"]
    assert (folder / "out/sweep.png").read_bytes().startswith(b"\x89PNG")
    kept = {path.name: path.read_bytes() for path in (folder / "kept").iterdir()}
    assert len(kept) == 5
    assert run_json(*COMMAND, *asked, "--scores", "kept") == found
    assert kept == {path.name: path.read_bytes() for path in (folder / "kept").iterdir()}


def test_figures_are_shown_in_tables() -> None:
    plain = run(*COMMAND)
    assert "16 rows" in plain
    assert all(f"hashing:{setup}" in plain for setup in ("full_context", "ngram_forward", "single_pass"))
    assert "bm25" not in plain
    shown = run(*COMMAND, "--setups", "single_pass", "--baseline", "hashing:full_context", "--sweep")
    assert "against hashing:full_context" in shown
    assert "longest span" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--setups", "single_pass,best"], "no set-up 'best'"),
        (["--baseline", "untrained"], "not ENCODER:SETUP"),
        (["--baseline", "nobody:single_pass"], "no encoder named 'nobody'"),
        (["--min-span", "3", "--max-span", "2"], "3 to 2 units"),
        (["--max-span", "65"], "1 to 65 units"),
        (["--min-span", "15"], "fewer than 15 units"),
        (["--plot", "sweep.doc"], "sweep.doc"),
        (["--data", "nowhere.tsv"], "no file nowhere.tsv"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_encoded(arguments: Sequence[str], message: str) -> None:
    refused = refusal(*COMMAND, *arguments)
    assert message in str(refused)
    assert refused.hint


def test_sentences(folder: Path) -> None:
    (folder / "stsb").mkdir()
    (folder / "sick").mkdir()
    pairs = [("A dog ran home.", "A dog ran.", 4.5), ("It rains.", "A cat sat.", 0.0), ("I see it.", "I see her.", 3.0)]
    stsb = ["\t".join(["g", "f", "y", "0", str(grade), one, other]) for one, other, grade in pairs]
    sick = ["\t".join(["0", one, other, str(1 + grade / 2), "NEUTRAL"]) for one, other, grade in pairs[::-1]]
    (folder / "stsb/sts-dev.csv").write_text("\n".join(stsb))
    (folder / "sick/SICK_trial.txt").write_text("\n".join(["header", *sick]))
    found = run_json("eval", "sts", "--data", ".")
    assert found["split"] == "dev"
    assert list(found["sets"]) == ["stsb", "sick"]
    assert found["sets"]["stsb"].keys() == {"file", "pairs", "pearson", "spearman", "difference"}
    assert found["sets"]["stsb"]["pairs"] == 3
    assert found["sets"]["stsb"]["pearson"] == pytest.approx(found["sets"]["sick"]["pearson"], abs=1e-5)
    assert run_json("eval", "sts", "--data", ".", "--encoder", "untrained")["sets"]["sick"]["difference"] == {
        "pearson": 0,
        "spearman": 0,
    }
    shown = run("eval", "sts", "--data", ".")
    assert all(text in shown for text in ("sts-dev.csv", "SICK_trial.txt", "hashing"))
    assert "sts-test.csv" in str(refusal("eval", "sts", "--data", ".", "--split", "test"))
