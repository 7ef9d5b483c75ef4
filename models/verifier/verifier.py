"""The verifier: judgements of pairs, kept for as long as others have not taken their place."""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final, cast

import numpy as np
from jaxtyping import Float32

from models.artifacts import SHIPPED, Artifact, load_artifact
from models.backbones.files import BackboneFiles
from models.backbones.query_network import fits
from models.encoders.base import Encoder
from models.errors import BackboneMismatch
from models.verifier.network import PairNetwork, check_head
from models.verifier.types import Judgement, Pair
from models.verifier.verdicts import UNSCALED, Evidence, Scale, judgement, nearness

RECIPE: Final = "verifier.v3"
_KEPT: Final = 20_000


class Verifier:
    """Judges pairs. The same pair gets the same judgement, whatever else is judged with it."""

    def __init__(self, network: PairNetwork, scale: Scale) -> None:
        self._network, self._scale = network, scale
        self._kept: dict[Pair, Judgement] = {}
        self._lock = Lock()

    @property
    def decision_point(self) -> float:
        """The similarity (raw) at and above which a match is more probable than not, as far as similarity tells."""
        return self._scale.decision_point

    @property
    def least(self) -> float:
        """The similarity (raw) below which no pair is a likely match."""
        return self._scale.least

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        """The judgement of every pair; those that are kept cost nothing."""
        with self._lock:
            known = {pair: self._kept[pair] for pair in pairs if pair in self._kept}
        new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        read = [pair for pair in new if nearness(pair)]
        logits = dict(zip(read, self.logits(read), strict=True))
        known |= {pair: judgement(pair, logits.get(pair), self._scale) for pair in new}
        self._keep({pair: known[pair] for pair in new})
        return [known[pair] for pair in pairs]

    def logits(self, pairs: Sequence[Pair]) -> list[Float32[np.ndarray, " outputs"]]:
        """The network's outputs for every pair."""
        return self._network(self._network.windows(pairs)) if pairs else []

    def _keep(self, judged: dict[Pair, Judgement]) -> None:
        with self._lock:
            self._kept |= judged
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]  # the oldest


def open_verifier(encoder: Encoder, folder: Path | None = None) -> Verifier | None:
    """The verifier over the backbone of an encoder; None if it was trained over another, or the encoder has none.

    Raises ``BackboneMissing`` and ``BackboneMismatch`` for a folder without weights, or with other ones.
    """
    files = getattr(encoder, "files", None)
    if not isinstance(files, BackboneFiles) or files.bert is None or not fits(files.bert, files.stored):
        return None
    artifact = load_artifact(folder or SHIPPED / "verifier")
    if artifact.config.get("recipe") != RECIPE or not check_head(artifact):
        raise BackboneMismatch(
            f"The weights in {folder or SHIPPED / 'verifier'} are not those of a verifier.",
            hint="Name the folder that spanseek train verifier wrote.",
        )
    if artifact.config.get("backbone_sha256") != files.weights_sha256:
        return None
    return Verifier(PairNetwork(files, files.bert, artifact), _scale(artifact))


def _scale(artifact: Artifact) -> Scale:
    config = cast("dict[str, Any]", artifact.config.get("scale", {}))
    return Scale(config["intercept"], Evidence(**config["weights"]), config["even"]) if config else UNSCALED
