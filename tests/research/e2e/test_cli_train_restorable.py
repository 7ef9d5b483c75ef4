"""``spanseek train restorable``, again and with other options, and ``spanseek eval restorable`` of its weights."""

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.cli import cli
from models.errors import InvalidInput
from research.training.restorable_data import split_of

TURNS = (
    "Where is my parcel?",
    "It was sent today. Please wait.",
    "I want my money back.",
    "Call 555-0199, please!",
)
SMALL = (
    "train restorable --data data --dim 32 --width 32 --stretch 16 --vectors 2 --vocabulary 300 --encoder-layers 1 "
    "--decoder-layers 1 --sentences 0 --tokens 128 --device cpu"
)
TEST_NAME = next(name for name in map(str, range(1000)) if split_of(f"sgd/{name}") == "test")
TRAIN_NAME = next(name for name in map(str, range(1000)) if split_of(f"sgd/{name}") == "train")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with two dialogues, of which one is held out."""
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    for name in ("sgd", "multiwoz", "taskmaster4", "multidogo/splits_annotated_at_turn_level/fastfood"):
        (data / name).mkdir(parents=True)
    turns = [{"utterance": text} for text in TURNS]
    dialogues = [{"dialogue_id": name, "turns": turns} for name in (TRAIN_NAME, TEST_NAME)]
    save_tar(data / "sgd/dev.tar.gz", "dev/dialogues_001.json", dialogues)
    save_tar(data / "taskmaster4/TM-4-2024.data.tar.gz", "a.json", [])
    with zipfile.ZipFile(data / "multiwoz/val.json.zip", "w") as archive:
        archive.writestr("val.json", "{}")
    with gzip.open(data / "multidogo/splits_annotated_at_turn_level/fastfood/train.tsv.gz", "wt") as file:
        file.write("conversationId\tutterance\n")
    return tmp_path


def save_tar(path: Path, name: str, value: object) -> None:
    body = json.dumps(value).encode()
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(body)
        archive.addfile(member, io.BytesIO(body))


def run(command: str) -> Result:
    return CliRunner().invoke(cli, command.split(), catch_exceptions=False)


def trained(name: str, options: str) -> dict[str, object]:
    done = run(f"{SMALL} --out {name} --checkpoints {name}-runs {options} --json")
    assert done.exit_code == 0, done.output
    report: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return report


def test_a_run_repeats_itself_goes_on_and_refuses_other_options(folder: Path) -> None:
    whole = trained("whole", "--steps 4 --save-every 2")
    again = trained("again", "--steps 4 --save-every 2")
    assert whole["weights_sha256"] == again["weights_sha256"]
    assert whole["steps"] == 4
    assert trained("again", "--steps 4")["weights_sha256"] == whole["weights_sha256"]  # there is nothing left to do
    assert trained("again", "--steps 5")["steps"] == 5
    before = (folder / "whole/tokenizer.json").read_bytes()
    for options in ("--seed 14", "--vocabulary 310", "--pooling mean", "--rate 0.1"):
        with pytest.raises(InvalidInput, match="belongs to a run that differs in"):
            run(f"{SMALL} --out whole --checkpoints whole-runs --steps 4 {options}")
    assert (folder / "whole/tokenizer.json").read_bytes() == before


def test_restored_texts_are_measured(folder: Path) -> None:
    trained("weights", "--steps 2")
    done = run("eval restorable --data data --model weights --source sgd --split test --length 1 --length 2 --json")
    assert done.exit_code == 0, done.output
    one, two = json.loads(done.stdout)
    assert (one["sentences"], one["texts"], two["texts"]) == (1, 5, 2)
    assert 0 <= one["rougeL"] <= 100
    with pytest.raises(InvalidInput, match="no source"):
        run("eval restorable --data data --model weights --source nowhere")
    table = run("eval restorable --data data --model weights --source sgd --split test")
    assert "R-L" in table.output
