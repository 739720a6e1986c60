"""The places of the keys of tokens: a file, or an address of https that the operator has named."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler

from broker.config.sasl_settings import OAuthSettings
from broker.loop.loop import Loop
from broker.security.jwks import IssuerKeys, Run, Times
from broker.security.jwt_validator import JwtValidator, TokenRules, read_keys
from broker.security.sasl_oauthbearer import TokenKeysUnusable, Validator

SIZE_BYTES_MAX: Final = 64 << 10
TIMEOUT_SECONDS: Final = 10.0


class _NoRedirects(HTTPRedirectHandler):
    """An issuer that sends us elsewhere is not the one that the operator has named."""

    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect: it becomes an error."""


def validator_maker(loop: Loop, run: Run) -> Callable[[OAuthSettings], Validator]:
    """Return what makes the judge of a listener's tokens; `run` runs work that waits for other machines.

    What it returns raises TokenKeysUnusable when a file of keys cannot be used at the start; an address that
    does not answer is tried again.
    """

    def make(settings: OAuthSettings) -> Validator:
        read = keys_reader(settings.keys_url)
        if settings.keys_url.startswith("file:"):
            try:
                read()
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise TokenKeysUnusable(
                    f"{settings.keys_url} (sasl.oauthbearer.jwks.endpoint.url) cannot be used: {reason}"
                ) from error
        times = Times(settings.refresh_ms, settings.backoff_ms, settings.backoff_max_ms)
        keys = IssuerKeys(settings.keys_url, read, run, times, lambda: loop.clock.turn_ms)
        keys.refresh()
        rules = TokenRules(settings.issuer, settings.audiences, settings.skew_ms, settings.name_claim)
        return JwtValidator(rules, keys, lambda: loop.clock.wall_ms(loop.clock.turn_ms))

    return make


def keys_reader(url: str) -> Callable[[], Mapping[str, Any]]:
    """Return what reads the keys at a place; it raises OSError or ValueError, and may take 10 seconds."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        return lambda: read_keys(_file(unquote(parts.path)))
    return lambda: read_keys(_fetched(url))


def _file(path: str) -> bytes:
    with open(path, "rb") as stream:
        return _bounded(stream.read(SIZE_BYTES_MAX + 1))


def _fetched(url: str) -> bytes:
    opener = urllib.request.build_opener(_NoRedirects, HTTPSHandler())
    try:
        with opener.open(url, timeout=TIMEOUT_SECONDS) as answer:
            return _bounded(answer.read(SIZE_BYTES_MAX + 1))
    except HTTPException as error:
        raise OSError(f"the answer is not HTTP: {type(error).__name__}") from error


def _bounded(data: bytes) -> bytes:
    if len(data) > SIZE_BYTES_MAX:
        raise ValueError(f"it has more than {SIZE_BYTES_MAX >> 10} KiB")
    return data
