"""Tokens expire, are removed, and are looked up in constant work; a crash leaves a token whole or none."""

from __future__ import annotations

import errno
import subprocess
import sys

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from broker.catalogue.delegation_tokens import SWEPT_AT_ONCE
from broker.security.scram import Mechanism
from protocol.error_codes import ErrorCode
from protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from tests.broker.delegation import (
    create,
    described_ids,
    expire,
    logged_in,
    renew,
    token_gateway,
    token_login,
)
from tests.broker.gateway import Gateway
from tests.wal.crash import RandomFates
from wal.disk import DiskError

MINUTE_MS = 60_000


def test_a_server_without_a_key_has_no_tokens_and_imports_nothing_for_them() -> None:
    assert Gateway().broker.tokens is None
    code = (
        "import sys, broker.core, broker.server.run;"
        "print([name for name in sys.modules if 'delegation' in name or 'sasl_scram' in name])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_tokens_that_have_expired_are_removed_in_time_however_many() -> None:
    gateway = token_gateway(
        delegation_token_expiry_time_ms=MINUTE_MS, delegation_token_expiry_check_interval_ms=2 * MINUTE_MS
    )
    client = logged_in(gateway)
    for _ in range(SWEPT_AT_ONCE + 10):
        create(client)
    gateway.advance(MINUTE_MS + 30_000)
    kept = create(logged_in(gateway)).token_id
    gateway.advance(30_000)
    assert len(gateway.broker.catalogue.tokens) == 11
    gateway.advance(1000)
    assert [token.token_id for token in gateway.broker.catalogue.tokens] == [kept]
    gateway.crash()
    assert [token.token_id for token in gateway.broker.catalogue.tokens] == [kept]


def test_a_wrong_clock_refuses_logins_and_removes_no_token() -> None:
    gateway = token_gateway(delegation_token_expiry_check_interval_ms=1000)
    token = create(logged_in(gateway))
    gateway.wall_ahead_ms = 400 * 86_400_000
    gateway.restart()
    assert token_login(gateway.login_client(), token.token_id, token.hmac).error_code != 0
    gateway.advance(2000)
    assert len(gateway.broker.catalogue.tokens) == 1
    gateway.wall_ahead_ms = 0
    gateway.restart()
    assert token_login(gateway.login_client(), token.token_id, token.hmac).error_code == 0


def test_a_session_by_token_ends_with_it_and_a_renewed_one_lasts_longer() -> None:
    gateway = token_gateway(delegation_token_expiry_time_ms=10_000)
    alice = logged_in(gateway)
    token = create(alice)
    gateway.advance(4_000)
    first = gateway.login_client()
    assert token_login(first, token.token_id, token.hmac).session_lifetime_ms == 6_000
    renew(alice, token.hmac)
    gateway.advance(5_000)
    # The client logs in once more on its connection, and learns of the new end.
    assert token_login(first, token.token_id, token.hmac).session_lifetime_ms == 5_000
    assert first.connection.principal == "User:alice"


def test_a_session_by_token_is_no_longer_than_the_settings_allow() -> None:
    gateway = token_gateway(connections_max_reauth_ms=3_000)
    token = create(logged_in(gateway))
    assert token_login(gateway.login_client(), token.token_id, token.hmac).session_lifetime_ms == 3_000


def test_a_token_that_is_removed_leaves_nothing_in_memory() -> None:
    gateway = token_gateway()
    client = logged_in(gateway)
    tokens = gateway.broker.tokens
    assert tokens is not None
    token = create(client)
    token_login(gateway.login_client(), token.token_id, token.hmac)
    bearer = tokens.bearer(token.token_id, Mechanism.SCRAM_SHA_256)
    assert bearer is not None
    assert bearer.credential is not None
    expire(client, token.hmac)
    bearer.make()  # a thread was late
    assert tokens.bearer(token.token_id, Mechanism.SCRAM_SHA_256) is None
    assert not tokens._by_hmac
    assert not tokens._credentials


def test_a_token_whose_record_is_lost_never_was() -> None:
    gateway = token_gateway()
    client = logged_in(gateway)
    client.send(CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1), 3)
    assert client.answers() == []
    gateway.crash()
    assert described_ids(logged_in(gateway), everything=True) == []


