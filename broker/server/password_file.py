"""The file with the hashed passwords of SASL PLAIN, read again when it has changed."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from typing import Final

from broker.security.plain_passwords import PasswordFileError, read_lines

logger = logging.getLogger("kawal.security")

FILE_BYTES_MAX: Final = 16 << 20
"""About 150,000 users."""


class PasswordFile:
    """A file of users; it is called in threads, and returns the hashed passwords by name."""

    def __init__(self, path: str) -> None:
        """Read the file.  Raises: PasswordFileError, with one sentence for the operator."""
        self._path = path
        self._lock = threading.Lock()
        self._stamp = self._stamp_now()
        self._users: Mapping[str, str] = self._read()

    def __call__(self) -> Mapping[str, str]:
        """Return the users; those of the last good file if this one cannot be used."""
        with self._lock:
            stamp = self._stamp_now()
            if stamp != self._stamp:
                self._stamp = stamp
                try:
                    self._users = self._read()
                    logger.info("%s has changed: %d users", self._path, len(self._users))
                except PasswordFileError as error:
                    logger.error("the users in use were kept: %s", error)
            return self._users

    def _read(self) -> Mapping[str, str]:
        try:
            with open(self._path, encoding="utf-8") as stream:
                text = stream.read(FILE_BYTES_MAX)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise PasswordFileError(
                f"{self._path} (kawal.sasl.plain.users) cannot be read: {reason}"
            ) from error
        return read_lines(text.splitlines(), self._path)

    def _stamp_now(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
