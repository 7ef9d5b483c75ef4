"""Base classes of stored data. Other fields in a catalog or a snapshot are refused."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1, max_length=1_000)]
Dim = Annotated[int, Field(ge=1, le=2**16)]


class Stored(BaseModel):
    """A model that accepts exactly its fields, with exactly their types."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class StoredDetails(Stored):
    """The stored details of a representation; some have no other fields."""

    fingerprint: Name
