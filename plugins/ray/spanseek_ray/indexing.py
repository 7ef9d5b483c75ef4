"""Indexing on a cluster: what its actors need to make the segments of a collection."""

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from app.encoders.encoders import Encoders
from app.services import Services, segments_options
from indexer.indexing.segment_maker import LocalMaker
from indexer.machine import use_device
from indexer.segments.options import SegmentsOptions, make_segments
from indexer.segments.storage import Segments
from indexer.types import Collection, Recipe
from models.encoders.registry import EncoderOptions
from spanseek_ray.segment_maker import ClusterMaker
from spanseek_ray.settings import ClusterOptions, RaySettings


@dataclass(frozen=True, slots=True)
class OnCluster:
    """The cluster of the settings, and where its actors find segments."""

    cluster: ClusterOptions
    segments: SegmentsOptions

    @classmethod
    def of(cls, services: Services) -> "OnCluster":
        """Make it for a registry of services."""
        return cls(services.settings.of(RaySettings).cluster, segments_options(services.settings))

    def maker(
        self, segments: Segments, target: Collection, options: EncoderOptions, segment_units: int
    ) -> ClusterMaker:
        """The maker of a collection's segments."""
        making, by_gpu = self.making(target.id, target.recipe, options), options.device != "cpu"
        return ClusterMaker(segments, target.id, making, self.cluster, by_gpu=by_gpu, segment_units=segment_units)

    def making(self, collection_id: str, recipe: Recipe, options: EncoderOptions) -> "Making":
        """Return the factory of segment makers that is sent to every actor."""
        segments = replace(self.segments, folder=self.segments.folder.absolute())
        return Making(_travelling(options), segments, collection_id, recipe)


@dataclass(frozen=True, slots=True)
class Making:
    """A picklable factory of segment makers for actors: a recipe, its models' options, and the place of segments."""

    encoders: EncoderOptions
    segments: SegmentsOptions
    collection_id: str
    recipe: Recipe

    def __call__(self) -> LocalMaker:
        """Make the segment maker in this process. Raises ``RecipeMismatch`` if the weights differ."""
        use_device(self.encoders.device)
        encoders = Encoders(self.encoders)
        encoder, forward = encoders.matching(self.recipe), encoders.forward_pass(self.recipe)
        return LocalMaker(make_segments(self.segments), self.collection_id, self.recipe, encoder, forward)


def _travelling(options: EncoderOptions) -> EncoderOptions:
    """The options without the backbones that are open here, and with paths that hold in other working folders.

    A GPU has no number: Ray shows each actor its own alone.
    """
    values = {field.name: getattr(options, field.name) for field in fields(options)}
    paths: dict[str, Any] = {name: value.absolute() for name, value in values.items() if isinstance(value, Path)}
    is_folder = ":" not in options.backbone
    backbone = str(Path(options.backbone).absolute()) if is_folder else options.backbone
    device = options.device.partition(":")[0]
    weights = {name: path.absolute() for name, path in options.plugin_weights.items()}
    return replace(options, **paths, backbone=backbone, device=device, open_backbone=None, plugin_weights=weights)
