"""Which actors a front believes to be cut off."""

import pytest

from spanseek_ray.peers import Peer, Peers, State


def peers(**seen: float) -> Peers:
    made = Peers(replicas=2, queue=64)
    for name, at in seen.items():
        made.add(Peer(name, "here", None, State.READY, seen=at))
    return made


@pytest.mark.parametrize(
    ("seen", "silent"),
    [
        ({}, []),
        ({"a": 0.0}, []),
        ({"a": 100.0, "b": 100.4}, []),
        ({"a": 94.9, "b": 100.0, "c": 95.1}, ["a"]),
        ({"a": 10.0, "b": 10.5}, []),  # all of them: it is the front that was late
    ],
)
def test_an_actor_is_silent_where_another_spoke_since(seen: dict[str, float], silent: list[str]) -> None:
    assert [peer.name for peer in peers(**seen).silent(5.0)] == silent


def test_an_actor_that_is_not_asked_is_not_silent() -> None:
    made = peers(a=0.0, b=100.0)
    for peer in made.silent(5.0):
        made.lose(peer)
    assert made.silent(5.0) == []
    assert [peer.name for peer in made.ready] == ["b"]
