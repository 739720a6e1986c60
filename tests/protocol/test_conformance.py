"""Every declaration agrees with Kafka's own specification, but for what conformance.py leaves open."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.api_keys import ApiKey
from protocol.schema import declaration
from tests.protocol.conformance import NOT_SPECIFIED, differences, is_specified
from tests.protocol.specifications import (
    common,
    released_versions,
    specification,
    specified_names,
    versions_of,
)
from tests.strategies import MESSAGE_TYPES, name_of

SPECIFIED = [cls for cls in MESSAGE_TYPES if is_specified(cls)]


def test_only_known_messages_lack_a_specification() -> None:
    of_kafka = {cls.__name__ for cls in MESSAGE_TYPES if not cls.__name__.startswith("Kawal")}
    assert of_kafka - set(specified_names()) == NOT_SPECIFIED


@pytest.mark.parametrize("cls", SPECIFIED, ids=name_of)
def test_message_has_its_key_and_versions(cls: type[Any]) -> None:
    found, declared = specification(cls.__name__), declaration(cls)
    assert declared.api == ApiKey(found["apiKey"])
    assert declared.versions == released_versions(specification(cls.__name__.replace("Response", "Request")))
    flexible = versions_of(found, "flexibleVersions")
    assert common(declared.flexible, declared.versions) == common(flexible, declared.versions)


@pytest.mark.parametrize("cls", SPECIFIED, ids=name_of)
def test_fields_are_as_specified(cls: type[Any]) -> None:
    declared = declaration(cls)
    assert (
        differences(cls.__name__, declared.fields, specification(cls.__name__)["fields"], declared.versions)
        == []
    )
