"""Settings after alterations, and Kafka 4.3.1's words for those it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.config_changes import Alteration, Operation, altered, check_alterations, check_lines
from broker.config.config_keys import Key
from broker.config.topic_keys import TOPIC_KEYS
from broker.errors import RequestError

SET, DELETE, APPEND, SUBTRACT = Operation


@dataclass
class Plain:
    """Settings of a topic without a broker."""

    own: Mapping[str, str] = field(default_factory=dict)

    def key(self, name: str) -> Key | None:
        return TOPIC_KEYS.get(name)

    def inherited(self, name: str) -> str:
        return "delete" if name == "cleanup.policy" else ""

    def not_a_list(self, operation: str, name: str) -> str:
        return f"no {operation} on {name}"


def test_values_are_set_and_unset() -> None:
    settings = Plain({"retention.ms": "1", "segment.ms": "2"})
    lines = [Alteration("retention.ms", DELETE, None), Alteration("flush.ms", SET, "3")]
    assert altered(settings, lines) == {"segment.ms": "2", "flush.ms": "3"}
    assert settings.own == {"retention.ms": "1", "segment.ms": "2"}


def test_unsetting_what_is_not_set_changes_nothing() -> None:
    assert altered(Plain(), [Alteration("no.such", DELETE, "whatever")]) == {}


def test_a_list_grows_and_shrinks_by_members() -> None:
    assert altered(Plain(), [Alteration("cleanup.policy", APPEND, "compact")]) == {
        "cleanup.policy": "delete,compact"
    }
    both = Plain({"cleanup.policy": "compact, delete"})
    assert altered(both, [Alteration("cleanup.policy", SUBTRACT, "delete")]) == {"cleanup.policy": "compact"}
    assert altered(both, [Alteration("cleanup.policy", APPEND, "delete")]) == {
        "cleanup.policy": "compact,delete"
    }
    assert altered(both, [Alteration("cleanup.policy", SUBTRACT, "compact,delete,x")]) == {
        "cleanup.policy": ""
    }


@pytest.mark.parametrize("name", ["retention.ms", "no.such"])
@pytest.mark.parametrize("operation", [APPEND, SUBTRACT])
def test_only_lists_grow_and_shrink(name: str, operation: Operation) -> None:
    with pytest.raises(RequestError, match=f"INVALID_CONFIG: no {operation.name} on {name}"):
        altered(Plain(), [Alteration(name, operation, "1")])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([("a", SET, None), ("b", APPEND, None)], "Null value not supported for : a, b"),
        ([("a", SET, "1"), ("a", DELETE, None)], "Error due to duplicate config keys"),
        ([("a", 4, "1")], "Unknown operations type 4"),
        ([("a", -1, "1")], "Unknown operations type -1"),
    ],
)
def test_what_no_resource_allows_is_a_bad_request(
    lines: list[tuple[str, int, str | None]], message: str
) -> None:
    with pytest.raises(RequestError, match=f"INVALID_REQUEST: {message}"):
        check_alterations([Alteration(*line) for line in lines])


def test_a_deletion_needs_no_value() -> None:
    check_alterations([Alteration("a", DELETE, None), Alteration("b", SET, "")])


def test_a_replacement_names_every_key_once_and_with_a_value() -> None:
    check_lines([("a", "1"), ("b", "")])
    with pytest.raises(RequestError, match="duplicate config keys"):
        check_lines([("a", "1"), ("a", "1")])
    with pytest.raises(RequestError, match="Null value not supported for : b"):
        check_lines([("a", "1"), ("b", None)])


MEMBERS = st.lists(st.sampled_from(["compact", "delete", "x", "y"]), unique=True)


@given(before=MEMBERS, added=MEMBERS)
def test_what_is_appended_and_subtracted_again_was_there_before(before: list[str], added: list[str]) -> None:
    grown = altered(
        Plain({"cleanup.policy": ",".join(before)}), [Alteration("cleanup.policy", APPEND, ",".join(added))]
    )
    shrunk = altered(Plain(grown), [Alteration("cleanup.policy", SUBTRACT, ",".join(added))])
    assert set(grown["cleanup.policy"].split(",")) - {""} == {*before, *added}
    assert [part for part in shrunk["cleanup.policy"].split(",") if part] == [
        member for member in before if member not in added
    ]
