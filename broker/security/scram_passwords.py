"""Passwords in the clear checked against SCRAM credentials, for doors that do not speak SCRAM.

A check takes some milliseconds of a thread.  Right ones are remembered by an HMAC with a key of this process,
and count only for the credential that they were compared with; wrong ones are checked each time.
Source: RFC 5802, section 3: StoredKey = H(HMAC(SaltedPassword, "Client Key")).
"""

from __future__ import annotations

import hmac
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

from broker.security.scram import HASHES, Mechanism, model_of, read_credential, salted_password

REMEMBERED_MAX: Final = 1_000

Users = Callable[[], Mapping[str, Mapping[str, str]]]
"""Returns the credentials by user and mechanism."""


class ScramPasswords:
    """The users with SCRAM credentials."""

    def __init__(self, users: Users, key: bytes) -> None:
        """`key` is random, and of this process alone."""
        self._users = users
        self._key = key
        # The stored credential with which each password was found to agree.
        self._remembered: OrderedDict[bytes, str] = OrderedDict()

    def known(self, user: str, password: str) -> bool | None:
        """Whether the password is right; None: only `check` can tell."""
        credential = self._remembered.get(self._mark(user, password))
        return True if credential is not None and credential == self._credential(user)[1] else None

    def check(self, user: str, password: str) -> bool:
        """Whether the password is right; takes long, and is called in a thread.

        A user that does not exist takes as long as a wrong password.
        """
        mechanism, text = self._credential(user)
        if not text:
            model = model_of(self._users(), mechanism, hmac.digest(self._key, user.encode(), "sha256"))
            salted_password(mechanism, password, model.salt, model.iterations)
            return False
        found = read_credential(text)
        algorithm = HASHES[mechanism]
        salted = salted_password(mechanism, password, found.salt, found.iterations)
        stored = algorithm(hmac.digest(salted, b"Client Key", algorithm)).digest()
        if not hmac.compare_digest(stored, found.stored_key):
            return False
        self._remembered[self._mark(user, password)] = text
        while len(self._remembered) > REMEMBERED_MAX:
            self._remembered.popitem(last=False)
        return True

    def _credential(self, user: str) -> tuple[Mechanism, str]:
        """Return one of the user's credentials; "" if there is none."""
        own = self._users().get(user) or {}
        for mechanism in Mechanism:
            if mechanism.name in own:
                return mechanism, own[mechanism.name]
        return Mechanism.SCRAM_SHA_256, ""

    def _mark(self, user: str, password: str) -> bytes:
        return hmac.digest(self._key, f"{user}\0{password}".encode(), "sha256")
