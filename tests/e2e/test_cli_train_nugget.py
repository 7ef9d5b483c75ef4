"""``spanseek train nugget``, from aligned texts and articles to weights that ``spanseek index`` can load."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.cli import cli
from models.artifacts import load_artifact
from models.encoders.registry import EncoderOptions, load_encoder, load_nuggets
from models.errors import InvalidInput
from models.training import nugget as recipe
from models.training import nugget_start
from tests.tiny_bert import PROSE, save_tiny_bert

SECTION = " ".join([PROSE] * 9)[:400]
TRAIN = (
    "train nugget --pairs aligned.tsv --out weights --checkpoints runs --backbone bert --device cpu --layer 1 "
    "--draw documents=2 --draw fewest_words=8 --draw most_words=12 --ratio-from 0.2 --steps 2 --json"
)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture
def folder(bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(nugget_start, "_SCORER_STEPS", 3)
    monkeypatch.setattr(recipe, "_FIRST_DRAWS", 2)
    monkeypatch.setattr(recipe, "_LAST_DRAWS", 2)
    (tmp_path / "bert").symlink_to(bert)
    (tmp_path / "aligned.tsv").write_text("the cat sat\ta cat was seen\nrain fell\tit was late\n")
    pages = [f'<doc id="1" url="u" title="{t}">\n{t}\n\n{SECTION}\n\nPast.\n\n{SECTION}\n</doc>\n' for t in "ABCDE"]
    (tmp_path / "extract").mkdir()
    (tmp_path / "extract/AA.gz").write_bytes(gzip.compress("".join(pages).encode()))
    return tmp_path


def run(command: str) -> Result:
    return CliRunner().invoke(cli, command.split(), catch_exceptions=False)


def test_weights_are_trained_reported_and_loaded(folder: Path) -> None:
    done = run(TRAIN)
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["steps"] == 2
    assert report["losses"].keys() == {"contrastive", "segments", "boundaries", "auto_encoding", "translation"}
    options = EncoderOptions("bert", None, "cpu", folder / "weights")
    nuggets = load_nuggets(load_encoder("untrained", options), options)
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
    with pytest.raises(InvalidInput, match="no articles"):
        run(f"{begun} --draw of_articles=2 --extract extract --skip 5")
