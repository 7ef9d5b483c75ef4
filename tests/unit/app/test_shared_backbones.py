"""All models of a server read one backbone, whichever of them asks first."""

import subprocess
import sys

import pytest

import models.backbones.opening
from app.encoders.backbones import Backbones
from tests.waiting import PATIENCE_S

# In a process of its own: where types are checked while tests run, that alone loads torch's network.
SCRIPT = """
import models.backbones.opening as opening
from app.encoders.encoders import Encoders
from spanseek_facets.shipped import Facets
from indexer.restorable.models import Restoring
from models.backbones.packages import DEFAULT
from models.encoders.registry import EncoderOptions

opened, open_backbone = [], opening.open_backbone
opening.open_backbone = lambda source, **options: opened.append(source) or open_backbone(source, **options)
encoders = Encoders(EncoderOptions(device="cpu"))
names = ("slice", "slice128", "untrained", f"untrained@{DEFAULT}")
trained, small, plain, named = map(encoders.load, names)
facets = encoders.shared(Facets)
for model in (facets.sentences, facets.phrases):
    model.encode(["one word"])
encoders.shared(Restoring).restorer.meanings(["one word"])
assert opened == [DEFAULT], opened
assert trained.files is small.files is plain.files is named.files
assert plain.query_network is named.query_network is not trained.query_network
assert plain.text_network is named.text_network
assert not any(encoder.has_network for encoder in (trained, small, plain, named)), "torch read texts"
"""


@pytest.mark.ci("loads the shipped models")
def test_encoders_facets_and_the_restorer_open_a_backbone_once() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_a_backbone_that_cannot_be_opened_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    backbones, tries = Backbones(), []

    def failing(source: str, *, device: str) -> object:
        tries.append(source)
        raise OSError(source)

    monkeypatch.setattr(models.backbones.opening, "open_backbone", failing)
    for _ in range(2):
        with pytest.raises(OSError, match="mine"):
            backbones.open("mine", "cpu")
    assert tries == ["mine", "mine"]