def test_a_full_disk_is_an_error_of_the_request() -> None:
    gateway = token_gateway()
    client = logged_in(gateway)

    def refused(record: bytes) -> int:
        raise DiskError("write", "meta", errno.ENOSPC)

    gateway.broker.metadata_log._log.append = refused  # type: ignore[method-assign]
    assert create(client).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert described_ids(client, everything=True) == []


class TokensOverCrashes(RuleBasedStateMachine):
    """Tokens that were answered outlive crashes that tear writes; the model is a dictionary of expiries."""

    def __init__(self) -> None:
        super().__init__()
        self.gateway = token_gateway(delegation_token_expiry_time_ms=MINUTE_MS)
        self.expiries: dict[bytes, int] = {}

    @rule()
    def create(self) -> None:
        token = create(logged_in(self.gateway))
        assert token.error_code == 0
        self.expiries[token.hmac] = token.expiry_timestamp_ms

    @precondition(lambda self: self.expiries)
    @rule(number=st.integers(0, 99), period_ms=st.sampled_from([-1, 0, 1_000, 50_000]))
    def expire(self, number: int, period_ms: int) -> None:
        secret = list(self.expiries)[number % len(self.expiries)]
        code, expires_ms = expire(logged_in(self.gateway), secret, period_ms)
        if period_ms < 0:
            assert code == 0
            del self.expiries[secret]
        elif self.expiries[secret] < self.gateway.now_ms:
            assert code == ErrorCode.DELEGATION_TOKEN_EXPIRED
        else:
            assert code == 0
            self.expiries[secret] = expires_ms

    @rule(duration_ms=st.integers(1, 40_000))
    def wait(self, duration_ms: int) -> None:
        self.gateway.advance(duration_ms)

    @rule(asked=st.booleans(), seed=st.integers(0, 1 << 20))
    def crash(self, asked: bool, seed: int) -> None:
        if asked:
            client = logged_in(self.gateway)
            client.send(CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1), 3)
        self.gateway.disk = self.gateway.disk.crash(RandomFates(seed))
        self.gateway.open_again()
        tokens = self.gateway.broker.tokens
        assert tokens is not None
        known = {tokens.hmac_of(token.token_id): token for token in self.gateway.broker.catalogue.tokens}
        unsure = known.keys() - self.expiries.keys()
        assert len(unsure) <= asked, "a request without an answer may have made its token"
        self.expiries |= {secret: known[secret].expires_ms for secret in unsure}

    @invariant()
    def the_catalogue_has_what_was_answered(self) -> None:
        tokens = self.gateway.broker.tokens
        assert tokens is not None
        found = {
            tokens.hmac_of(token.token_id): token.expires_ms for token in self.gateway.broker.catalogue.tokens
        }
        assert found == self.expiries


TestTokensOverCrashes = TokensOverCrashes.TestCase
TestTokensOverCrashes.settings = settings(max_examples=20, stateful_step_count=15, deadline=None)


def test_what_becomes_of_tokens_and_logins_with_them_is_counted() -> None:
    gateway = token_gateway(
        delegation_token_expiry_time_ms=MINUTE_MS, delegation_token_expiry_check_interval_ms=2 * MINUTE_MS
    )
    client = logged_in(gateway)
    kept, ended, late = (create(client) for _ in range(3))
    assert renew(client, kept.hmac)[0] == 0
    assert expire(client, ended.hmac)[0] == 0
    assert renew(client, b"no token")[0] == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    assert token_login(gateway.login_client(), late.token_id, late.hmac).error_code == 0
    for secret in (b"wrong", ended.hmac):
        token_login(gateway.login_client(), ended.token_id, secret)
    gateway.advance(200)
    assert gateway.broker.stats.logins.token_logins == {"ok": 1, "failed": 2}
    tokens = gateway.broker.tokens
    assert tokens is not None
    assert tokens.counts() == {"present": 2, "issued": 3, "renewed": 1, "removed": 1, "expired": 0}
    gateway.advance(3 * MINUTE_MS)
    assert tokens.counts() == {"present": 0, "issued": 3, "renewed": 1, "removed": 1, "expired": 2}
