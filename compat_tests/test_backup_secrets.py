"""A backup searched for everything that is secret: passwords, keys and tokens."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from compat_tests.broker import Broker
from compat_tests.certificates import make_certificates, sign_server
from compat_tests.configs import SET
from compat_tests.conftest import StartBroker
from compat_tests.logins import USERS, add_scram_users, login_settings
from compat_tests.test_backup import kawal
from compat_tests.test_key_stores import ALL_NAMES, FILE, TEXT, alter, halves, texts_of
from compat_tests.tokens import TOKEN_SETTINGS, create, logged_in

pytestmark = pytest.mark.only_kawal(reason="Kafka has no backups")


def backed_up(broker: Broker, folder: Path) -> bytes:
    """Make a backup, and return all bytes of its files."""
    made = kawal("backup", "--data", str(broker.directory / "data"), "--to", str(folder))
    return b"\0".join(path.read_bytes() for path in sorted(Path(made["path"]).rglob("*")) if path.is_file())


def key_of(path: Path) -> bytes:
    """Return a line of a private key."""
    return halves(path)[0].splitlines()[1].encode()


def test_a_backup_has_no_secret_but_a_key_that_a_client_has_sent_as_text(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    made = make_certificates(tmp_path / "certificates")
    key, chain = (part.replace("\n", " ") for part in halves(made.server))
    own = {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,FILE:SSL,TEXT:SSL",
        "extra.listeners": "SASL,FILE,TEXT",
        f"{FILE}keystore.location": str(made.server),
        f"{TEXT}keystore.key": key,
        f"{TEXT}keystore.certificate.chain": chain,
    }
    broker = start_broker(**login_settings(SASL="SASL_PLAINTEXT") | TOKEN_SETTINGS | own)
    add_scram_users(broker)
    token = create(logged_in(broker, "alice"))
    by_path = sign_server(made, "by-path", names=ALL_NAMES)
    by_text = sign_server(made, "by-text", names=ALL_NAMES)
    assert alter(broker, (f"{FILE}keystore.location", SET, str(by_path))) == (0, None)
    found = backed_up(broker, tmp_path / "backups")
    assert token.token_id.encode() in found, "what is looked for would be found"
    assert str(by_path).encode() in found
    secrets = [
        USERS["alice"].encode(),
        TOKEN_SETTINGS["delegation.token.secret.key"].encode(),
        bytes(token.hmac),
        base64.b64encode(bytes(token.hmac)),
        key_of(made.server),
        key_of(by_path),
        key_of(by_text),
    ]
    assert [secret for secret in secrets if secret in found] == []
    assert alter(broker, *texts_of(by_text)) == (0, None)
    found = backed_up(broker, tmp_path / "backups")
    # docs/security.md says so, and to give a path instead.
    assert [secret for secret in secrets if secret in found] == [key_of(by_text)]
