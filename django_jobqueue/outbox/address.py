"""Which addresses a web hook may go to: public ones, and those of the networks that the project allows. Pure.

URLs of web hooks often come from customers. One that leads to the project's own network, or to the metadata
service of its cloud, would make the worker fetch what only the inside may see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from django_jobqueue.exceptions import PermanentFailure

Address = IPv4Address | IPv6Address

# IANA's registries of special addresses. Python's own ``is_global`` differs from release to release.
_SPECIAL = [
    (ip_network(network), kind)
    for network, kind in {
        "0.0.0.0/8": "unspecified",
        "10.0.0.0/8": "private",
        "100.64.0.0/10": "shared",
        "127.0.0.0/8": "loopback",
        "168.63.129.16/32": "metadata",  # a public address, and the inside of one cloud
        "169.254.0.0/16": "link-local",  # most clouds' metadata
        "172.16.0.0/12": "private",
        "192.0.0.0/24": "reserved",
        "192.0.2.0/24": "documentation",
        "192.88.99.0/24": "reserved",
        "192.168.0.0/16": "private",
        "198.18.0.0/15": "benchmark",
        "198.51.100.0/24": "documentation",
        "203.0.113.0/24": "documentation",
        "224.0.0.0/4": "multicast",
        "240.0.0.0/4": "reserved",
        "::/128": "unspecified",
        "::1/128": "loopback",
        "64:ff9b::/96": "translated IPv4",
        "2001::/23": "reserved",
        "2001:db8::/32": "documentation",
        "2002::/16": "tunnelled IPv4",
        "3fff::/20": "documentation",
        "fc00::/7": "private",
        "fe80::/10": "link-local",
        "ff00::/8": "multicast",
    }.items()
]
_GLOBAL = IPv6Network("2000::/3")


def usable(host: str, found: Iterable[str], allowed: Sequence[str]) -> list[str]:
    """The addresses among those found for ``host`` that may be connected to, each once, in their order.

    ``allowed`` are networks that may be used although they are not public. Raises ``PermanentFailure`` saying
    why when there is none.
    """
    networks = [ip_network(network) for network in allowed]
    good: dict[str, None] = {}
    refused: dict[str, None] = {}
    for text in found:
        address = _unmapped(ip_address(text))
        kind = _special(address)
        if kind is None or any(address in network for network in networks):
            good[str(address)] = None
        else:
            refused[f"{address} ({kind})"] = None
    if not good:
        raise PermanentFailure(
            f"url: {host} leads to {', '.join(refused) or 'no address'}, where web hooks are not sent. If that is "
            "meant, add the network to WEBHOOK_ALLOWED_NETWORKS."
        )
    return list(good)


def _unmapped(address: Address) -> Address:
    """``::ffff:10.0.0.1`` connects to 10.0.0.1, and is judged as that."""
    return getattr(address, "ipv4_mapped", None) or address


def _special(address: Address) -> str | None:
    for network, kind in _SPECIAL:
        if address in network:
            return kind
    return "reserved" if isinstance(address, IPv6Address) and address not in _GLOBAL else None
