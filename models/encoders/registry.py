"""Encoders by name. A name here enrols the encoder in the contract tests.

What only some encoders need is imported when one of them is loaded: torch takes seconds, which a command that encodes
nothing should not wait for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from models.encoders.base import Encoder
from models.encoders.hashing import HashingEncoder
from models.encoders.hashing_nuggets import HashingNuggetEncoder
from models.encoders.nugget import NuggetEncoder
from models.errors import UnknownEncoder
from models.packages import DEFAULT


@dataclass(frozen=True, slots=True)
class EncoderOptions:
    """What the operator decides about encoders."""

    backbone: str = DEFAULT
    weights: Path | None = None
    device: str = "auto"
    nugget_weights: Path | None = None
    nugget_selector: str | None = None  # another than the weights were trained with, to compare them
    whitenings: Path = Path("data") / "whitenings"  # of the nuggets of collections


def _hashing(options: EncoderOptions) -> Encoder:
    return HashingEncoder()


def _untrained(options: EncoderOptions) -> Encoder:
    from models.backbone_files import open_backbone
    from models.encoders.slice import SliceEncoder

    return SliceEncoder(open_backbone(options.backbone, device=options.device))


def _slice(options: EncoderOptions, *, projected: bool = False) -> Encoder:
    from models.artifacts import SHIPPED, load_artifact
    from models.backbone_files import open_backbone
    from models.encoders.slice import SliceEncoder

    artifact = load_artifact(options.weights or SHIPPED / "slice")
    return SliceEncoder(open_backbone(options.backbone, device=options.device), artifact, projected=projected)


def _slice128(options: EncoderOptions) -> Encoder:
    return _slice(options, projected=True)


# The encoders that have trained weights, and the folder of those that are shipped.
_WEIGHTS = {"slice": "slice", "slice128": "slice"}


def weights_folder(name: str, options: EncoderOptions) -> Path | None:
    """Where the trained weights of an encoder lie; none for one that has no weights.

    >>> weights_folder("slice", EncoderOptions(weights=Path("mine"))), weights_folder("hashing", EncoderOptions())
    (PosixPath('mine'), None)
    """
    if name not in _WEIGHTS:
        return None
    return options.weights or Path(__file__).parents[1] / "weights" / _WEIGHTS[name]


ENCODERS: dict[str, Callable[[EncoderOptions], Encoder]] = {
    "hashing": _hashing,
    "slice": _slice,
    "slice128": _slice128,
    "untrained": _untrained,
}


def load_encoder(name: str, options: EncoderOptions | None = None) -> Encoder:
    """Load an encoder by name.

    >>> load_encoder("hashing").dim
    64
    """
    if name not in ENCODERS:
        raise UnknownEncoder(
            f"There is no encoder named {name!r}.",
            hint=f"Encoders are: {', '.join(sorted(ENCODERS))}.",
            field="encoder",
        )
    return ENCODERS[name](options or EncoderOptions())


def load_nuggets(base: Encoder, options: EncoderOptions | None = None) -> NuggetEncoder:
    """The nuggets that go with a loaded encoder, in the same forward pass.

    Raises ``BackboneMissing`` where there are no weights, and ``BackboneMismatch`` where they stand on other layers.

    >>> load_nuggets(load_encoder("hashing")).dim
    64
    """
    if isinstance(base, HashingEncoder):
        return HashingNuggetEncoder(base)
    from models.artifacts import SHIPPED, load_artifact
    from models.encoders.slice import SliceEncoder
    from models.encoders.slice_nuggets import SliceNuggetEncoder

    if not isinstance(base, SliceEncoder):
        raise UnknownEncoder(
            f"The encoder {base.fingerprint} has no nuggets.",
            hint="Nuggets come with slice, slice128 and hashing.",
            field="encoder",
        )
    options = options or EncoderOptions()
    artifact = load_artifact(options.nugget_weights or SHIPPED / "nugget")
    return SliceNuggetEncoder(base, artifact, selector=options.nugget_selector)
