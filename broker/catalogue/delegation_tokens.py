"""Delegation tokens: made, renewed, ended, and looked up when a client logs in with one.

    create --> valid until `expires` --renew--> later, but not beyond `ends` --sweep--> removed
                      '--expire--> earlier, or removed at once

A token is an id; its HMAC, by the secret key of the settings, is the password of those who log in with it.
So the log of the catalogue has no secret, and another key makes all tokens useless.

Source: KIP-48; DelegationTokenControlManager and DelegationTokenManager of Kafka 4.3.
"""

from __future__ import annotations

import hmac
import logging
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from broker.catalogue.catalogue_records import DelegationTokenRemoved, DelegationTokenSet
from broker.errors import RequestError
from broker.security.sasl_scram import TOKEN_SALT_BYTES, Bearer
from broker.security.scram import ITERATIONS_MIN, Credential, Mechanism, make_credential
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from random import Random

    from broker.catalogue.metadata import Metadata
    from broker.loop.loop import Loop

logger = logging.getLogger("kawal.broker")

FOREVER_MS: Final = (1 << 63) - 1
"""The last moment that the protocol can name."""

TEXT_MAX: Final = 4 << 10
"""The characters that the names of a token's owner and renewers may have together; 20,000 tokens: 80 MB."""

SWEPT_AT_ONCE: Final = 500
"""Tokens that are removed in one go: their records take about 5 ms."""

AGAIN_MS: Final = 100
"""The pause between two such goes."""


class Ask(NamedTuple):
    """A wish for a token; principals as `User:alice`."""

    requester: str
    owner: str
    renewers: tuple[str, ...]
    lifetime_ms: int
    """0 and below: the server's."""


