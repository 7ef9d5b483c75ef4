"""A receiver that is slow, down, answers 500, redirects, or resolves to an address that it should not have."""

import socket
from collections.abc import Iterator

import pytest

from spanseek_webhooks.addresses import AddressRules
from spanseek_webhooks.sending import DeliveryFailed, Sender, resolved
from tests.receivers import Receiver, dripping, receiving, refusing

LOCAL = AddressRules.allowing(["127.0.0.0/8"])


def sender(rules: AddressRules = LOCAL, timeout_s: float = 60.0, names: dict[str, list[str]] | None = None) -> Sender:
    def resolve(host: str, port: int) -> Iterator[str]:
        return iter((names or {}).get(host, ())) if names is not None else resolved(host, port)

    return Sender(rules, timeout_s=timeout_s, resolve=resolve)


def unknown(host: str, port: int) -> Iterator[str]:
    raise socket.gaierror("Name or service not known")


def failure(sender: Sender, url: str) -> str:
    with pytest.raises(DeliveryFailed) as failed:
        sender.post(url, {}, b"{}")
    assert "127.0.0.1" not in failed.value.detail
    return failed.value.code


def test_a_body_is_sent_with_its_headers() -> None:
    with receiving() as receiver:
        sender().post(f"{receiver.url}?team=7", {"webhook-id": "a-1", "content-type": "application/json"}, b'{"a": 1}')
    (got,) = receiver.received
    assert (got.path, got.json, got.headers["webhook-id"]) == ("/hook?team=7", {"a": 1}, "a-1")
    assert got.headers["host"] == receiver.url.split("/")[2]


@pytest.mark.parametrize(("status", "code"), [(500, "refused"), (404, "refused"), (429, "refused")])
def test_only_2xx_is_a_receipt(status: int, code: str) -> None:
    with receiving(Receiver(lambda got: status)) as receiver:
        assert failure(sender(), receiver.url) == code


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status: int) -> None:
    with receiving() as other, receiving(Receiver(lambda got: status, {"location": other.url})) as receiver:
        assert failure(sender(), receiver.url) == "redirected"
    assert (len(receiver.received), other.received) == (1, [])


def test_a_receiver_that_is_down() -> None:
    with refusing() as url:
        assert failure(sender(), url) == "unreachable"


def test_a_receiver_that_drips_its_answer_is_left_in_time() -> None:
    """It sends without end."""
    with dripping() as url:
        assert failure(sender(timeout_s=0.3), url) == "timeout"


def test_a_name_that_does_not_resolve() -> None:
    assert failure(Sender(LOCAL, timeout_s=60, resolve=unknown), "http://name.invalid/") == "unreachable"
    assert failure(sender(names={}), "http://nowhere.example/") == "address_refused"
    assert failure(sender(), f"http://{'x' * 64}.example/") == "unreachable"


def test_names_of_private_addresses_are_refused_when_they_are_connected_to() -> None:
    with receiving() as receiver:
        port = receiver.url.split(":")[2].split("/")[0]
        names = {"hooks.example": ["127.0.0.1"], "mixed.example": ["10.9.9.9", "127.0.0.1"]}
        for scheme in ("http", "https"):
            assert (
                failure(sender(AddressRules(), names=names), f"{scheme}://hooks.example:{port}/") == "address_refused"
            )
        assert receiver.received == []
        sender(names=names).post(f"http://mixed.example:{port}/", {}, b"{}")  # to the permitted one alone
    assert receiver.received[0].headers["host"] == f"mixed.example:{port}"


def test_a_name_is_resolved_once_for_check_and_connection() -> None:
    """DNS rebinding: a second answer would lead inside."""
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])
    asked = []

    def resolve(host: str, port: int) -> Iterator[str]:
        asked.append(host)
        return iter(next(answers))

    with receiving() as receiver:
        url = receiver.url.replace("127.0.0.1", "rebinding.example")
        Sender(LOCAL, timeout_s=60, resolve=resolve).post(url, {}, b"{}")
        assert asked == ["rebinding.example"]
        assert failure(Sender(LOCAL, timeout_s=60, resolve=resolve), url) == "address_refused"
    assert len(receiver.received) == 1
