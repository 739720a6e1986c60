"""The headers of every answer, errors and static files included."""

from __future__ import annotations

from typing import Final

from console.web.visit import Settings

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SANDBOX: Final = "sandbox; default-src 'none'"
"""The policy of a value that is downloaded: should a browser show it after all, nothing in it works."""


def security_headers(settings: Settings, *, sandbox: bool = False) -> tuple[tuple[str, str], ...]:
    """Return the headers of an answer."""
    # Browsers send neither Sec-Fetch-Site nor, without a referrer, Origin over plain HTTP from afar: forms
    # would not be known as ours.
    private = settings.loopback or settings.https
    return (
        ("Content-Security-Policy", SANDBOX if sandbox else POLICY),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Referrer-Policy", "no-referrer" if private else "same-origin"),
        ("X-Frame-Options", "DENY"),
    )