class DelegationTokens:
    """The tokens of a server that has a secret key for them."""

    def __init__(self, metadata: Metadata, loop: Loop, random: Random) -> None:
        """Take over the catalogue's tokens, and schedule the removal of those that have expired."""
        config = metadata.config
        assert config.delegation_token_secret_key, "without a key there are no tokens"
        self._table = metadata.catalogue.tokens
        self._log = metadata.metadata_log
        self._loop = loop
        self._random = random
        self._key = config.delegation_token_secret_key.encode()
        self._longest_ms = config.delegation_token_max_lifetime_ms
        self._until_renewal_ms = config.delegation_token_expiry_time_ms
        self._check_ms = config.delegation_token_expiry_check_interval_ms
        self._most = config.kawal_max_delegation_tokens
        self._most_of_user = config.kawal_max_delegation_tokens_per_user
        # Since the start: what clients have had done, and what time has.
        self._issued = self._renewed = self._ended = self._expired = 0
        self._by_hmac: dict[bytes, str] = {}
        self._credentials: dict[tuple[str, Mechanism], Credential] = {}
        self._table.follow(self)
        if metadata.nodes.is_controller:
            self._schedule(self._check_ms)

    # --- what follows from the ids ----------------------------------------------------------------------

    def added(self, token_id: str) -> None:
        """Know the token by its HMAC."""
        self._by_hmac[self.hmac_of(token_id)] = token_id

    def removed(self, token_id: str) -> None:
        """Forget all about a token."""
        self._by_hmac.pop(self.hmac_of(token_id), None)
        for mechanism in Mechanism:
            self._credentials.pop((token_id, mechanism), None)

    def counts(self) -> dict[str, int]:
        """Return the numbers for metrics: of tokens there are, and of what has become of others."""
        return {
            "present": len(self._table),
            "issued": self._issued,
            "renewed": self._renewed,
            "removed": self._ended,
            "expired": self._expired,
        }

    def hmac_of(self, token_id: str) -> bytes:
        """Return a token's HMAC, which is a secret."""
        return hmac.digest(self._key, token_id.encode(), "sha512")

    def bearer(self, token_id: str, mechanism: Mechanism) -> Bearer | None:
        """Return the client that may log in with a token; None: there is no such token, or it has expired."""
        token = self._table.find(token_id)
        if token is None or token.expires_ms < self._wall_ms(self._loop.clock.turn_ms):
            return None
        return Bearer(
            user=token.owner.partition(":")[2],
            until_wall_ms=token.expires_ms,
            credential=self._credentials.get((token_id, mechanism)),
            make=lambda: self._make_credential(token_id, mechanism),
        )

    def _make_credential(self, token_id: str, mechanism: Mechanism) -> Credential:
        """Return the credential that belongs to a token; it takes some milliseconds of a thread."""
        salt = hmac.digest(self._key, f"salt of {token_id}".encode(), "sha256")[:TOKEN_SALT_BYTES]
        password = b64encode(self.hmac_of(token_id)).decode()
        made = make_credential(mechanism, password, salt, ITERATIONS_MIN)
        if self._table.find(token_id) is not None:
            self._credentials[token_id, mechanism] = made
        return made

    # --- changes: the callers answer when they are durable ------------------------------------------------

    def create(self, ask: Ask, now_ms: int) -> DelegationTokenSet:
        """Make a token.

        Raises: RequestError(POLICY_VIOLATION), RequestError(INVALID_REQUEST), RequestError of the log.
        """
        self._check_room(ask)
        wall_ms = self._wall_ms(now_ms)
        lifetime_ms = min(ask.lifetime_ms, self._longest_ms) if ask.lifetime_ms > 0 else self._longest_ms
        ends_ms = _later(wall_ms, lifetime_ms)
        token = DelegationTokenSet(
            token_id=self._new_id(),
            owner=ask.owner,
            requester=ask.requester,
            renewers=ask.renewers,
            issued_ms=wall_ms,
            expires_ms=min(ends_ms, _later(wall_ms, self._until_renewal_ms)),
            ends_ms=ends_ms,
        )
        self._log.append(token, now_ms)
        self._issued += 1
        return token

    def renew(self, secret: bytes, period_ms: int, principal: str, now_ms: int) -> int:
        """Put off the expiry of the token with this HMAC, and return it.  Raises: RequestError."""
        token = self._found(secret)
        self._check_valid(token, now_ms)
        _check_right(token, principal)
        period_ms = min(period_ms, self._until_renewal_ms) if period_ms > 0 else self._until_renewal_ms
        expires_ms = self._set_expiry(token, period_ms, now_ms)
        self._renewed += 1
        return expires_ms

    def expire(self, secret: bytes, period_ms: int, principal: str, now_ms: int) -> int:
        """Set the expiry of the token with this HMAC, or below 0 remove it.  Raises: RequestError."""
        token = self._found(secret)
        _check_right(token, principal)
        if period_ms < 0:
            self._log.append(DelegationTokenRemoved(token_id=token.token_id), now_ms)
            self._ended += 1
            return self._wall_ms(now_ms)
        self._check_valid(token, now_ms)
        return self._set_expiry(token, period_ms, now_ms)

    def _set_expiry(self, token: DelegationTokenSet, period_ms: int, now_ms: int) -> int:
        expires_ms = min(token.ends_ms, _later(self._wall_ms(now_ms), period_ms))
        self._log.append(replace(token, expires_ms=expires_ms), now_ms)
        return expires_ms

    def _found(self, secret: bytes) -> DelegationTokenSet:
        token_id = self._by_hmac.get(secret)
        token = None if token_id is None else self._table.find(token_id)
        if token is None:
            raise RequestError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, "no token has this HMAC")
        return token

    def _check_valid(self, token: DelegationTokenSet, now_ms: int) -> None:
        if token.expires_ms < self._wall_ms(now_ms):
            raise RequestError(ErrorCode.DELEGATION_TOKEN_EXPIRED, f"token {token.token_id} has expired")

    def _check_room(self, ask: Ask) -> None:
        """Refuse what would let one user fill the memory."""
        if len(self._table) >= self._most or self._table.count_of(ask.requester) >= self._most_of_user:
            raise RequestError(
                ErrorCode.POLICY_VIOLATION,
                f"{ask.requester} has {self._table.count_of(ask.requester)} delegation tokens and all users"
                f" have {len(self._table)}; at most {self._most_of_user} and {self._most} are allowed"
                " (kawal.max.delegation.tokens.per.user, kawal.max.delegation.tokens)",
            )
        if _length_of((ask.owner, *ask.renewers)) > TEXT_MAX:
            raise RequestError(
                ErrorCode.INVALID_REQUEST,
                f"the names of the owner and of {len(ask.renewers)} renewers have more than {TEXT_MAX}"
                " characters; name fewer renewers",
            )

    def _new_id(self) -> str:
        """Return 22 characters as Kafka's ids; none begins like an option of a command."""
        while (made := _text_of(self._random.getrandbits(128))).startswith("-"):
            pass
        return made

    # --- time --------------------------------------------------------------------------------------------

    def _wall_ms(self, now_ms: int) -> int:
        return self._loop.clock.wall_ms(now_ms)

    def _schedule(self, delay_ms: int) -> None:
        self._loop.timers.add(self._loop.clock.turn_ms + delay_ms, self._sweep)

    def _sweep(self, now_ms: int) -> None:
        """Remove tokens that have expired, by a time of day that follows no sudden jump of the clock."""
        wall_ms = self._loop.clock.settled_wall_ms
        due = (token.token_id for token in self._table if token.expires_ms < wall_ms)
        expired: list[str] = []
        try:
            expired += islice(due, SWEPT_AT_ONCE)
            for token_id in expired:
                self._log.append(DelegationTokenRemoved(token_id=token_id), now_ms)
                self._expired += 1
        except RequestError as error:
            logger.warning("delegation tokens that have expired were not removed now: %s", error)
        finally:
            self._schedule(AGAIN_MS if len(expired) == SWEPT_AT_ONCE else self._check_ms)


def _check_right(token: DelegationTokenSet, principal: str) -> None:
    if principal != token.owner and principal not in token.renewers:
        raise RequestError(
            ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH,
            f"{principal} neither owns token {token.token_id} nor is one of its renewers",
        )


def _length_of(names: Iterable[str]) -> int:
    return sum(map(len, names))


def _later(moment_ms: int, period_ms: int) -> int:
    return min(moment_ms + period_ms, FOREVER_MS)


def _text_of(number: int) -> str:
    return urlsafe_b64encode(number.to_bytes(16, "big")).decode().rstrip("=")
