"""The headers of every answer."""

from __future__ import annotations

from console.web.headers import POLICY, SANDBOX, security_headers
from console.web.visit import Settings


def test_nothing_is_loaded_from_elsewhere_and_nothing_runs_inline() -> None:
    assert "default-src 'none'" in POLICY
    assert "unsafe" not in POLICY
    assert "http" not in POLICY


def test_a_download_is_in_a_sandbox() -> None:
    assert dict(security_headers(Settings("b:1"), sandbox=True))["Content-Security-Policy"] == SANDBOX


def test_the_referrer_stays_at_home() -> None:
    def policy(**settings: bool) -> str:
        return dict(security_headers(Settings("b:1", **settings)))["Referrer-Policy"]  # type: ignore[arg-type]

    assert (policy(), policy(loopback=False, https=True)) == ("no-referrer", "no-referrer")
    assert policy(loopback=False) == "same-origin"
