"""The file with the secret by which the nodes of a cluster know each other."""

from __future__ import annotations

import os
import stat
from typing import Final

from broker.security.node_greeting import SECRET_BYTES_MIN
from broker.server.listeners import StartError

FILE_BYTES_MAX: Final = 4_096
"""No secret is so long."""


def read_secret(path: str) -> bytes:
    """Return the bytes of the secret, without white space around them.  Raises: StartError."""
    what = f"{path} (kawal.cluster.secret.file)"
    try:
        with open(path, "rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            data = stream.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise StartError(f"{what} cannot be read: {(error.strerror or str(error)).lower()}") from error
    if stat.S_IMODE(mode) & 0o077:
        raise StartError(
            f"{what} can be read or written by other users of this machine (mode"
            f" {stat.S_IMODE(mode):04o}); run 'chmod 600' on it"
        )
    if len(data) > FILE_BYTES_MAX:
        raise StartError(f"{what} is longer than {FILE_BYTES_MAX} bytes; it should hold one secret")
    secret = data.strip()
    if len(secret) < SECRET_BYTES_MIN:
        raise StartError(
            f"{what} holds {len(secret)} bytes, and a secret has {SECRET_BYTES_MIN} or more; make one with"
            " 'openssl rand -base64 32'"
        )
    return secret
