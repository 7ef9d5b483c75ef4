"""The fields of what is stored, as they must be: whatever else a catalog or a snapshot holds is refused."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1, max_length=1_000)]
Dim = Annotated[int, Field(ge=1, le=2**16)]


class Stored(BaseModel):
    """Fields of exactly these types, and no others."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class StoredDetails(Stored):
    """The details of every representation, and the only ones of some."""

    fingerprint: Name
