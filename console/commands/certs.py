"""`kawal certs`: make an authority and certificates for a first try of TLS."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
from pathlib import Path
from typing import Final

from console.errors import OK, CommandError, UsageError
from console.help import Actions, describe, int32
from console.help import dispatch as run

__all__ = ["configure", "run"]

ELLIPTIC: Final = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
"""A handshake costs half of what it does with RSA."""

HOST: Final = re.compile(r"[A-Za-z0-9.:_*-]{1,253}")
NAME: Final = re.compile(r"[A-Za-z0-9._@ -]{1,64}")

OPENSSL_SECONDS: Final = 60


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        "Make certificates for a first try of TLS.  Later, have an authority of your own sign them.",
        [
            ("certs make --host kafka.example", "an authority and a server's certificate, in ./certs"),
            ("certs make --client dave", "a client's certificate, signed by the authority that is there"),
        ],
    )
    actions = Actions(parser)
    make = actions.add(
        "make",
        summary="make an authority, a server's certificate and certificates of clients",
        description="""Make ca.pem, server.pem and NAME.pem for each client in a directory; the last two hold
            a private key and its certificate, and ca.key is the authority's.  An authority that is there
            signs; certificates that are there are not replaced.  The openssl command does the work.""",
        examples=[
            ("certs make --dir certs", "an authority and a certificate for localhost"),
            (
                "certs make --dir certs --client dave --client erin",
                "two clients, signed by the same authority",
            ),
        ],
        run=_make,
    )
    make.add_argument("--dir", metavar="DIR", default="certs", help="where the files go (default ./certs)")
    make.add_argument(
        "--host",
        metavar="HOST",
        action="append",
        default=[],
        help="a name or address by which clients reach the server; repeatable (localhost is always one)",
    )
    make.add_argument(
        "--client", metavar="NAME", action="append", default=[], help="a client's common name; repeatable"
    )
    make.add_argument("--days", type=int32, default=365, help="days for which they are valid (default 365)")


def _make(arguments: argparse.Namespace) -> int:
    for pattern, values, what in ((HOST, arguments.host, "host"), (NAME, arguments.client, "client")):
        for value in values:
            if not pattern.fullmatch(value):
                raise UsageError(f"--{what} {value!r} is no name of a {what}")
    if not 1 <= arguments.days <= 36_500:
        raise UsageError(f"--days {arguments.days} is not between 1 and 36500")
    taken = [name for name in arguments.client if name.lower() in ("ca", "server")]
    if taken:
        raise UsageError(f"--client {taken[0]} would have the file of another; choose another name")
    folder = Path(arguments.dir)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"cannot make {folder}: {error.strerror}") from error
    before = os.umask(0o077)
    try:
        _make_authority(folder, arguments.days)
        _make_signed(
            folder, "server", "localhost", arguments.days, ["localhost", "127.0.0.1", *arguments.host]
        )
        for name in arguments.client:
            _make_signed(folder, name, name, arguments.days, [])
    finally:
        os.umask(before)
    return OK


def _make_authority(folder: Path, days: int) -> None:
    key, certificate = folder / "ca.key", folder / "ca.pem"
    if key.exists() and certificate.exists():
        print(f"kept {certificate}")
        return
    files = ("-keyout", str(key), "-out", str(certificate))
    usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    _openssl("req", "-x509", *ELLIPTIC, *files, "-days", str(days), "-subj", "/CN=kawal certs", *usage)
    print(f"made {certificate}")


def _make_signed(folder: Path, file: str, name: str, days: int, hosts: list[str]) -> None:
    both = folder / f"{file}.pem"
    if both.exists():
        print(f"kept {both}")
        return
    key, request, signed = (folder / f".{file}.{end}" for end in ("key", "csr", "crt"))
    extensions = folder / f".{file}.ext"
    usage = "serverAuth" if hosts else "clientAuth"
    lines = ["basicConstraints=CA:FALSE", f"extendedKeyUsage={usage}"]
    if hosts:
        lines.append("subjectAltName=" + ",".join(map(_alternative, dict.fromkeys(hosts))))
    extensions.write_text("".join(f"{line}\n" for line in lines))
    try:
        files = ("-keyout", str(key), "-out", str(request))
        _openssl("req", *ELLIPTIC, *files, "-subj", f"/CN={name}")
        authority = ("-CA", str(folder / "ca.pem"), "-CAkey", str(folder / "ca.key"), "-CAcreateserial")
        serial = ("-days", str(days), "-extfile", str(extensions))
        _openssl("x509", "-req", "-in", str(request), *authority, "-out", str(signed), *serial)
        both.write_text(key.read_text() + signed.read_text())
    finally:
        for left in (key, request, signed, extensions):
            left.unlink(missing_ok=True)
    print(f"made {both}")


def _alternative(host: str) -> str:
    is_address = ":" in host or host.replace(".", "").isdigit()
    return f"IP:{host}" if is_address else f"DNS:{host}"


def _openssl(*arguments: str) -> None:
    try:
        done = subprocess.run(  # noqa: S603  (names were checked, and there is no shell)
            ["openssl", *arguments],  # noqa: S607  (the one that the user would call)
            capture_output=True,
            text=True,
            timeout=OPENSSL_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise CommandError("the openssl command is not installed; install the package openssl") from error
    except subprocess.TimeoutExpired as error:
        raise CommandError(f"openssl {arguments[0]} took longer than {OPENSSL_SECONDS} s") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise CommandError(f"openssl {arguments[0]} failed: {lines[-1]}")
