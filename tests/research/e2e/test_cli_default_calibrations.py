"""``spanseek train calibration`` and ``train no-match``: from a folder of texts to what previews say."""

import gzip
import io
import json
import random
import sys
import tarfile
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.cli import cli, main
from models.encoders.calibrations import DefaultCalibration, read_default
from models.encoders.registry import EncoderOptions, load_encoder
from models.errors import BackboneMismatch, InvalidInput
from models.ops.calibrate import check_knots
from tests.tiny_bert import fit_briefly, save_tiny_bert

WORDS = ["late", "nobody", "saw", "cat", "door", "green", "stood", "open", "dog", "barked", "rain", "fell"]
TRIPLET = {"query": "the cat sat", "positive": "It was late, and a cat was seen.", "negative": "Rain fell."}
TRAIN = "train slice --triplets triplets.ndjson --out weights --checkpoints runs --backbone bert --device cpu --steps 1"
CALIBRATE = "train calibration --data sets --json"
NO_MATCH = "train no-match --collection prose --data sets --phrases 12 --json"


def gzipped(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))


def archive(path: Path, name: str, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode()
    member = tarfile.TarInfo(name)
    member.size = len(content)
    with tarfile.open(path, "w:gz") as file:
        file.addfile(member, io.BytesIO(content))


def save_sets(folder: Path) -> None:
    """Sets in the forms of the known ones: pairs say the same, or have no word in common."""
    rng = random.Random(3)

    def prose(words: int) -> str:
        return f"It was {' '.join(rng.choices(WORDS, k=words))}. Nobody saw it. So the rain fell."

    pairs = []
    for number in range(100):
        words = rng.sample(WORDS, 8)
        query, other = words[:4], words[:4] if number % 2 else words[4:]
        pairs.append(f"g\tf\ty\t1\t{number % 2 * 5}\t{' '.join(query)}\t{' '.join(other)}")
    gzipped(folder / "stsb/sts-train.csv.gz", *pairs)
    captions = [" ".join(rng.sample(WORDS, 5)) for _ in range(30)]
    rows = (json.dumps({"sentence1": text, "sentence2": text, "gold_label": "neutral"}) for text in captions)
    gzipped(folder / "snli/snli_1.0_dev.jsonl.gz", *rows)
    gzipped(folder / "wiki-split/tune.tsv.gz", "The cat sat , it fell .\tThe cat sat . <::::> It fell .")
    (folder / "nltk").mkdir()
    with zipfile.ZipFile(folder / "nltk/state_union.zip", "w") as file:
        file.writestr("state_union/one.txt", "\n".join(prose(40) for _ in range(20)))
    for name in ("github-site-policy.md.tar.gz", "legalmattic.md.tar.gz"):
        archive(folder / "policies" / name, "policy.md", prose(20))
    archive(folder / "qmsum/train.tar.gz", "one.json", json.dumps({"meeting_transcripts": [{"content": prose(9)}]}))
    orders = json.dumps([{"utterances": [{"text": prose(9)}]}])
    archive(folder / "taskmaster4/TM-4-2024.data.tar.gz", "one.json", orders)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small BERT, weights trained with it for a step, sets to calibrate with, and text to index."""
    folder = tmp_path_factory.mktemp("calibrations")
    (folder / "bert").mkdir()
    save_tiny_bert(folder / "bert")
    save_sets(folder / "sets")
    (folder / "triplets.ndjson").write_text(json.dumps(TRIPLET) + "\n")
    rng = random.Random(4)
    texts = [" ".join(rng.choices(WORDS, k=30)) for _ in range(40)]
    lines = [json.dumps({"id": f"d{number}", "text": text}) for number, text in enumerate(texts)]
    (folder / "prose.ndjson").write_text("\n".join(lines))
    with pytest.MonkeyPatch.context() as patch:
        fit_briefly(patch)
        patch.chdir(folder)
        run(TRAIN)
    return folder


@pytest.fixture
def folder(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, for one test to write to."""
    for name in ("bert", "sets", "prose.ndjson"):
        (tmp_path / name).symlink_to(trained / name)
    (tmp_path / "weights").mkdir()
    for path in (trained / "weights").iterdir():
        (tmp_path / "weights" / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    for name, value in (("DATA_DIR", "data"), ("BACKBONE", "bert"), ("WEIGHTS", "weights"), ("DEVICE", "cpu")):
        monkeypatch.setenv(f"SPANSEEK_{name}", value)
    run("init-db")
    return tmp_path


def run(command: str) -> Result:
    return CliRunner().invoke(cli, command.split(), catch_exceptions=False)


def told(command: str) -> dict:
    done = run(command)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def default_of(folder: Path, name: str) -> DefaultCalibration | None:
    encoder = load_encoder(name, EncoderOptions("bert", folder / "weights", "cpu"))
    return read_default(folder / "weights", encoder.fingerprint)


def test_scores_and_what_no_match_looks_like_come_with_the_weights(folder: Path) -> None:
    figures = told(CALIBRATE)
    assert figures.keys() == {"slice", "slice128"}
    for name, of in figures.items():
        made = default_of(folder, name)
        check_knots(made.map)
        assert (of["pairs"], of["method"], made.no_match) == (100, made.method, None)
        assert of["error_after"] < of["error_before"]
    assert told(CALIBRATE) == figures
    run("index --collection prose --source prose.ndjson")
    grown = told(NO_MATCH)
    assert grown["units"] == [100, 1000]
    assert all(low <= high for low, high in pairwise(grown["median"]))
    assert (default_of(folder, "slice").no_match.phrases, default_of(folder, "slice128").no_match) == (12, None)
    shown = told("preview rain --collection prose --json")["no_match"]
    assert (shown["units"], shown["median_raw"] < shown["high_raw"]) == (1200, True)
    calibrated = told("search rain --collection prose --json")
    assert calibrated["threshold"]["calibration"] is not None
    before = default_of(folder, "slice")
    told(f"{CALIBRATE} --encoder slice")
    assert default_of(folder, "slice") == before, "a map that is fitted again keeps what was measured on raw"


def test_pairs_with_excluded_sentences_are_left_out(folder: Path) -> None:
    first = gzip.decompress((folder / "sets/stsb/sts-train.csv.gz").read_bytes()).decode().split("\t")[5]
    Path("excluded.tsv").write_text(f"line\tparaphrase\n{first}\tnothing\n")
    assert told(f"{CALIBRATE} --encoder slice --exclude excluded.tsv")["slice"]["pairs"] < 100


def test_what_cannot_be_calibrated_says_why_and_writes_nothing(folder: Path) -> None:
    for command, why in {
        "train calibration --data nowhere": "The data folder lacks",
        f"{CALIBRATE} --encoder hashing": "hashing has no trained weights",
        f"{CALIBRATE} --exclude sets": "does not name the sentences to leave out",
    }.items():
        with pytest.raises(InvalidInput, match=why):
            run(command)
    run("index --collection prose --source prose.ndjson")
    run("index --collection other --source prose.ndjson --max-span 5")
    for command, why in {
        NO_MATCH: "slice has no default calibration yet",
        f"{NO_MATCH} --collection other": "different recipes",
    }.items():
        with pytest.raises(InvalidInput, match=why):
            run(command)
    assert not list((folder / "weights").glob("calibration*"))


def test_a_broken_file_says_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "weights/calibration.json"
    path.write_text("{")
    with pytest.raises(BackboneMismatch, match="is not a calibration"):
        run("index --collection prose --source prose.ndjson")
    monkeypatch.setattr(sys, "argv", f"spanseek {CALIBRATE} --encoder slice".split())
    with pytest.raises(SystemExit):
        main()
    assert "Remove it, or make it again" in capsys.readouterr().err
    path.unlink()
    assert told(f"{CALIBRATE} --encoder slice")["slice"]["pairs"] == 100
