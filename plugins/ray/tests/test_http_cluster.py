"""``/admin/cluster``: what reads the segments, as this server knows it."""

from collections.abc import Sequence

import pytest

from indexer.engine.executor import Executor
from indexer.engine.member import Member
from models.fields import converted
from spanseek_ray.routes import Actor, ClusterState
from tests.integration.http.conftest import Client, read_answer

MEMBERS = (
    Member("segments-b", "10.0.0.7", "out", failed=2),
    Member("segments-a", "10.0.0.7", "ready", 12, 1_234, 1, 8_123, 3, 0, 0.012, 0.4),
    Member("segments-c", "10.0.0.6", "joining"),
)


class Clustered(Executor):
    name = "ray"

    def members(self) -> Sequence[Member]:
        return MEMBERS

    @property
    def unreachable_segments(self) -> int:
        return 4


def test_actors_are_listed_by_node_and_name(start, settings) -> None:
    state = read_answer(ClusterState, start(settings, Clustered()).get("/admin/cluster"))
    assert (state.executor, state.unreachable_segments) == ("ray", 4)
    assert state.actors == tuple(converted(MEMBERS[at], Actor) for at in (2, 1, 0))


def test_a_server_that_reads_segments_itself_has_no_actors(start, settings) -> None:
    state = read_answer(ClusterState, start(settings, Executor()).get("/admin/cluster"))
    assert state == ClusterState("local", 0, ())


@pytest.mark.parametrize(
    ("scope", "collections", "status"), [("admin", None, 200), ("admin", ["sample"], 403), ("search", None, 403)]
)
def test_who_administers_everything_sees_the_cluster(start, settings, make_key, scope, collections, status) -> None:
    client: Client = start(settings, Clustered())
    client.headers = {"Authorization": f"Bearer {make_key(scope, collections=collections)}"}
    assert client.get("/admin/cluster").status_code == status


def test_without_a_key_it_is_not_seen_where_keys_are_in_use(start, settings, make_key, problem) -> None:
    make_key("search")
    problem(start(settings, Clustered()).get("/admin/cluster"), 401, "unauthenticated")
