"""Values framed by clients of a Confluent-compatible schema registry, shown as JSON.

    0x00  id:int32  payload

The payload of a JSON schema is JSON; one of an Avro schema is read by it (`avro`).  What is not framed, what
the registry does not know, and Protobuf stay as they are.

Source: Confluent's documentation of the wire format, and of GET /schemas/ids/{id}.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

from console.avro import AvroError, AvroReader
from console.errors import CommandError, UsageError

SECONDS_MAX: Final = 10
_FRAME: Final = struct.Struct(">bi")

Decode = Callable[[bytes], bytes]
"""What makes JSON of a payload."""


class Registry:
    """A schema registry; each schema is asked for once."""

    def __init__(self, url: str, fetch: Callable[[str], Any] | None = None) -> None:
        """Take the registry's address.  Raises: UsageError."""
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
            raise UsageError(f"--registry {url!r} is not an address such as http://127.0.0.1:8081")
        self._url = url.rstrip("/")
        self._fetch = fetch or fetched
        self._known: dict[int, Decode | None] = {}

    def decoded(self, data: bytes | None) -> bytes | None:
        """Return the JSON of a framed value, and anything else as it is.  Raises: CommandError."""
        if data is None or len(data) < _FRAME.size or data[0]:
            return data
        _, identity = _FRAME.unpack_from(data)
        if identity not in self._known:
            self._known[identity] = self._decoder(identity)
        decode = self._known[identity]
        if decode is None:
            return data
        try:
            return decode(data[_FRAME.size :])
        except AvroError as error:
            raise CommandError(
                f"a value with schema {identity} of {self._url} is not of it: {error}"
            ) from error

    def _decoder(self, identity: int) -> Decode | None:
        """Return what decodes the values of a schema; None where there is nothing to decode with."""
        found = self._fetch(f"{self._url}/schemas/ids/{identity}")
        if found is None:
            return None
        kind = found.get("schemaType", "AVRO")
        if kind == "JSON":
            return lambda payload: payload
        if kind != "AVRO":
            return None
        try:
            reader = AvroReader(json.loads(found["schema"]), self._references(found))
        except (ValueError, KeyError, TypeError) as error:
            raise CommandError(f"schema {identity} of {self._url} cannot be read: {error!r}") from error
        return lambda payload: json.dumps(
            reader.read(payload), ensure_ascii=False, separators=(",", ":")
        ).encode("utf-8", "surrogatepass")

    def _references(self, schema: dict[str, Any]) -> list[Any]:
        """Return the schemas that a schema names, those that they name before them."""
        found: list[Any] = []
        for reference in schema.get("references") or ():
            place = f"{quote(reference['subject'], safe='')}/versions/{reference['version']}"
            told = self._fetch(f"{self._url}/subjects/{place}")
            if told is not None:
                found += [*self._references(told), json.loads(told["schema"])]
        return found


def fetched(url: str) -> Any:
    """Return the JSON at an address, None for what is not there.  Raises: CommandError."""
    try:
        with urlopen(url, timeout=SECONDS_MAX) as answer:  # noqa: S310  (http and https only)
            return json.load(answer)
    except HTTPError as error:
        if error.code == 404:
            return None
        raise CommandError(f"the schema registry answers {error.code} to {url}: {error.reason}") from error
    except (URLError, OSError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise CommandError(f"cannot reach the schema registry at {url}: {reason}") from error
    except ValueError as error:
        raise CommandError(f"{url} does not answer with JSON; is it a schema registry?") from error
