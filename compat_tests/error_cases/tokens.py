"""Errors of delegation tokens, over a listener with logins."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from compat_tests import tokens
from compat_tests.error_cases.case import Scene, Told, provokes
from compat_tests.logins import login_settings
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient
from protocol.error_codes import ErrorCode

LISTENER: Final = login_settings(SASL="SASL_PLAINTEXT")
GUARDED: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}

Ask = Callable[[RawClient, RawClient], int]
"""Asks on connections of alice and bob, and returns the code."""


def asked(code: ErrorCode, **settings: str) -> Callable[[Ask], Ask]:
    """Make a function the case of a code, with a broker that has tokens and these settings."""

    def add(ask: Ask) -> Ask:
        @provokes(code)
        def provoke(scene: Scene) -> Told:
            broker = scene.start_broker(**LISTENER | tokens.TOKEN_SETTINGS | settings)
            clients = [tokens.logged_in(broker, user) for user in ("alice", "bob")]
            told = Told(ask(*clients))
            for client in clients:
                client.close()
            return told

        return ask

    return add


def made(owner: RawClient) -> Any:
    """Have a token made that the broker knows; Kafka's learn of it some milliseconds after the answer."""
    token = tokens.create(owner)
    known = partial(tokens.shown, owner, everything=True)
    eventually(lambda: token.token_id in known(), waiting_for="the token")
    return token


@asked(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, **{"delegation.token.secret.key": ""})
def token_of_a_broker_without_a_key(alice: RawClient, _bob: RawClient) -> int:
    return int(tokens.create(alice).error_code)


@asked(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
def token_that_does_not_exist(alice: RawClient, _bob: RawClient) -> int:
    return tokens.renew(alice, b"unknown")[0]


@asked(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
def token_of_another(alice: RawClient, bob: RawClient) -> int:
    return tokens.renew(bob, made(alice).hmac)[0]


@asked(ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED, **GUARDED)
def token_for_another_without_the_right(alice: RawClient, _bob: RawClient) -> int:
    return int(tokens.create(alice, **tokens.for_owner("bob")).error_code)


@asked(ErrorCode.DELEGATION_TOKEN_EXPIRED, **{"delegation.token.expiry.time.ms": "1"})
def token_that_has_expired(alice: RawClient, _bob: RawClient) -> int:
    token = made(alice)
    eventually(lambda: time.time() * 1000 > token.expiry_timestamp_ms + 1, waiting_for="its end")
    return tokens.renew(alice, token.hmac)[0]


@asked(ErrorCode.INVALID_PRINCIPAL_TYPE)
def renewer_that_is_no_user(alice: RawClient, _bob: RawClient) -> int:
    return int(tokens.create(alice, "staff", renewers_type="Group").error_code)


@provokes(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
def token_for_a_client_without_an_identity(scene: Scene) -> Told:
    return Told(tokens.create(scene.raw).error_code)
