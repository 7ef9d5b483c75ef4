"""``spanseek train nugget``, from aligned texts and articles to weights that ``spanseek index`` can load."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from app.cli import cli
from models.artifacts import load_artifact
from models.encoders.registry import EncoderOptions, load_nuggets
from models.errors import InvalidInput
from research.training import nugget as recipe
from research.training import nugget_initialization as nugget_start
from tests.tiny_bert import PROSE

SECTION = " ".join([PROSE] * 9)[:400]
TRAIN = (
    "train nugget --pairs aligned.tsv --out weights --checkpoints runs --backbone bert --device cpu --layer 1 "
    "--draw documents=2 --draw fewest_words=8 --draw most_words=12 --ratio-from 0.2 --steps 2 --json"
)


@pytest.fixture(scope="module")
def folder(backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One folder for all tests: a finished run of ``TRAIN`` is not repeated."""
    folder = tmp_path_factory.mktemp("nugget")
    (folder / "bert").symlink_to(backbone)
    (folder / "aligned.tsv").write_text("the cat sat\ta cat was seen\nrain fell\tit was late\n")
    pages = [f'<doc id="1" url="u" title="{t}">\n{t}\n\n{SECTION}\n\nPast.\n\n{SECTION}\n</doc>\n' for t in "ABCDE"]
    (folder / "extract").mkdir()
    (folder / "extract/AA.gz").write_bytes(gzip.compress("".join(pages).encode()))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(nugget_start, "_SCORER_STEPS", 3)
        patch.setattr(recipe, "_FIRST_DRAWS", 2)
        patch.setattr(recipe, "_LAST_DRAWS", 2)
        yield folder


def run(command: str) -> Result:
    return CliRunner().invoke(cli, command.split(), catch_exceptions=False)


def test_weights_are_trained_reported_and_loaded(folder: Path) -> None:
    done = run(TRAIN)
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["steps"] == 2
    assert report["losses"].keys() == {"contrastive", "segments", "boundaries", "auto_encoding", "translation"}
    options = EncoderOptions("bert", None, "cpu", folder / "weights")
    nuggets = load_nuggets("untrained", options)
    assert load_artifact(folder / "weights").sha256[:24] in nuggets.fingerprint
    assert report["weights_sha256"] == hashlib.sha256((folder / "weights/weights.safetensors").read_bytes()).hexdigest()


def test_a_run_goes_on_from_other_weights_with_articles(folder: Path) -> None:
    run(TRAIN)
    begun = f"{TRAIN.replace('weights', 'further').replace('runs', 'more')} --start weights"
    with pytest.raises(InvalidInput, match="no articles"):
        run(f"{begun} --draw of_articles=2")
    done = run(f"{begun} --draw of_articles=2 --extract extract --skip 2 --weight boundaries=0")
    assert done.exit_code == 0, done.output
    assert "boundaries" not in json.loads(done.stdout)["losses"]
    config = load_artifact(folder / "further").config
    assert config["start"] == load_artifact(folder / "weights").sha256
    assert config["shape"]["of_articles"] == 2
    assert (config["articles"], config["articles_licence"]) == (3, "CC BY-SA 3.0")
    with pytest.raises(InvalidInput, match="differs in: articles"):
        run(f"{begun} --draw of_articles=2 --extract extract --skip 1 --weight boundaries=0")
    with pytest.raises(InvalidInput, match="no articles"):
        run(f"{begun} --draw of_articles=2 --extract extract --skip 5")


def test_runs_from_the_same_weights_are_averaged(folder: Path) -> None:
    run(TRAIN)
    for seed in (1, 2):
        done = run(
            f"{TRAIN.replace('weights', f'of{seed}').replace('runs', f'run{seed}')} --start weights --seed {seed}"
        )
        assert done.exit_code == 0, done.output
    done = run("train average-nuggets --of of1 --of of2 --out average --json")
    assert json.loads(done.stdout)["parts"] == 2
    one, other, found = (load_artifact(folder / name) for name in ("of1", "of2", "average"))
    for name, tensor in found.tensors.items():
        middle = (one.tensors[name].float() + other.tensors[name].float()) / 2
        torch.testing.assert_close(tensor.float(), middle, atol=1e-3, rtol=1e-3)
    assert [of["sha256"] for of in found.config["parts"]] == [one.sha256, other.sha256]
    options = EncoderOptions("bert", None, "cpu", folder / "average")
    assert found.sha256[:24] in load_nuggets("untrained", options).fingerprint


def test_what_differs_has_no_average(folder: Path) -> None:
    run(TRAIN)
    run(f"{TRAIN.replace('weights', 'tokens').replace('runs', 'others')} --gather token")
    with pytest.raises(InvalidInput, match="differ in gather"):
        run("train average-nuggets --of weights --of tokens --out average")
