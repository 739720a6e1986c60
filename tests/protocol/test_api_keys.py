"""API keys are Kafka's, and it is known from which version on their headers are flexible."""

from __future__ import annotations

from protocol.api_keys import FIRST_FLEXIBLE_VERSION, NEVER_FLEXIBLE, PRIVATE_FROM, ApiKey
from protocol.messages import DECLARED, request_type, response_type
from protocol.schema import declaration
from tests.protocol.specifications import specification, specified_names, versions_of


def test_keys_are_numbered_without_gaps_and_ours_lie_apart() -> None:
    assert [key.value for key in ApiKey if key < PRIVATE_FROM] == list(range(93))
    assert {key.name[:6] for key in ApiKey if key >= PRIVATE_FROM} == {"KAWAL_"}


def test_names_and_numbers_are_those_of_the_specifications() -> None:
    for name in specified_names():
        found = specification(name)
        if "apiKey" in found:
            camel = ApiKey(found["apiKey"]).name.title().replace("_", "")
            assert name in (f"{camel}Request", f"{camel}Response")


def test_flexible_headers_begin_where_the_specifications_say() -> None:
    for name in specified_names():
        found = specification(name)
        if "apiKey" in found:
            flexible = versions_of(found, "flexibleVersions")
            expected = flexible.start if flexible else NEVER_FLEXIBLE
            assert FIRST_FLEXIBLE_VERSION[found["apiKey"]] == expected, name


def test_flexible_headers_begin_where_the_declarations_say() -> None:
    for api_key in DECLARED:
        for cls in (request_type(api_key), response_type(api_key)):
            flexible = declaration(cls).flexible
            assert FIRST_FLEXIBLE_VERSION[api_key] == (flexible.start if flexible else NEVER_FLEXIBLE)
