"""Credentials of SCRAM users as the catalogue keeps them (RFC 5802): neither password nor salted password.

    mechanism name -> "salt=…,stored_key=…,server_key=…,iterations=…", the bytes in Base64

broker/security/sasl_scram.py asks clients for proofs.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping
from enum import IntEnum
from itertools import islice
from typing import Final, NamedTuple

from broker.errors import RequestError
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import ScramCredentialUpsertion

ITERATIONS_MIN: Final = 4_096
"""The least that RFC 7677 allows, and Kafka."""
ITERATIONS_MAX: Final = 16_384
"""Kafka's bound: a login costs the server this many rounds."""


ITERATIONS: Final = 8_192
"""What `kawal users add` takes, twice what RFC 7677 asks for; a login costs the client 3 ms."""
SALT_BYTES: Final = 16
"""The salts that `kawal users add` makes."""

MODELS_MAX: Final = 100
"""The users among whom one is chosen for users that do not exist to look like."""


class Mechanism(IntEnum):
    """The SCRAM mechanisms by Kafka's numbers."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


HASHES: Final = {Mechanism.SCRAM_SHA_256: hashlib.sha256, Mechanism.SCRAM_SHA_512: hashlib.sha512}
"""The hash of each mechanism."""


class Credential(NamedTuple):
    """A stored credential."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


def mechanism_of(number: int) -> Mechanism:
    """Return the mechanism of that number.  Raises: RequestError(UNSUPPORTED_SASL_MECHANISM)."""
    if number not in Mechanism.__members__.values():
        raise RequestError(
            ErrorCode.UNSUPPORTED_SASL_MECHANISM,
            f"Unknown SCRAM mechanism {number}: 1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512",
        )
    return Mechanism(number)


def check_name(user: str) -> None:
    """Refuse a user without a name.  Raises: RequestError(UNACCEPTABLE_CREDENTIAL)."""
    if not user:
        raise _unacceptable("Username must not be empty")


def salted_password(mechanism: Mechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """Return what a client sends in place of a password; it takes some milliseconds."""
    return hashlib.pbkdf2_hmac(HASHES[mechanism]().name, password.encode(), salt, iterations)


def credential_of(given: ScramCredentialUpsertion) -> str:
    """Return the stored form of a credential that a client sets.

    Raises: RequestError(UNACCEPTABLE_CREDENTIAL), RequestError(UNSUPPORTED_SASL_MECHANISM).
    """
    mechanism = mechanism_of(given.mechanism)
    if given.iterations < ITERATIONS_MIN:
        raise _unacceptable(f"Too few iterations: {given.iterations}, at least {ITERATIONS_MIN}")
    if given.iterations > ITERATIONS_MAX:
        raise _unacceptable(f"Too many iterations: {given.iterations}, at most {ITERATIONS_MAX}")
    if not given.salted_password:
        raise _unacceptable("The salted password must not be empty")
    made = _derived(mechanism, given.salted_password, given.salt, given.iterations)
    kept = {"salt": made.salt, "stored_key": made.stored_key, "server_key": made.server_key}
    parts = (f"{name}={b64encode(value).decode()}" for name, value in kept.items())
    return f"{','.join(parts)},iterations={given.iterations}"


def make_credential(mechanism: Mechanism, password: str, salt: bytes, iterations: int) -> Credential:
    """Return the credential of a password; it takes some milliseconds."""
    salted = salted_password(mechanism, password, salt, iterations)
    return _derived(mechanism, salted, salt, iterations)


def _derived(mechanism: Mechanism, salted: bytes, salt: bytes, iterations: int) -> Credential:
    algorithm = HASHES[mechanism]
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    server_key = hmac.digest(salted, b"Server Key", algorithm)
    return Credential(salt, algorithm(client_key).digest(), server_key, iterations)


def read_credential(text: str) -> Credential:
    """Return a stored credential, of which the catalogue keeps the text."""
    parts = dict(part.split("=", 1) for part in text.split(","))
    return Credential(
        salt=b64decode(parts["salt"]),
        stored_key=b64decode(parts["stored_key"]),
        server_key=b64decode(parts["server_key"]),
        iterations=int(parts["iterations"]),
    )


def model_of(users: Mapping[str, Mapping[str, str]], mechanism: Mechanism, mark: bytes) -> Credential:
    """Return the credential that one of a name that does not exist looks like, for the same `mark` the same.

    Rounds and salts of users differ with the tools that made them; a name must not be known by them.
    """
    own = [each[mechanism.name] for each in islice(users.values(), MODELS_MAX) if mechanism.name in each]
    if not own:
        return Credential(bytes(SALT_BYTES), b"", b"", ITERATIONS)
    return read_credential(own[int.from_bytes(mark[:8], "big") % len(own)])


def iterations_of(credential: str) -> int:
    """Return the number of rounds of a stored credential."""
    return int(credential.rpartition("=")[2])


def _unacceptable(message: str) -> RequestError:
    return RequestError(ErrorCode.UNACCEPTABLE_CREDENTIAL, message)
