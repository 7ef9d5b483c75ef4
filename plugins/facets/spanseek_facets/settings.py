"""The setting of facet vectors."""

from pathlib import Path

from pydantic import Field

from app.settings import PluginSettings


class FacetSettings(PluginSettings):
    """``docs/settings.md`` lists it with the settings of the core."""

    facet_weights: Path | None = Field(
        None, description="Folder of trained facets and their word vectors, instead of those shipped."
    )
