"""``spanseek train nugget-lm`` and what measures it, from texts to figures and plots."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from app.cli import cli
from indexer.errors import SourceUnreadable
from models.artifacts import save_artifact
from models.backbones.torch_network import load_backbone
from models.encoders.nuggets.network import start_network
from models.encoders.nuggets.parts import foundation
from models.errors import InvalidInput
from research.evaluation.wikipedia import Article, is_held_out
from tests.tiny_bert import PROSE

WIKITEXT = f" \n = The cat = \n \n {PROSE} {PROSE} \n \n The dog sat <unk> . \n = Rain = \n \n {PROSE} \n"
TRAIN = (
    "train nugget-lm --extract extract --tested test.txt --cache cache --length 16 --history 4 --width 16 --layers 1 "
    "--predicted 2 --encoded 2 --ratio 0.25 --segments 60 --steps 4 --rate 0.01 --save-every 2 --device cpu"
)


@pytest.fixture(scope="module")
def folder(backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One folder for all tests: a finished run is not repeated."""
    folder = tmp_path_factory.mktemp("nugget-lm")
    loaded = load_backbone(str(backbone), device="cpu")
    network = start_network(loaded, 1)
    tensors = {name: parameter.detach().to(torch.float16) for name, parameter in network.named_parameters()}
    save_artifact(folder / "nuggets", tensors, {"layer": 1, "foundation_sha256": foundation(loaded, 1)})
    (folder / "extract").mkdir()
    titles = [f"Article {number}" for number in range(40)]
    prose = " ".join(["The dog which nobody saw stood late and the green door fell open."] * 60)
    pages = [
        f'<doc id="1" url="u" title="{title}">\n{title}\n\n{title} of the cat. {prose}\n</doc>\n' for title in titles
    ]
    assert any(is_held_out(Article(title, ())) for title in titles)
    (folder / "extract" / "AA.gz").write_bytes(gzip.compress("".join(pages).encode()))
    (folder / "test.txt").write_text(WIKITEXT)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("SPANSEEK_ENCODER", "untrained")
        patch.setenv("SPANSEEK_BACKBONE", str(backbone))
        patch.setenv("SPANSEEK_NUGGET_WEIGHTS", str(folder / "nuggets"))
        yield folder


def run(command: str) -> Result:
    result = CliRunner().invoke(cli, command.split(), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_from_texts_to_perplexities_and_plots(folder: Path) -> None:
    train = TRAIN.replace("--cache cache", "--cache shared")
    report = json.loads(run(f"{train} --out lm --checkpoints runs --json").stdout)
    assert (report["steps"], report["losses"].keys()) == (4, {"language", "auto_encoding"})
    run(f"{train} --kind mean --out mean --checkpoints runs-mean")
    assert len(list((folder / "shared").iterdir())) == 1
    command = (
        "eval nugget-lm --data test.txt --model lm --model mean --cache cache --history 0 --history 2 --plot h.svg"
    )
    (line,) = run(f"{command} --json").stdout.splitlines()
    found = json.loads(line)
    assert found["perplexity"].keys() == found["perplexity_later"].keys() == {"nuggets", "mean"}
    assert found["perplexity"]["nuggets"].keys() == {"0", "2"}
    assert found["gains_over_mean"]["nuggets"].keys() == {"0", "2"}
    assert found["tokens"] < sum(len(text.split()) for text in [WIKITEXT] * 2)
    assert b"segments of history" in (folder / "h.svg").read_bytes()
    assert "h = 2" in run(command).stdout


def test_one_decoder_reads_either_in_turn(folder: Path) -> None:
    run(f"{TRAIN} --kind nuggets --kind mean --out both --checkpoints runs-both")
    found = json.loads(
        run("eval nugget-lm --data test.txt --model both --cache cache --history 0 --history 2 --json").stdout
    )
    perplexity = found["perplexity"]
    assert perplexity["nuggets"]["0"] == perplexity["mean"]["0"]
    assert perplexity["nuggets"]["2"] != perplexity["mean"]["2"]
    assert found["gains_over_mean"]["nuggets"]["0"]["difference"] == 0


def test_what_is_chosen_and_what_a_nugget_tells(folder: Path) -> None:
    run(f"{TRAIN} --out lm --checkpoints runs")
    command = "eval nugget-selection --data test.txt --model lm --cache cache --probed 2"
    found = json.loads(run(f"{command} --plot chosen.svg --plot-gains gains.png --json").stdout)
    assert 0.5 < sum(one["of_nuggets"] for one in found["chosen"]) < 1.0001
    assert {"-1", "0", "1"} <= found["gains"]["by_distance"].keys()
    assert b"share" in (folder / "chosen.svg").read_bytes()
    assert (folder / "gains.png").read_bytes().startswith(b"\x89PNG")
    assert "share of nuggets" in run(command).stdout


def test_selectors_are_compared_on_the_same_sentences(folder: Path) -> None:
    for selector in ("learned", "chunk"):
        names = f"--selector {selector} --out {selector} --checkpoints runs-{selector}"
        run(f"{TRAIN} --texts sentences --predicted 0 --places {names}")
    command = "eval auto-encoding --extract extract --model learned --model chunk --cache cache --ratio 0.2 --ratio 0.5"
    found = json.loads(run(f"{command} --plot said.svg --json").stdout)
    assert found["accuracy"].keys() == {"learned", "chunk"}
    assert found["accuracy"]["learned"].keys() == {"0.0", "0.2", "0.5"}
    assert found["gains_of_learned"].keys() == {"chunk"}
    assert 0 < found["sentences"] < 20
    assert (folder / "said.svg").is_file()
    assert "r = 0.2" in run(command).stdout


def test_what_cannot_be_is_told(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="ratio"):
        run(f"{TRAIN.replace('0.25', '1.5')} --out lm --checkpoints runs")
    with pytest.raises(SourceUnreadable):
        run(f"{TRAIN.replace('test.txt', 'nowhere.txt')} --out lm --checkpoints runs")
    with pytest.raises(InvalidInput, match="cannot stand for a segment"):
        run(f"{TRAIN} --kind median --out lm --checkpoints runs")
    run(f"{TRAIN} --kind mean --out mean --checkpoints runs-mean")
    with pytest.raises(InvalidInput, match="reads means"):
        run("eval nugget-selection --data test.txt --model mean --cache cache")
    with pytest.raises(InvalidInput, match="cannot be written"):
        run("eval nugget-lm --data test.txt --model mean --cache cache --plot plot.txt")
    with pytest.raises(InvalidInput, match="looks back 4"):
        run("eval nugget-lm --data test.txt --model mean --cache cache --history 5")
