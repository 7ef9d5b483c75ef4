"""``spanseek train word-vectors`` and ``train facets``, from an extract to facets that a query reads without torch."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from app.cli import cli
from models.encoders.registry import EncoderOptions, load_encoder
from models.errors import BackboneMismatch, BackboneMissing
from research.evaluation.wikipedia import Article, is_held_out
from research.training.word_vector_files import read_word_vectors
from spanseek_facets.model import load_facets
from tests.tiny_bert import PROSE

WORDS = [
    "it",
    "was",
    "late",
    "nobody",
    "saw",
    "the",
    "cat",
    "door",
    "which",
    "green",
    "stood",
    "open",
    "a",
    "dog",
    "barked",
    "rain",
    "fell",
]
TRAIN = (
    "train facets --encoder backbone --extract extract --words words.txt --facets 2 --batch 4 "
    "--out weights --checkpoints runs --steps 3 --json"
)
WITHOUT_TORCH = """
import sys
from pathlib import Path
from spanseek_facets.model import load_facets
from models.encoders.registry import EncoderOptions, load_encoder
from research.training.word_vector_files import read_word_vectors
load = lambda name: load_encoder(name, EncoderOptions("bert", device="cpu"))
print(load_facets(Path("weights"), read_word_vectors(Path("words.txt")), load).encode(["the cat"]).shape)
print("torch" in sys.modules, "transformers" in sys.modules)
"""


@pytest.fixture
def folder(backbone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny BERT, word vectors in the form of GloVe, and an extract of one article that is not held out."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPANSEEK_BACKBONE", "bert")
    (tmp_path / "bert").symlink_to(backbone)
    vectors = np.linalg.qr(np.random.default_rng(5).normal(size=(len(WORDS), 16)))[0]
    lines = [" ".join([word, *(f"{value:.4f}" for value in row)]) for word, row in zip(WORDS, vectors, strict=True)]
    (tmp_path / "words.txt").write_text("\n".join(lines) + "\n")
    title = next(name for name in map(str, range(40)) if not is_held_out(Article(name, ())))
    (tmp_path / "extract").mkdir()
    with gzip.open(tmp_path / "extract" / "AA.txt.gz", "wt", encoding="utf-8") as file:
        file.write(f'<doc id="1" url="u" title="{title}">\n{title}\n\n{PROSE}\n\n</doc>\n')
    return tmp_path


def run(command: str) -> Result:
    return CliRunner().invoke(cli, command.split(), catch_exceptions=False)


@pytest.mark.usefixtures("pictures")
def test_facets_over_a_backbone_are_trained_and_loaded_with_it_alone(folder: Path) -> None:
    done = run(TRAIN)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["steps"] == 3
    config = json.loads((folder / "weights/config.json").read_text())
    encoder = load_encoder("untrained", EncoderOptions("bert", device="cpu"))
    assert config["encoder"] == {"name": "untrained", "fingerprint": encoder.fingerprint}
    assert (config["shape"]["encoder"], config["shape"]["encoder_layers"]) == ("backbone", 0)
    words = read_word_vectors(folder / "words.txt")
    facets = load_facets(folder / "weights", words, lambda name: encoder).encode(["the cat", "a green door", ""])
    assert facets.shape == (3, 2, 16)
    assert not np.allclose(facets[0], facets[1], atol=1e-3)
    with pytest.raises(BackboneMismatch, match="read by"):
        load_facets(folder / "weights", words, lambda name: load_encoder("hashing"))
    with pytest.raises(BackboneMissing):
        load_facets(folder / "weights", words, lambda name: load_encoder(name, EncoderOptions("no-such-model")))
    lines = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert lines == ["(1, 2, 16)", "False False"]


def test_word_vectors_of_a_backbone_and_of_co_occurrences(folder: Path) -> None:
    done = run("train word-vectors --extract extract --out placed --dim 8 --json")
    assert done.exit_code == 0, done.output
    told, config = json.loads(done.stdout), json.loads((folder / "placed/config.json").read_text())
    words = read_word_vectors(folder / "placed")
    assert (told["words"], told["dim"], told["sha256"]) == (len(words.words), 8, words.sha256)
    encoder = load_encoder("untrained", EncoderOptions("bert", device="cpu"))
    assert config["encoder"] == {"name": "untrained", "fingerprint": encoder.fingerprint}
    assert run("train word-vectors --extract extract --out near --dim 8 --of co-occurrences").exit_code == 0
    assert read_word_vectors(folder / "near").words == words.words
