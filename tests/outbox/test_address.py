"""Which addresses web hooks may go to."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis.strategies import ip_addresses

from django_jobqueue import PermanentFailure
from django_jobqueue.outbox.address import usable

PUBLIC = ["93.184.216.34", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e"]

REFUSED = {
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "0.0.0.0": "unspecified",
    "0.1.2.3": "unspecified",
    "10.0.0.1": "private",
    "172.16.0.1": "private",
    "172.31.255.255": "private",
    "192.168.1.1": "private",
    "100.64.0.1": "shared",
    "100.100.100.200": "shared",
    "169.254.169.254": "link-local",
    "168.63.129.16": "metadata",
    "192.0.0.192": "reserved",
    "192.88.99.1": "reserved",
    "198.18.0.1": "benchmark",
    "192.0.2.1": "documentation",
    "224.0.0.1": "multicast",
    "239.255.255.255": "multicast",
    "240.0.0.1": "reserved",
    "255.255.255.255": "reserved",
    "::": "unspecified",
    "::1": "loopback",
    "::7f00:1": "reserved",
    "fe80::1": "link-local",
    "fe80::1%eth0": "link-local",
    "fec0::1": "reserved",
    "fd00:ec2::254": "private",
    "ff02::1": "multicast",
    "64:ff9b::7f00:1": "translated IPv4",
    "2002:7f00:1::": "tunnelled IPv4",
    "2001::1": "reserved",
    "2001:db8::1": "documentation",
}

MAPPED = {
    "::ffff:127.0.0.1": "127.0.0.1 (loopback)",
    "::ffff:169.254.169.254": "169.254.169.254 (link-local)",
}


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_used(address: str):
    assert usable("shop.example", [address], []) == [address]


@pytest.mark.parametrize(("address", "kind"), REFUSED.items())
def test_an_address_that_is_not_public_is_refused(address: str, kind: str):
    with pytest.raises(PermanentFailure) as refusal:
        usable("shop.example", [address], [])
    assert str(refusal.value).startswith(
        f"url: shop.example leads to {address} ({kind}), where web hooks are not"
    )


@pytest.mark.parametrize(("address", "named"), MAPPED.items())
def test_an_ipv4_address_in_the_form_of_ipv6_is_judged_as_what_it_is(address: str, named: str):
    with pytest.raises(PermanentFailure, match=named.replace("(", r"\(").replace(")", r"\)")):
        usable("shop.example", [address], [])


@given(ip_addresses())
def test_no_address_is_used_that_python_does_not_take_for_public(address):
    try:
        (used,) = usable("shop.example", [str(address)], [])
    except PermanentFailure:
        return
    assert ip_address(used).is_global
    assert not ip_address(used).is_multicast


def test_of_a_host_with_addresses_of_both_kinds_the_public_ones_are_used():
    assert usable("shop.example", ["10.0.0.1", "1.1.1.1", "1.1.1.1"], []) == ["1.1.1.1"]


def test_a_network_that_the_project_allows_is_used():
    assert usable("shop.example", ["10.1.2.3", "::1"], ["10.1.0.0/16", "::1/128"]) == ["10.1.2.3", "::1"]


def test_allowing_one_network_allows_no_other():
    with pytest.raises(PermanentFailure):
        usable("shop.example", ["10.2.0.1", "::ffff:10.2.0.1"], ["10.1.0.0/16"])


def test_a_network_of_ipv4_holds_for_the_form_of_ipv6_too():
    assert usable("shop.example", ["::ffff:10.1.2.3"], ["10.1.0.0/16"]) == ["10.1.2.3"]


def test_the_refusal_says_what_to_do():
    with pytest.raises(PermanentFailure, match="add the network to WEBHOOK_ALLOWED_NETWORKS"):
        usable("shop.example", ["10.0.0.1"], [])
