"""Which addresses and URLs webhooks may have."""

from ipaddress import ip_address

import pytest

from models.errors import InvalidInput
from spanseek_webhooks.addresses import AddressRules, checked_url

PRIVATE = (
    "127.0.0.1", "127.8.9.10", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "198.18.0.1", "192.0.2.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
    "::", "::1", "fe80::1", "fc00::1", "fd12:3456::1", "fec0::1", "ff02::1", "2001:db8::1", "2001::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::", "2002:c0a8:101::1",
    "192.88.99.1", "192.0.0.9", "192.31.196.1", "192.175.48.1", "::8.8.8.8", "::ffff:0:8.8.8.8", "::ffff:0:10.0.0.1",
    "64:ff9b:1::808:808", "64:ff9b:1:808:8:800::", "64:ff9b::c058:6301", "100::1", "100:0:0:1::1", "3fff::1", "5f00::1",
    "2001:1::1", "2001:4:112::1", "2001:20::1", "2620:4f:8000::1", "4000::1", "8000::1", "fe80::1%1", "1fff:ffff::1",
)  # fmt: skip
PUBLIC = (
    "8.8.8.8", "1.1.1.1", "172.32.0.1", "223.255.255.255", "2606:4700::1111", "2001:4860:4860::8888",
    "2a00:1450:4001::1", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
)  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_what_is_not_public_is_refused_in_every_spelling(address: str) -> None:
    assert not AddressRules().permits(ip_address(address), encrypted=True)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_reached_with_tls_alone(address: str) -> None:
    assert AddressRules().permits(ip_address(address), encrypted=True)
    assert not AddressRules().permits(ip_address(address), encrypted=False)


def test_an_operator_allows_networks() -> None:
    rules = AddressRules.allowing(["127.0.0.0/8", "fd00::/8"])
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "fd00::7"):
        assert rules.permits(ip_address(address), encrypted=False)
    for address in ("10.0.0.1", "::1", "fe80::1"):
        assert not rules.permits(ip_address(address), encrypted=True)
    with pytest.raises(InvalidInput, match="SPANSEEK_WEBHOOK_NETWORKS"):
        AddressRules.allowing(["my network"])


@pytest.mark.parametrize(
    "url",
    [
        "", "ftp://example.org", "example.org/hook", "https://", "https:///path", "https://user@example.org",
        "https://user:word@example.org/", "https://example.org/#part", "https://example.org:99999/", "https://[::1",
        "https://example.org:0/", "https://exämple.org/", "https://example.org/a b", "https://example.org/\r\nHost: a",
        "http://example.org/", "https://127.0.0.1/", "https://[::1]/", "https://[::ffff:10.0.0.1]:8443/",
        "https://169.254.169.254/latest", "https://" + "x" * 64 + ".example/", "https://a..example/",
        "javascript:alert(1)", "https://example.org/" + "x" * 2000,
    ],
)  # fmt: skip
def test_urls_that_no_webhook_has(url: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked_url(url, AddressRules())
    assert refused.value.field == "url"


@pytest.mark.parametrize("url", ["https://example.org", "https://example.org:8443/a?b=c", "https://8.8.8.8/hook"])
def test_urls_that_a_webhook_may_have(url: str) -> None:
    assert checked_url(url, AddressRules()) == url


def test_plain_http_needs_an_allowed_network() -> None:
    rules = AddressRules.allowing(["10.0.0.0/8"])
    assert checked_url("http://10.1.2.3:9000/", rules) == "http://10.1.2.3:9000/"
    assert checked_url("http://inside.example/", rules) == "http://inside.example/"
    with pytest.raises(InvalidInput):
        checked_url("http://8.8.8.8/", rules)
