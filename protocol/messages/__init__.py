"""One file per Kafka API: its request and response declarations for every version.

Structs carry Kafka's own names, fields Kafka's names in snake case. Files are imported one by one, when their
API is asked for: starting a broker must not pay for messages nobody sends.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from protocol.api_keys import ApiKey

DECLARED: Final = (
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.FIND_COORDINATOR,
    ApiKey.API_VERSIONS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.DESCRIBE_CLUSTER,
)
"""The APIs that have a file here."""


def request_type(api_key: ApiKey) -> type[Any]:
    """Return the request class of an API.

    Raises: KeyError if it is not declared.
    """
    return _declared(api_key, "Request")


def response_type(api_key: ApiKey) -> type[Any]:
    """Return the response class of an API.

    Raises: KeyError if it is not declared.
    """
    return _declared(api_key, "Response")


def _declared(api_key: ApiKey, suffix: str) -> type[Any]:
    if api_key not in DECLARED:
        raise KeyError(api_key)
    name = api_key.name.lower()
    found: type[Any] = getattr(
        import_module(f"protocol.messages.{name}"), name.title().replace("_", "") + suffix
    )
    return found
