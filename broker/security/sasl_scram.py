"""SASL SCRAM-SHA-256 and -512: both sides show that they know the password, and neither sends it.

    client  n,[a=authzid],n=user,r=NONCE[,extension…]        names with =2C for ',' and =3D for '='
    server  r=NONCE+ours,s=SALT,i=ITERATIONS
    client  c=BASE64 of the part before n=,r=NONCE+ours,p=PROOF
    server  v=SIGNATURE

A user that does not exist gets salt and rounds as others have, always the same, and fails with the proof.
With the extension `tokenauth=true` the name is the id of a delegation token, the password its HMAC, and the
client is the owner.
Source: RFC 5802, RFC 7677, KIP-48; ScramSaslServer of Kafka 4.3; CVE-2024-56128 (the final nonce must be
equal).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable
from typing import Final, NamedTuple

from broker.security.sasl_exchange import Accepted, Challenge, LoginRefused, Outcome, Pending
from broker.security.scram import HASHES, ITERATIONS_MIN, Credential, Mechanism, model_of

TOKEN_BYTES_MAX: Final = 8_192
"""Names and nonces are short."""

_NAME: Final = r"(?:[^,=\0]|=2C|=3D)+"
_PRINTABLE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_FIRST: Final = re.compile(
    rf"(?P<header>[ny],(?:a=(?P<authorized>{_NAME}))?,)(?P<bare>n=(?P<user>{_NAME}),r=(?P<nonce>{_PRINTABLE})"
    rf"(?P<extensions>(?:,[A-Za-z]+=[^,\0]+)*))"
)
_FINAL: Final = re.compile(
    rf"(?P<bare>c=(?P<binding>[A-Za-z0-9+/=]+),r=(?P<nonce>{_PRINTABLE})(?:,[A-Za-z]+=[^,\0]+)*)"
    r",p=(?P<proof>[A-Za-z0-9+/=]+)"
)


TOKEN_EXTENSION: Final = "tokenauth"  # noqa: S105  (no password)


class Bearer(NamedTuple):
    """The owner of a delegation token, as whom the client logs in."""

    user: str
    until_wall_ms: int
    """The end of the token in milliseconds since 1970."""
    credential: Credential | None
    """None: it is not made yet."""
    make: Callable[[], Credential]
    """Makes it, in a thread."""


TOKEN_SALT_BYTES: Final = 24
"""The salts of delegation tokens; their rounds are `ITERATIONS_MIN`, for their HMACs cannot be guessed."""


def lone_model(_mark: bytes) -> Credential:
    """Return what those look like who do not exist, on a server without users."""
    return model_of({}, Mechanism.SCRAM_SHA_256, b"")


def no_tokens(_token_id: str) -> None:
    """Find no token, on a server without them."""


class ScramExchange:
    """The login of one client."""

    __slots__ = (
        "_bearer",
        "_by_token",
        "_credential",
        "_decoy_key",
        "_find",
        "_find_token",
        "_first",
        "_header",
        "_mechanism",
        "_model",
        "_nonce",
        "_server_first",
        "_user",
    )

    def __init__(
        self,
        mechanism: Mechanism,
        find: Callable[[str], Credential | None],
        *,
        nonce: str,
        decoy_key: bytes,
        model: Callable[[bytes], Credential] = lone_model,
        find_token: Callable[[str], Bearer | None] = no_tokens,
    ) -> None:
        """`find(user)` returns a credential of the mechanism; `nonce` is ours, new for each exchange.

        `find_token(id)` returns what belongs to a delegation token that is valid.

        `decoy_key` makes the salts of users that do not exist, and never changes while the server runs;
        `model(mark)` returns the credential whose rounds and length of salt they have.
        """
        self._mechanism = mechanism
        self._find = find
        self._find_token = find_token
        self._bearer: Bearer | None = None
        self._by_token = False
        self._nonce = nonce
        self._decoy_key = decoy_key
        self._model = model
        self._credential: Credential | None = None
        self._user = self._header = self._first = self._server_first = ""

    def step(self, token: bytes) -> Outcome | Pending:
        """Take the first message, then the final one.  Raises: LoginRefused."""
        if len(token) > TOKEN_BYTES_MAX:
            raise LoginRefused(f"a token of {len(token)} bytes, more than {TOKEN_BYTES_MAX}")
        try:
            text = token.decode()
        except UnicodeDecodeError as error:
            raise LoginRefused("a token that is not UTF-8") from error
        return self._take_final(text) if self._server_first else self._take_first(text)

    def _take_first(self, text: str) -> Challenge | Pending:
        found = _FIRST.fullmatch(text)
        if found is None:
            raise LoginRefused("a first message that is not one of SCRAM")
        self._user = _plain(found["user"])
        if found["authorized"] and _plain(found["authorized"]) != self._user:
            raise LoginRefused(f"user {self._user!r} asked to be {_plain(found['authorized'])!r}")
        self._header, self._first = found["header"], found["bare"]
        self._nonce = found["nonce"] + self._nonce
        if not _asks_for_token(found["extensions"]):
            return self._challenge(self._find(self._user))
        self._by_token = True
        bearer = self._bearer = self._find_token(self._user)
        if bearer is not None and bearer.credential is None:
            return Pending(lambda: self._challenge(bearer.make()))
        return self._challenge(bearer.credential if bearer is not None else None)

    def _challenge(self, credential: Credential | None) -> Challenge:
        self._credential = credential
        salt, iterations = self._decoy() if credential is None else (credential.salt, credential.iterations)
        self._server_first = f"r={self._nonce},s={b64encode(salt).decode()},i={iterations}"
        return Challenge(self._server_first.encode())

    def _take_final(self, text: str) -> Accepted:
        found = _FINAL.fullmatch(text)
        if found is None:
            raise self._refused("a final message that is not one of SCRAM")
        if not hmac.compare_digest(found["nonce"], self._nonce):
            raise self._refused("another nonce in the final message")
        if found["binding"] != b64encode(self._header.encode()).decode():
            raise self._refused("another header in the final message")
        messages = f"{self._first},{self._server_first},{found['bare']}".encode()
        credential = self._credential
        if credential is None or not self._proves(credential, messages, found["proof"]):
            raise self._refused("invalid username or password")
        signature = hmac.digest(credential.server_key, messages, HASHES[self._mechanism])
        last = b"v=" + b64encode(signature)
        if self._bearer is None:
            return Accepted(self._user, last)
        return Accepted(self._bearer.user, last, self._bearer.until_wall_ms, by_token=True)

    def _proves(self, credential: Credential, messages: bytes, proof: str) -> bool:
        """Whether the client knows the key that is stored hashed."""
        algorithm = HASHES[self._mechanism]
        expected = hmac.digest(credential.stored_key, messages, algorithm)
        try:
            given = b64decode(proof, validate=True)
        except Error:
            return False
        if len(given) != len(expected):
            return False
        client_key = bytes(a ^ b for a, b in zip(given, expected, strict=True))
        return hmac.compare_digest(algorithm(client_key).digest(), credential.stored_key)

    def _decoy(self) -> tuple[bytes, int]:
        """Return salt and rounds for a name that does not exist."""
        mark = hmac.digest(self._decoy_key, self._user.encode(), "sha256")
        size, iterations = TOKEN_SALT_BYTES, ITERATIONS_MIN
        if not self._by_token:
            model = self._model(mark)
            size, iterations = len(model.salt), model.iterations
        return hashlib.shake_256(mark).digest(size), iterations

    def _refused(self, why: str) -> LoginRefused:
        return LoginRefused(f"user {self._user!r}: {why}", by_token=self._by_token)


def _asks_for_token(extensions: str) -> bool:
    """Whether the name is that of a delegation token; as in Kafka the last word on it counts."""
    words = dict(part.split("=", 1) for part in extensions.split(",") if part)
    return words.get(TOKEN_EXTENSION, "").lower() == "true"


def _plain(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")
