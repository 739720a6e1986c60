"""SCRAM users of a broker, by Kafka's own requests; and lines of a file with PLAIN users."""

from __future__ import annotations

import os
from typing import Final

from broker.security.plain_passwords import PasswordFileError, hashed_password, read_lines
from broker.security.scram import ITERATIONS, SALT_BYTES, Mechanism, credential_of, salted_password
from console import admin
from console.errors import CommandError
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResult,
    UserName,
)

WORDS: Final = {mechanism.name.replace("_", "-"): mechanism for mechanism in Mechanism}
"""The mechanisms by their registered names."""


def word_of(mechanism: int) -> str:
    """Return the registered name of a mechanism's number."""
    return Mechanism(mechanism).name.replace("_", "-")


def set_password(bootstrap: str, user: str, password: str, mechanism: Mechanism, iterations: int) -> None:
    """Give a user a credential of one mechanism; only keys made of the password are sent.

    Raises: CommandError.
    """
    salt = os.urandom(SALT_BYTES)
    upsertion = ScramCredentialUpsertion(
        name=user,
        mechanism=mechanism,
        iterations=iterations,
        salt=salt,
        salted_password=salted_password(mechanism, password, salt, iterations),
    )
    _alter(bootstrap, AlterUserScramCredentialsRequest(deletions=[], upsertions=[upsertion]))


def first_credentials(password: str) -> dict[str, str]:
    """Return credentials of every mechanism as the catalogue keeps them."""
    made = {}
    for mechanism in Mechanism:
        salt = os.urandom(SALT_BYTES)
        salted = salted_password(mechanism, password, salt, ITERATIONS)
        made[mechanism.name] = credential_of(
            ScramCredentialUpsertion(
                name="", mechanism=mechanism, iterations=ITERATIONS, salt=salt, salted_password=salted
            )
        )
    return made


def remove(bootstrap: str, user: str, mechanism: Mechanism) -> None:
    """Remove a user's credential of one mechanism.  Raises: CommandError."""
    deletion = ScramCredentialDeletion(name=user, mechanism=mechanism)
    _alter(bootstrap, AlterUserScramCredentialsRequest(deletions=[deletion], upsertions=[]))


def _alter(bootstrap: str, request: AlterUserScramCredentialsRequest) -> None:
    answer = admin.ask(bootstrap, request, 0)
    for result in answer.results:
        admin.check(result.error_code, result.error_message, f"user {result.user!r}")


def mechanisms_of(bootstrap: str, user: str) -> list[Mechanism]:
    """Return the mechanisms of one user, none if there is no such user.  Raises: CommandError."""
    return [Mechanism(info.mechanism) for found in listed(bootstrap, user) for info in found.credential_infos]


def listed(bootstrap: str, *users: str) -> list[DescribeUserScramCredentialsResult]:
    """Return these users, or all; those that do not exist are left out.  Raises: CommandError."""
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=user) for user in users] or None)
    answer = admin.ask(bootstrap, request, 0)
    admin.check(answer.error_code, answer.error_message, bootstrap)
    found = []
    for result in answer.results:
        if result.error_code != ErrorCode.RESOURCE_NOT_FOUND:
            admin.check(result.error_code, result.error_message, f"user {result.user!r}")
            found.append(result)
    return sorted(found, key=lambda result: result.user)


# --- the file of PLAIN users ---------------------------------------------------------------------------


def file_users(path: str) -> dict[str, str]:
    """Return the hashed passwords in a file by name; none if there is no file.  Raises: CommandError."""
    try:
        with open(path, encoding="utf-8") as stream:
            return read_lines(stream, path)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, PasswordFileError) as error:
        raise CommandError(f"cannot use {path}: {getattr(error, 'strerror', None) or error}") from error


def write_file(path: str, users: dict[str, str]) -> None:
    """Write the file, whole or not at all, for its owner alone.  Raises: CommandError."""
    beside = f"{path}.{os.getpid()}"
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
            stream.writelines(f"{name}:{hashed}\n" for name, hashed in sorted(users.items()))
        if os.path.exists(path):
            found = os.stat(path)
            os.chmod(beside, found.st_mode & 0o777)
        os.replace(beside, path)
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from error


def hashed(password: str) -> str:
    """Return the stored form of a PLAIN user's password."""
    return hashed_password(password, os.urandom(SALT_BYTES))
