"""Where the weights of facet vectors lie."""

from pathlib import Path
from typing import Final

from pydantic import Field

from app.settings import PluginSettings

SHIPPED: Final = Path(__file__).parent / "weights"


class FacetSettings(PluginSettings):
    """``docs/settings.md`` lists it with the settings of the core."""

    facet_weights: Path | None = Field(
        None, description="Folder of trained facets and their word vectors, instead of those shipped."
    )
