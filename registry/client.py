"""Asking a schema registry over HTTP."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections.abc import Callable
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from registry.errors import Unreachable

SECONDS_MAX: Final = 10.0
ANSWER_BYTES_MAX: Final = 8 << 20
"""The largest answer: Confluent's own registry takes schemas of 1 MB."""
_TYPES: Final = "application/vnd.schemaregistry.v1+json, application/json"
_PART_BYTES: Final = 64 << 10


def address_problem(url: str) -> str | None:
    """Return what is wrong with the address of a registry."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # an open bracket of IPv6, a port out of range
        fits = False
    return None if fits else "is not an address such as http://127.0.0.1:8081"


class Client:
    """A registry at an address, which may hold a name and a password: http://NAME:PASSWORD@HOST:8081."""

    def __init__(
        self, url: str, *, user_info: str | None = None, timeout_seconds: float = SECONDS_MAX
    ) -> None:
        """`user_info` is NAME:PASSWORD, if the address has none."""
        parts = urlsplit(url)
        _, _, host = parts.netloc.rpartition("@")
        self.url = parts._replace(netloc=host, query="", fragment="").geturl().rstrip("/")
        self._timeout_seconds = timeout_seconds
        self._headers = {"Accept": _TYPES}
        if parts.username is not None:
            user_info = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        if user_info:
            self._headers["Authorization"] = f"Basic {b64encode(user_info.encode()).decode()}"

    def ask(self, path: str) -> Any:
        """Return the JSON at a path; None: there is nothing.  Raises: Unreachable, within the timeout."""
        url = f"{self.url}/{path}"
        ends = time.monotonic() + self._timeout_seconds
        try:
            with urlopen(Request(url, headers=self._headers), timeout=self._timeout_seconds) as answer:  # noqa: S310  (http and https only)
                return json.loads(_read(answer.read1, ends, url))
        except HTTPError as error:
            if error.code == 404:
                return None
            raise Unreachable(f"the schema registry answers {error.code} to {url}: {error.reason}") from error
        except (URLError, OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise Unreachable(f"cannot reach the schema registry at {url}: {reason}") from error
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Unreachable(f"{url} does not answer with JSON; is it a schema registry?") from error


def _read(read: Callable[[int], bytes], ends: float, url: str) -> bytes:
    """Read an answer to its end, even if it comes byte by byte.  Raises: Unreachable, TimeoutError."""
    found = bytearray()
    while part := read(_PART_BYTES):
        found += part
        if len(found) > ANSWER_BYTES_MAX:
            raise Unreachable(f"{url} answers with more than {ANSWER_BYTES_MAX} bytes")
        if time.monotonic() > ends:
            raise TimeoutError("timed out")
    return bytes(found)
