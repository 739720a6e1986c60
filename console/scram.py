"""The client's side of a login by SCRAM (RFC 5802, RFC 7677), as Kafka has it: without channel binding.

    client first   n,,n=USER,r=NONCE
    server first   r=NONCE+MORE,s=SALT,i=ITERATIONS
    client final   c=biws,r=NONCE+MORE,p=PROOF
    server final   v=SIGNATURE, or e=ERROR

Source: ScramSaslClient and ScramFormatter of Kafka 4.3, which take texts as they are, in UTF-8.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from typing import Final

ITERATIONS_MIN: Final = 4_096
"""RFC 7677's least; a server that asks for fewer wants a password that is quickly guessed."""
ITERATIONS_MAX: Final = 1_000_000
"""About a second of processor; Kafka's servers allow 16,384."""

HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


class ScramError(ValueError):
    """An answer of the server that does not go on with the login, in words without secrets."""


class ScramClient:
    """One login: `first`, then `final` of the server's first answer, then `check` of its last."""

    def __init__(
        self, mechanism: str, user: str, password: str, nonce: str, *, by_token: bool = False
    ) -> None:
        """Take the nonce: new for every login, printable, without a comma.

        With `by_token` user and password are the id and the HMAC of a delegation token (KIP-48).
        """
        self._hash = HASHES[mechanism]
        self._password = password.encode()
        self._nonce = nonce
        self._bare = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        if by_token:
            self._bare += ",tokenauth=true"
        self._signature = b""

    def first(self) -> bytes:
        """Return the first message."""
        return f"n,,{self._bare}".encode()

    def final(self, answer: bytes) -> bytes:
        """Return the message with the proof.  Raises: ScramError."""
        parts = _parts(answer)
        try:
            nonce, salt, iterations = parts["r"], b64decode(parts["s"], validate=True), int(parts["i"])
        except (KeyError, ValueError) as error:
            raise ScramError("its first answer has not the form of SCRAM") from error
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise ScramError("its nonce does not continue ours")
        if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
            raise ScramError(f"it asks for {iterations} iterations")
        without_proof = f"c=biws,r={nonce}"
        signed = f"{self._bare},{answer.decode()},{without_proof}".encode()
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, salt, iterations)
        client_key = self._mac(salted, b"Client Key")
        stored_key = hashlib.new(self._hash, client_key).digest()
        mask = self._mac(stored_key, signed)
        proof = bytes(a ^ b for a, b in zip(client_key, mask, strict=True))
        self._signature = self._mac(self._mac(salted, b"Server Key"), signed)
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def check(self, answer: bytes) -> None:
        """Raise ScramError unless the server has shown that it knows the user."""
        parts = _parts(answer)
        if "e" in parts:
            raise ScramError(parts["e"])
        try:
            signature = b64decode(parts.get("v", ""), validate=True)
        except ValueError as error:
            raise ScramError("its last answer has not the form of SCRAM") from error
        if not self._signature or not hmac.compare_digest(signature, self._signature):
            raise ScramError("it did not show that it knows this user, and may be another server")

    def _mac(self, key: bytes, text: bytes) -> bytes:
        return hmac.digest(key, text, self._hash)


def _parts(answer: bytes) -> dict[str, str]:
    try:
        return {part[:1]: part[2:] for part in answer.decode().split(",") if part[1:2] == "="}
    except UnicodeDecodeError as error:
        raise ScramError("its answer has not the form of SCRAM") from error
