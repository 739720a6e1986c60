"""The logins of a node: for each listener the mechanisms, and where their users are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

from broker.config.config import Config
from broker.config.sasl_names import OAUTHBEARER, PLAIN
from broker.config.sasl_settings import OAuthSettings, SaslSettings, sasl_settings
from broker.connections.connection import Connection
from broker.connections.login import Login
from broker.connections.login_queue import LoginQueue
from broker.loop.loop import Loop
from broker.security.plain_passwords import PlainPasswords
from broker.security.sasl_exchange import Exchange
from broker.security.sasl_oauthbearer import OAuthBearerExchange, Validator
from broker.security.sasl_plain import PlainExchange
from broker.security.sasl_scram import Bearer, ScramExchange
from broker.security.scram import Credential, Mechanism, model_of, read_credential

if TYPE_CHECKING:
    from random import Random

KEY_BYTES: Final = 32
NONCE_BITS: Final = 192
"""A nonce of so many bits is neither guessed nor given twice."""


class ScramUsers(Protocol):
    """The users that the catalogue has."""

    @property
    def scram_credentials(self) -> Mapping[str, Mapping[str, str]]:
        """The stored credentials by user and mechanism."""


class Tokens(Protocol):
    """The delegation tokens."""

    def bearer(self, token_id: str, mechanism: Mechanism) -> Bearer | None:
        """Return the client that may log in with a token, if it is valid."""


class Logins:
    """Makes the login of each new connection."""

    def __init__(
        self,
        loop: Loop,
        config: Config,
        users: ScramUsers,
        random: Random,
        read_file: Callable[[str], Callable[[], Mapping[str, str]]],
        *,
        decoy_key: bytes,
        validator: Callable[[OAuthSettings], Validator] | None = None,
        tokens: Tokens | None = None,
    ) -> None:
        """`random` is fit for secrets; `read_file(path)` returns what reads a file of hashed passwords.

        `decoy_key` is a secret that stays the same over restarts; `validator` makes judges of tokens, and is
        needed where the mechanism OAUTHBEARER is enabled.  `tokens` are the delegation tokens; None: there
        are none.
        """
        self._loop = loop
        self._config = config
        self._users = users
        self._random = random
        self._read_file = read_file
        self._queue = LoginQueue(loop)
        self._decoy_key = decoy_key
        self._validator = validator
        self._tokens = tokens

    def beginner(self, listener: str) -> Callable[[Connection], None]:
        """Return what gives a new connection of this listener its login."""
        settings = sasl_settings(self._config, listener)
        makers = {mechanism: self._maker(mechanism, settings) for mechanism in settings.mechanisms}

        def make(mechanism: str) -> Exchange:
            return makers[mechanism]()

        def begin(connection: Connection) -> None:
            connection.login = Login(connection, settings, make, loop=self._loop, queue=self._queue)

        return begin

    def _maker(self, mechanism: str, settings: SaslSettings) -> Callable[[], Exchange]:
        """Return what makes exchanges of a mechanism."""
        if mechanism == PLAIN:
            passwords = PlainPasswords(
                settings.plain_users,
                read=None if settings.plain_file is None else self._read_file(settings.plain_file),
                key=self._secret(),
                now_ms=lambda: self._loop.clock.turn_ms,
            )
            return lambda: PlainExchange(passwords)
        if settings.oauth is not None and mechanism == OAUTHBEARER:
            assert self._validator is not None, "the server judges tokens"
            validator = self._validator(settings.oauth)
            return lambda: OAuthBearerExchange(validator)
        kind = Mechanism[mechanism.replace("-", "_")]

        def find(user: str) -> Credential | None:
            text = self._users.scram_credentials.get(user, {}).get(kind.name)
            return None if text is None else read_credential(text)

        def find_token(token_id: str) -> Bearer | None:
            return None if self._tokens is None else self._tokens.bearer(token_id, kind)

        def model(mark: bytes) -> Credential:
            return model_of(self._users.scram_credentials, kind, mark)

        return lambda: ScramExchange(
            kind,
            find,
            nonce=self._nonce(),
            decoy_key=self._decoy_key,
            model=model,
            find_token=find_token,
        )

    def _nonce(self) -> str:
        return f"{self._random.getrandbits(NONCE_BITS):048x}"

    def _secret(self) -> bytes:
        return self._random.getrandbits(8 * KEY_BYTES).to_bytes(KEY_BYTES, "big")
