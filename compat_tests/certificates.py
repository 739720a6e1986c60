"""Certificates for tests with TLS: a small authority, a server and a client, made by the openssl command."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class Certificates(NamedTuple):
    """The PEM files in a directory; `server` and `client` hold a key (PKCS#8) and its certificate."""

    authority: Path
    server: Path
    client: Path


def make_certificates(directory: Path, client: str = "/O=lab/OU=dev/CN=Dave") -> Certificates:
    """Make an authority, a certificate for 127.0.0.1 and localhost, and one for the client of that name."""
    directory.mkdir(parents=True, exist_ok=True)
    authority = directory / "ca.pem"
    key = directory / "ca.key"
    _openssl("req", "-x509", *EC, "-keyout", key, "-out", authority, "-subj", "/CN=test authority")
    extensions = directory / "server.ext"
    extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    return Certificates(
        authority,
        _signed(directory, "server", "/O=lab/CN=localhost", "-extfile", extensions),
        _signed(directory, "client", client),
    )


def sign_server(made: Certificates, name: str, *, subject: str = "/O=lab/CN=localhost", names: str) -> Path:
    """Return the file of another certificate for a server, with these alternative names."""
    directory = made.authority.parent
    extensions = directory / f"{name}.ext"
    extensions.write_text(f"subjectAltName={names}\n")
    return _signed(directory, name, subject, "-extfile", extensions)


def _signed(directory: Path, name: str, subject: str, *options: str | Path) -> Path:
    key, request, signed = (directory / f"{name}{end}" for end in (".key", ".csr", ".crt"))
    _openssl("req", *EC, "-keyout", key, "-out", request, "-subj", subject)
    authority = ("-CA", directory / "ca.pem", "-CAkey", directory / "ca.key", "-CAcreateserial")
    _openssl("x509", "-req", "-in", request, *authority, "-out", signed, "-days", "60", *options)
    both = directory / f"{name}.pem"
    both.write_text(key.read_text() + signed.read_text())
    return both


def _openssl(*arguments: str | Path) -> None:
    command = ["openssl", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, f"{' '.join(command)} failed:\n{result.stderr}"
