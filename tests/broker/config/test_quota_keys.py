"""The settings of quotas: limits of single addresses are read, or refused with the pair that is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.quota_keys import QUOTA_KEYS, overrides_problem, per_ip_overrides


def test_pairs_are_read_as_kafka_reads_them() -> None:
    assert per_ip_overrides("10.0.0.1:200, ::1:5,[2001:db8::1]:0,") == {
        "10.0.0.1": 200,
        "::1": 5,
        "2001:db8::1": 0,
    }
    assert per_ip_overrides("") == {}


@pytest.mark.parametrize("pair", ["a", ":5", "a:", "a:x", "a:-1", "a:٣", "a:2147483648", "a:1.5"])
def test_a_wrong_pair_is_named(pair: str) -> None:
    problem = overrides_problem(f"10.0.0.1:1,{pair}")
    assert problem is not None
    assert repr(pair) in problem


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    problem = overrides_problem(text)
    if problem is None:
        assert all(host and count >= 0 for host, count in per_ip_overrides(text).items())


def test_defaults_are_those_of_kafka() -> None:
    assert {key.name: key.default for key in QUOTA_KEYS} == {
        "quota.window.num": 11,
        "quota.window.size.seconds": 1,
        "controller.quota.window.num": 11,
        "controller.quota.window.size.seconds": 1,
        "max.connection.creation.rate": 2**31 - 1,
        "max.connections.per.ip.overrides": "",
    }
