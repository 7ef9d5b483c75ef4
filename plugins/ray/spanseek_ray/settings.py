"""Settings of the cluster, and the options that follow from them."""

from dataclasses import dataclass
from typing import Final

from pydantic import Field

from app.settings import PluginSettings, Seconds

# The address of a cluster that a process starts for itself.
LOCAL: Final = "local"


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The operator's options of a cluster: its address, and the names, numbers and patience of its actors.

    ``actors`` run on every node, ``replicas`` of them hold a segment, and ``queue`` requests wait for one of them.
    ``encoders`` are the actors of an indexing job, if their number is not left to the cluster.
    """

    address: str = "auto"
    namespace: str = "spanseek"
    actors: int = 1
    replicas: int = 2
    deadline_s: float = 5.0
    queue: int = 64
    encoders: int | None = None


class RaySettings(PluginSettings):
    """The settings of a Ray cluster; ``docs/settings.md`` lists them with those of the core."""

    ray_address: str = Field(
        "auto",
        description="Ray cluster of the engine ray, which the extra ray installs: auto finds the one that runs on this "
        "machine, or HOST:PORT; local starts one in the process, for trying.",
    )
    ray_namespace: str = Field(
        "spanseek", description="Ray namespace of the actors; another for every data folder of one cluster."
    )
    ray_actors: int = Field(1, gt=0, description="Actors on every node of the cluster.")
    ray_replicas: int = Field(2, gt=0, description="Actors that hold each segment.")
    ray_deadline_s: Seconds = Field(
        5.0,
        gt=0,
        description="Seconds in which an actor must answer a search; without it the answer says that it is degraded.",
    )
    ray_queue: int = Field(
        64, gt=0, description="Requests of one server that may wait for an actor; further ones are answered 429."
    )
    ray_encoders: int | None = Field(
        None,
        gt=0,
        description="Actors that encode for a job; by default one for each GPU of the cluster or, without any, for "
        "each processor.",
    )

    @property
    def cluster(self) -> ClusterOptions:
        """The options of the cluster."""
        return ClusterOptions(
            self.ray_address,
            self.ray_namespace,
            self.ray_actors,
            self.ray_replicas,
            self.ray_deadline_s,
            self.ray_queue,
            self.ray_encoders,
        )
