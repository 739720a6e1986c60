"""The gate follows from the configuration, and costs a plain start nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from broker.catalogue.topics import Catalogue
from broker.config.acl_keys import STANDARD_AUTHORIZER
from broker.config.config import config_of
from broker.requests.gate import OpenGate
from broker.requests.gates import authorizer_of, rules_gate


def test_without_an_authorizer_the_gate_is_open() -> None:
    assert authorizer_of(config_of({}), Catalogue()) is None
    assert isinstance(rules_gate(None, Catalogue()), OpenGate)


def test_the_authorizer_has_the_operators_policy() -> None:
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:a;User:b"}
    authorizer = authorizer_of(config_of(settings), Catalogue())
    assert authorizer is not None
    assert authorizer.policy.super_users == {"User:a", "User:b"}
    assert not authorizer.policy.allow_without_rules
    assert type(rules_gate(authorizer, Catalogue())).__name__ == "AclGate"


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        ({}, False),
        ({"super.users": "User:a"}, True),
        ({"allow.everyone.if.no.acl.found": "false"}, True),
        ({"super.users": "User:a", "authorizer.class.name": STANDARD_AUTHORIZER}, False),
    ],
)
def test_keys_of_an_authorizer_without_one_are_warned_of(
    settings: dict[str, str], warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    authorizer_of(config_of(settings), Catalogue())
    assert ("clients may do everything" in caplog.text) is warned


def test_a_start_without_an_authorizer_imports_nothing_of_it() -> None:
    program = (
        "import sys, broker.core; print([n for n in sys.modules if 'acl_gate' in n or 'authorizer' in n])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
