"""The addresses that webhooks may reach: public ones over TLS, others only where the operator allows their network."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, Self, TypeAlias
from urllib.parse import urlsplit

from models.errors import InvalidInput

Address: TypeAlias = IPv4Address | IPv6Address
MAX_URL: Final = 2000
# Addresses of IPv4 within addresses of IPv6, by the translators that many networks have.
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
# The unicast addresses of IPv6 that IANA assigns.
_UNICAST: Final = IPv6Network("2000::/3")
# IANA's registries of special-purpose addresses as of 2025-10-09, as far as they lie within the unicast addresses; and
# multicast and reserved addresses of IPv4. No webhook needs any of them, also if it is globally reachable.
# https://www.iana.org/assignments/iana-ipv4-special-registry and .../iana-ipv6-special-registry
_SPECIAL: Final = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
            "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
            "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
        ),
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AddressRules:
    """The addresses that may be reached. ``allowed`` networks may also be private, and be reached without TLS.

    >>> rules = AddressRules.allowing(["10.1.0.0/16"])
    >>> [rules.permits(ip_address(each), encrypted=True) for each in ("10.1.2.3", "10.2.0.1", "8.8.8.8", "::1")]
    [True, False, True, False]
    >>> rules.permits(ip_address("8.8.8.8"), encrypted=False)
    False
    """

    allowed: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def allowing(cls, networks: Iterable[str]) -> Self:
        """The rules with these allowed networks. Raises ``InvalidInput`` for what is no network."""
        try:
            return cls(tuple(map(ip_network, networks)))
        except ValueError as error:
            raise InvalidInput(
                f"SPANSEEK_WEBHOOK_NETWORKS is not a list of networks: {error}.",
                hint="Write, for example, 10.1.0.0/16,fd00::/8.",
                field="webhook_networks",
            ) from error

    def permits(self, address: Address, *, encrypted: bool) -> bool:
        """True if a webhook may send to an address."""
        real = _unwrapped(address)
        return _lies_in(self.allowed, real) or (encrypted and _is_public(real))


def checked_url(url: str, rules: AddressRules) -> str:
    """The URL itself, when a webhook may have it; where its host is a name, the address is checked when it sends.

    Raises ``InvalidInput``.

    >>> checked_url("https://example.org/hooks?team=7", AddressRules())
    'https://example.org/hooks?team=7'
    """
    if len(url) > MAX_URL or not url.isascii() or not url.isprintable() or " " in url:
        raise _refused("It has characters that must be percent-encoded, or too many of them")
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")
    except ValueError as error:
        raise _refused(str(error)) from error
    if parts.scheme not in ("https", "http") or not parts.hostname or port == 0:
        raise _refused("It does not begin with https:// and a host")
    if "@" in parts.netloc or parts.fragment:
        raise _refused("It has a password, a user or a fragment")
    if parts.scheme == "http" and not rules.allowed:
        raise _refused("Without TLS, texts could be read on their way: begin it with https://")
    try:
        address = ip_address(parts.hostname)
    except ValueError:
        return url
    if not rules.permits(address, encrypted=parts.scheme == "https"):
        raise _refused(f"{address} is not a public address")
    return url


def _unwrapped(address: Address) -> Address:
    """The address of IPv4 that one of IPv6 leads to, if it does; else the address."""
    if isinstance(address, IPv4Address):
        return address
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _is_public(address: Address) -> bool:
    is_unicast = isinstance(address, IPv4Address) or address in _UNICAST
    return is_unicast and not _lies_in(_SPECIAL, address)


def _lies_in(networks: Iterable[IPv4Network | IPv6Network], address: Address) -> bool:
    return any(address in network for network in networks if network.version == address.version)


def _refused(reason: str) -> InvalidInput:
    return InvalidInput(
        f"A webhook cannot have this URL. {reason}.",
        hint="Give an https:// URL of a public address; SPANSEEK_WEBHOOK_NETWORKS allows others.",
        field="url",
    )
