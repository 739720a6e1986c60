"""The users of SASL PLAIN: some with their passwords as Kafka's JAAS text has them, some hashed in a file.

    name:$scrypt$ln=14,r=8,p=1$SALT$HASH        a line of the file; SALT and HASH in Base64 without padding

A hash takes 50 ms and 16 MiB, so a thread makes it, and results are remembered, wrong ones too: clients that
were set up with a wrong password try it for ever.  What is remembered is found by an HMAC with a key of this
process, never by the password, and counts only for the hash that it was compared with.
Source: RFC 7914 (scrypt), the PHC string format.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from binascii import Error
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

COST_LOG: Final = 14
BLOCK: Final = 8
HASH_BYTES: Final = 32
SALT_BYTES: Final = 16
MEMORY_BYTES_MAX: Final = 64 << 20
"""A hash that needs more is refused when the file is read."""

REMEMBERED_MAX: Final = 10_000
"""Results that are kept, about 3 MB; the oldest goes first."""

FRESH_MS: Final = 10_000
"""The time after which a changed file counts for a user whose password was checked."""


class PasswordFileError(ValueError):
    """A line of the file that cannot be used; the text is one sentence."""


class _Result(NamedTuple):
    hashed: str
    right: bool
    checked_ms: int


def hashed_password(password: str, salt: bytes) -> str:
    """Return the stored form of a password; it takes 50 ms."""
    digest = _scrypt(password, salt, COST_LOG, BLOCK, 1)
    return f"$scrypt$ln={COST_LOG},r={BLOCK},p=1${_text(salt)}${_text(digest)}"


def is_password(password: str, hashed: str) -> bool:
    """Whether the stored form is that of the password.  Raises: PasswordFileError."""
    cost, block, parallel, salt, digest = _parts(hashed)
    return hmac.compare_digest(_scrypt(password, salt, cost, block, parallel), digest)


def read_lines(lines: Iterable[str], where: str) -> dict[str, str]:
    """Return the stored passwords by name; `where` is the file.  Raises: PasswordFileError."""
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, hashed = line.strip().rpartition(":")
        try:
            if not name:
                raise PasswordFileError("not NAME:HASH")
            if name in found:
                raise PasswordFileError(f"the user {name!r} has a line already")
            _parts(hashed)
        except PasswordFileError as error:
            raise PasswordFileError(
                f"{where}:{number}: {error}; write lines with 'kawal users add NAME --file {where}'"
            ) from error
        found[name] = hashed
    return found


class PlainPasswords:
    """The users of one listener."""

    def __init__(
        self,
        clear: Mapping[str, str],
        *,
        read: Callable[[], Mapping[str, str]] | None,
        key: bytes,
        now_ms: Callable[[], int],
    ) -> None:
        """`clear` are passwords by name, `read()` the hashed ones, called in a thread; `key` is random."""
        self._clear = clear
        self._read = read
        self._key = key
        self._now_ms = now_ms
        self._remembered: OrderedDict[bytes, _Result] = OrderedDict()
        self._unknown = ""

    def known(self, user: str, password: str) -> bool | None:
        """Whether the password is right; None: only `check` can tell."""
        if user in self._clear or self._read is None:
            expected = self._clear.get(user, "")
            return hmac.compare_digest(password.encode(), expected.encode()) and user in self._clear
        result = self._remembered.get(self._mark(user, password))
        if result is None or self._now_ms() - result.checked_ms > FRESH_MS:
            return None
        return result.right

    def check(self, user: str, password: str) -> bool:
        """Whether the password is right; takes 50 ms unless it was found out before."""
        assert self._read is not None, "passwords in the clear are known"
        users = self._read()
        # An unknown user takes as long as a wrong password.
        hashed = users.get(user) or self._unknown_hash()
        mark = self._mark(user, password)
        result = self._remembered.get(mark)
        right = (
            result.right
            if result is not None and result.hashed == hashed
            else is_password(password, hashed) and user in users
        )
        self._remembered[mark] = _Result(hashed, right, self._now_ms())
        self._remembered.move_to_end(mark)
        while len(self._remembered) > REMEMBERED_MAX:
            self._remembered.popitem(last=False)
        return right

    def _mark(self, user: str, password: str) -> bytes:
        return hmac.digest(self._key, f"{user}\0{password}".encode(), "sha256")

    def _unknown_hash(self) -> str:
        if not self._unknown:
            self._unknown = hashed_password("", self._key[:SALT_BYTES])
        return self._unknown


def _scrypt(password: str, salt: bytes, cost_log: int, block: int, parallel: int) -> bytes:
    return hashlib.scrypt(
        password.encode(),
        salt=salt,
        n=1 << cost_log,
        r=block,
        p=parallel,
        dklen=HASH_BYTES,
        maxmem=MEMORY_BYTES_MAX + (1 << 20),
    )


def _parts(hashed: str) -> tuple[int, int, int, bytes, bytes]:
    """Return cost, block size, parallelism, salt and digest of a stored form.  Raises: PasswordFileError."""
    try:
        empty, kind, costs, salt, digest = hashed.split("$")
        if empty or kind != "scrypt":
            raise ValueError
        numbers = dict(cost.split("=") for cost in costs.split(","))
        cost, block, parallel = (int(numbers[name]) for name in ("ln", "r", "p"))
        found = cost, block, parallel, _bytes(salt), _bytes(digest)
    except (ValueError, KeyError, Error) as error:
        raise PasswordFileError("its hash is not $scrypt$ln=14,r=8,p=1$SALT$HASH") from error
    if not (0 < cost < 32 and block > 0 and parallel == 1) or 128 * block << cost > MEMORY_BYTES_MAX:
        raise PasswordFileError(f"its hash needs more than {MEMORY_BYTES_MAX >> 20} MiB")
    if len(found[3]) < 8 or len(found[4]) != HASH_BYTES:
        raise PasswordFileError("its hash has a salt or a length that cannot be used")
    return found


def _text(data: bytes) -> str:
    return b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return b64decode(text + "=" * (-len(text) % 4), validate=True)
