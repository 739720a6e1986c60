"""The proof by which the nodes of a cluster on several machines know each other: both have its secret.

    the node that connects                          the node that is asked
    Hello: numbers, cluster id, random bytes  --->
                                              <---  its random bytes for this connection
    Hello, proof of the one that connects     --->  judges it; a wrong one ends the connection
                                              <---  what it thinks of the Hello, its cluster id and clock, and
    judges it                                       proof of the one that is asked, over all of this, too

A proof is an HMAC-SHA256 with the secret over all fields of both sides, each with its length before it, and
over the role of the one that gives it: no proof of one role, connection, node or cluster is one of another.
The side that connects proves itself first: who does not know the secret gets no proof to try secrets on, and
learns nothing but random bytes.  The secret itself is never sent.
"""

from __future__ import annotations

import hmac
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from random import Random

VERSION: Final = b"kawal nodes 1"
"""Sets these proofs apart from whatever else the secret may be used for."""

ASKING: Final = b"asking"
ASKED: Final = b"asked"

NONCE_BYTES: Final = 32
"""The random bytes of each side: no two connections have the same."""

SECRET_BYTES_MIN: Final = 16

LOG_INTERVAL_MS: Final = 60_000

_LENGTH: Final = struct.Struct(">I")


class Hello(NamedTuple):
    """The first words of a node that connects."""

    number: int
    """Its own."""
    to: int
    """The number of the node that it takes the other one for."""
    nodes: int
    """The number of nodes that it knows of."""
    cluster_id: str
    """Empty: it has none yet."""
    nonce: bytes


class Reply(NamedTuple):
    """The last words of the node that is asked."""

    code: int
    """Its verdict on the Hello."""
    cluster_id: str
    clock_ms: int
    """Its steady clock, a moment ago."""


def proof_of_asking(secret: bytes, hello: Hello, nonce: bytes) -> bytes:
    """Return the proof of the node that connects; `nonce` is the other one's."""
    return _mac(secret, ASKING, *_fields(hello), nonce)


def proof_of_asked(secret: bytes, hello: Hello, nonce: bytes, reply: Reply) -> bytes:
    """Return the proof of the node that is asked, whose random bytes are `nonce`."""
    told = (str(reply.code).encode(), reply.cluster_id.encode(), str(reply.clock_ms).encode())
    return _mac(secret, ASKED, *_fields(hello), nonce, *told)


def is_proof(given: bytes, expected: bytes) -> bool:
    """Whether a proof is the right one; the time that this takes tells nothing of it."""
    return hmac.compare_digest(given, expected)


def _fields(hello: Hello) -> tuple[bytes, ...]:
    numbers = (str(number).encode() for number in (hello.number, hello.to, hello.nodes))
    return (*numbers, hello.cluster_id.encode(), hello.nonce)


def _mac(secret: bytes, *fields: bytes) -> bytes:
    data = b"".join(_LENGTH.pack(len(field)) + field for field in (VERSION, *fields))
    return hmac.digest(secret, data, "sha256")


class Greeter:
    """Judges nodes that connect to this one; it keeps nothing of a connection."""

    def __init__(self, secret: bytes, *, number: int, count: int, random: Random) -> None:
        """`random` is a source for secrets."""
        assert len(secret) >= SECRET_BYTES_MIN, "a short secret was refused before"
        self._secret = secret
        self._number = number
        self._count = count
        self._key = random.randbytes(NONCE_BYTES)
        self._logged_ms: int | None = None

    def nonce(self, connection: int) -> bytes:
        """Return the random bytes for a connection, whose number no other one of this process has."""
        return hmac.digest(self._key, str(connection).encode(), "sha256")

    def is_node(self, hello: Hello, connection: int, proof: bytes) -> bool:
        """Whether the one that connects has the secret."""
        return is_proof(proof, proof_of_asking(self._secret, hello, self.nonce(connection)))

    def judge(self, hello: Hello, cluster_id: str) -> ErrorCode:
        """Return what is wrong with a node that has the secret, or NONE; this one is of `cluster_id`."""
        if hello.cluster_id not in ("", cluster_id):
            return ErrorCode.INCONSISTENT_CLUSTER_ID
        if hello.nodes != self._count or not 0 <= hello.number < self._count:
            return ErrorCode.INVALID_CONFIG
        if hello.to != self._number or hello.number == self._number:
            return ErrorCode.BROKER_ID_NOT_REGISTERED
        return ErrorCode.NONE

    def prove(self, hello: Hello, connection: int, reply: Reply) -> bytes:
        """Return the proof of this node."""
        return proof_of_asked(self._secret, hello, self.nonce(connection), reply)

    def may_log(self, now_ms: int) -> bool:
        """Whether a refusal may be logged: one in a minute, as anything that connects can cause them."""
        if self._logged_ms is not None and now_ms - self._logged_ms < LOG_INTERVAL_MS:
            return False
        self._logged_ms = now_ms
        return True
