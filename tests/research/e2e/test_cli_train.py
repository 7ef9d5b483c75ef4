"""``spanseek train``, from a user's own files to weights that ``spanseek eval`` and ``index`` can load."""

import gzip
import hashlib
import json
import re
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.cli import cli
from models.artifacts import load_artifact
from models.encoders.registry import EncoderOptions, load_encoder
from models.errors import InvalidInput
from research.training import slice as recipe
from research.training.loop import Losses
from tests.tiny_bert import fit_briefly

TRIPLET = {"query": "the cat sat", "positive": "It was late, and a cat was seen.", "negative": "Rain fell."}
TRAIN = "train slice --triplets triplets.ndjson --out weights --checkpoints runs --backbone bert --device cpu"


@pytest.fixture
def folder(backbone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    fit_briefly(monkeypatch)
    (tmp_path / "bert").symlink_to(backbone)
    (tmp_path / "triplets.ndjson").write_text(json.dumps(TRIPLET) + "\n")
    return tmp_path


def run(command: str) -> Result:
    return CliRunner().invoke(cli, command.split(), catch_exceptions=False)


@pytest.mark.usefixtures("pictures")
def test_weights_are_trained_reported_and_loaded(folder: Path) -> None:
    done = run(f"{TRAIN} --steps 3 --save-every 2 --json")
    assert done.exit_code == 0, done.output
    (line,) = done.stdout.splitlines()
    report = json.loads(line)
    assert list(report) == ["steps", "seconds", "losses", "weights_sha256", "folder"]
    assert report["steps"] == 3
    assert report["losses"].keys() == {"triplets", "narrow_triplets"}
    assert report["weights_sha256"] == hashlib.sha256((folder / "weights/weights.safetensors").read_bytes()).hexdigest()
    # No terminal, so a line at the first step, at every checkpoint and at the last step.
    assert re.findall(r"step (\d)/3  loss \d+\.\d{4}  \d+\.\d\d s/step  0:00:\d\d left", done.stderr) == ["1", "2", "3"]
    assert (folder / "runs/loss.png").read_bytes().startswith(b"\x89PNG")
    encoder = load_encoder("slice", EncoderOptions("bert", folder / "weights", "cpu"))
    assert load_artifact(folder / "weights").sha256[:24] in encoder.fingerprint


def test_ctrl_c_saves_and_the_same_command_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step_losses = recipe.step_losses

    def interrupted(*arguments: object) -> Losses:
        if arguments[-1] == 1:
            signal.raise_signal(signal.SIGINT)
        return step_losses(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(recipe, "step_losses", interrupted)
        stopped = run(f"{TRAIN} --steps 4")
    assert stopped.exit_code == 130
    assert "saving a checkpoint after this step" in stopped.stderr
    assert "Stopped after step 2. Repeat the command" in stopped.stderr
    assert load_artifact(folder / "weights").config["steps"] == 2
    resumed = run(f"{TRAIN} --steps 4")
    assert resumed.exit_code == 0
    assert "Resuming after step 2." in resumed.stderr
    assert "4 steps made. To use the weights, set SPANSEEK_WEIGHTS=weights" in resumed.stdout
    again = run(f"{TRAIN.replace('--checkpoints runs', '--checkpoints other')} --steps 4 --json")
    assert (
        json.loads(again.stdout)["weights_sha256"]
        == hashlib.sha256((folder / "weights/weights.safetensors").read_bytes()).hexdigest()
    )


def test_weights_of_losses_are_set_by_name(folder: Path) -> None:
    run(f"{TRAIN} --steps 1 --weight triplets=0.5 --weight narrow=2 --weight contrast=0")
    kept = load_artifact(folder / "weights").config
    weights, distillation = kept["weights"], kept["distillation"]
    assert (weights["triplets"], weights["narrow"], weights["graded"]) == (0.5, 2.0, 1.0)
    assert (distillation["contrast"], distillation["cosine"]) == (0.0, 1.0)
    for wrong in ("triplets", "other=1", "graded=-1", "graded=much"):
        with pytest.raises(InvalidInput, match="is no weight of a loss"):
            run(f"{TRAIN} --weight {wrong}")


def test_what_a_step_sees_is_set_by_name(folder: Path) -> None:
    run(f"{TRAIN} --steps 1 --draw short=3 --draw plain=1")
    shape = load_artifact(folder / "weights").config["shape"]
    assert (shape["short"], shape["plain"], shape["alone"]) == (3, 1, 4)
    for wrong in ("short", "long=1", "short=-1", "short=0.5"):
        with pytest.raises(InvalidInput, match="is no number of texts"):
            run(f"{TRAIN} --draw {wrong}")


def test_triplets_and_pairs_are_built_with_their_licences(folder: Path) -> None:
    (folder / "data/snli").mkdir(parents=True)
    rows = [("entailment", "A cat was seen."), ("contradiction", "Rain fell.")]
    with gzip.open(folder / "data/snli/snli_1.0_dev.jsonl.gz", "wt") as file:
        for label, text in rows:
            file.write(json.dumps({"sentence1": "The cat sat.", "sentence2": text, "gold_label": label}) + "\n")
    made = run("train build-triplets --data data --out t.ndjson --kind entailments --json")
    counted = {"entailments": {"rows": 1, "licence": "CC BY-SA 4.0"}}
    assert json.loads(made.stdout) == {"out": "t.ndjson", "rows": 1, "kinds": counted}
    shown = run("train build-pairs --data data --out p.ndjson --kind entailments").stdout
    assert "entailments" in shown
    assert "CC BY-SA 4.0" in shown
    scores = [json.loads(line)["score"] for line in (folder / "p.ndjson").read_text().splitlines()]
    assert scores == [1.0, 0.0]


def test_a_cross_encoder_is_trained_and_labels_pairs(folder: Path) -> None:
    (folder / "data/stsb").mkdir(parents=True)
    rows = [("5.0", "the cat sat", "a cat sat"), ("0.0", "rain fell", "the door stood open"), ("2.0", "rain", "a cat")]
    text = "".join(f"main\tof\t2012\t1\t{score}\t{one}\t{other}\n" for score, one, other in rows)
    with gzip.open(folder / "data/stsb/sts-train.csv.gz", "wt") as file:
        file.write(text)
    (folder / "data/stsb/sts-dev.csv").write_text(text)
    local = "--data data --backbone bert --device cpu"
    trained = run(f"train cross-encoder {local} --out cross --checkpoints cp --steps 2 --json")
    assert json.loads(trained.stdout)["losses"].keys() == {"cross_entropy"}
    run(f"{TRAIN} --steps 1")
    pair = {"query": "a dog barked", "paraphrase": "the dog barked", "score": 0.5}
    (folder / "pairs.ndjson").write_text((json.dumps(pair) + "\n") * 2)
    label = (
        f"train pseudo-label {local} --pairs pairs.ndjson --cross-encoder cross --weights weights --out labelled.ndjson"
    )
    report = json.loads(run(f"{label} --json").stdout)
    assert report.keys() == {"out", "rows", "left_out", "correlations"}
    assert (report["rows"], report["left_out"]) == (2, 0)
    assert report["correlations"].keys() == {"cross_encoder", "encoder", "both"}
    lines = [json.loads(line) for line in (folder / "labelled.ndjson").read_text().splitlines()]
    assert [line["query"] for line in lines] == ["a dog barked"] * 2
    assert lines[0]["score"] != 0.5
    assert "2 pairs labelled. Correlation with human grades: cross_encoder" in run(label).stdout
    with (folder / "pairs.ndjson").open("a") as file:
        file.write(json.dumps(pair | {"paraphrase": "It was barking!"}) + "\n")
    (folder / "rows.tsv").write_text("line\tparaphrase\tpassage\tgoldsim\nit was barking\tno\tno\t1\n")
    assert "2 pairs labelled, 1 left out (--exclude)." in run(f"{label} --exclude rows.tsv").stdout
    (folder / "pairs.ndjson").write_text("\n")
    with pytest.raises(InvalidInput, match=r"no pairs to label in pairs\.ndjson"):
        run(label)
