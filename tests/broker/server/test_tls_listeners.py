"""Encrypted listeners: when their certificates are read again, and what a client's change may do."""

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from broker.config.config import Config, config_of
from broker.server.tls import TlsError
from broker.server.tls_listeners import TlsListeners
from tests.broker.server.pems import CLIENT, CLIENT_KEY, ELSEWHERE, SERVER, SERVER_KEY, WIDER
from tests.broker.server.test_tls import UNTIL_S, config

DAY_S = 86_400
TEXTS = {"keystore_key": SERVER_KEY, "keystore_certificate_chain": SERVER}


def opened(read: Config) -> TlsListeners:
    tls = TlsListeners()
    tls.accept(tls.prepare(read))
    return tls


def write(path: Path, text: str, second: int) -> None:
    path.write_text(text)
    os.utime(path, (second, second))


def test_a_changed_file_is_noticed_and_a_wrong_one_leaves_the_old_in_use(tmp_path: Path) -> None:
    path = tmp_path / "server.pem"
    write(path, SERVER_KEY + SERVER, 1)
    tls = opened(config(keystore_location=str(path)))
    before = tls.current["SSL"]
    assert not tls.changed()
    write(path, SERVER_KEY, 2)
    assert tls.changed()
    assert not tls.changed()
    with pytest.raises(TlsError):
        tls.prepare(None)
    assert tls.current["SSL"] is before
    write(path, CLIENT_KEY + CLIENT, 3)
    assert tls.changed()
    tls.accept(tls.prepare(None))
    assert list(tls.described()) == [
        "listener SSL has the certificate of 'CN=Dave,OU=dev,O=lab', valid until 2126-10-30 00:53:43 UTC"
    ]


def test_the_end_of_a_certificate_is_told_at_30_7_1_and_0_days(caplog: pytest.LogCaptureFixture) -> None:
    tls = opened(config(**TEXTS))
    days = (40, 29, 28, 6, 5, 0.5, 0.4, -1, -2)
    for left in days:
        tls.warn_of_expiry(UNTIL_S - left * DAY_S)
    levels = [(record.levelno, record.getMessage().split("SSL ")[1][:14]) for record in caplog.records]
    assert levels == [
        (logging.WARNING, "expires in 29."),
        (logging.WARNING, "expires in 6.0"),
        (logging.WARNING, "expires in 0.5"),
        (logging.ERROR, "has expired (2"),
    ]


def two_listeners(**settings: Any) -> Config:
    return config_of({
        "listeners": "SSL://127.0.0.1:0,OTHER://127.0.0.1:0",
        "listener.security.protocol.map": "SSL:SSL,OTHER:SSL",
        "ssl.keystore.key": SERVER_KEY,
        "ssl.keystore.certificate.chain": SERVER,
        **settings,
    })  # fmt: skip


OWN = "listener.name.other.ssl.keystore.certificate.chain"


def test_a_client_s_change_is_in_effect_with_the_configuration_and_for_its_listener_alone() -> None:
    tls = opened(two_listeners())
    before = tls.current
    wanted = two_listeners(**{OWN: WIDER})
    read = tls.read(wanted, {"OTHER"})
    assert set(read.made) == {"OTHER"}
    tls.expect(read)
    assert tls.current is before
    tls.configured(wanted)
    assert tls.current["SSL"] is before["SSL"]
    assert "DNS:kafka.example" in tls.current["OTHER"].alternative_names
    tls.configured(two_listeners())
    assert tls.current["OTHER"] is before["OTHER"], "the change was undone"


def test_a_change_that_was_not_read_leaves_all_as_it_is_until_the_files_are_looked_at() -> None:
    tls = opened(two_listeners())
    before = tls.current
    tls.configured(two_listeners(**{OWN: WIDER}))
    assert tls.current is before
    assert tls.changed()
    tls.accept(tls.prepare(None))
    assert "DNS:kafka.example" in tls.current["OTHER"].alternative_names


@pytest.mark.parametrize("settings", [{OWN: WIDER}, {}], ids=["another place", "the same place"])
def test_after_a_change_that_was_read_elsewhere_the_files_are_looked_at(settings: dict[str, str]) -> None:
    tls, looks = opened(two_listeners()), list[str]()
    tls.look = lambda: looks.append("look")
    tls.configured(two_listeners(**settings))
    assert looks == ["look"]


def test_after_a_change_that_was_read_here_nothing_is_looked_at() -> None:
    tls, looks = opened(two_listeners()), list[str]()
    tls.look = lambda: looks.append("look")
    wanted = two_listeners(**{OWN: WIDER})
    tls.expect(tls.read(wanted, {"OTHER"}))
    tls.configured(wanted)
    assert looks == []


def test_what_was_prepared_by_older_settings_is_known_as_such() -> None:
    tls = opened(two_listeners())
    prepared = tls.prepare(None)
    assert not tls.is_outdated(prepared)
    tls.configured(two_listeners(**{OWN: WIDER}))
    assert tls.is_outdated(prepared)


@pytest.mark.parametrize(
    ("chain", "sentence"),
    [
        (ELSEWHERE, "is for 'CN=localhost,O=lab', and the new one for 'CN=elsewhere,O=lab'"),
        (SERVER, "lacks alternative names of the one in use, DNS:kafka.example, IP:::1, URI:spiffe"),
    ],
)
def test_a_certificate_of_another_server_is_refused(chain: str, sentence: str) -> None:
    tls = opened(config(**TEXTS | {"keystore_certificate_chain": WIDER}))
    with pytest.raises(TlsError, match=sentence):
        tls.read(config(**TEXTS | {"keystore_certificate_chain": chain}), {"SSL"})


def test_a_certificate_of_another_server_is_taken_where_that_is_allowed() -> None:
    tls = opened(config(**TEXTS | {"keystore_certificate_chain": WIDER}))
    allowed = {"allow_dn_changes": "true", "allow_san_changes": "true"}
    wanted = config(**TEXTS | allowed | {"keystore_certificate_chain": ELSEWHERE})
    tls.expect(tls.read(wanted, {"SSL"}))
    tls.configured(wanted)
    assert tls.current["SSL"].subject == "CN=elsewhere,O=lab"


def test_a_key_that_does_not_match_is_refused_by_name() -> None:
    tls = opened(config(**TEXTS))
    with pytest.raises(TlsError, match="listener SSL cannot be served: key values mismatch"):
        tls.read(config(**TEXTS | {"keystore_key": CLIENT_KEY}), {"SSL"})
