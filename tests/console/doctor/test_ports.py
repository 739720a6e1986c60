"""The addresses, and the programs that may already listen on them."""

from __future__ import annotations

import errno
from typing import Any

from broker.config.config import config_of
from console.doctor.finding import Finding
from console.doctor.ports import check_certificates, check_http, check_listeners
from console.errors import CommandError
from console.health import Health
from tests.broker.server.pems import SERVER, SERVER_KEY
from tests.console.doctor.machine import FakeFacts

IN_USE = {9092: errno.EADDRINUSE, 9644: errno.EADDRINUSE}


def healthy(address: str) -> Health:
    assert address == "127.0.0.1:9092"
    return Health(42, 1.5)


def silent(_: str) -> Health:
    raise CommandError("it says nothing")


def listeners(bind: dict[int, int], ask: Any = healthy, **settings: Any) -> list[Finding]:
    return list(check_listeners(FakeFacts(bind=bind), config_of(settings), ask))


def test_a_free_address_is_well() -> None:
    assert [found.text for found in listeners({})] == ["127.0.0.1:9092 is free"]


def test_a_server_behind_it_is_asked() -> None:
    (found,) = listeners(IN_USE)
    assert found.verdict == "ok"
    assert "answers on 127.0.0.1:9092 in 1.5 ms, 42 APIs" in found.text


def test_a_stranger_behind_it_is_a_problem() -> None:
    (found,) = listeners(IN_USE, silent)
    assert found.verdict == "problem"
    assert "it says nothing" in found.text


def test_an_address_of_another_machine_is_a_problem() -> None:
    (found,) = listeners({9092: errno.EADDRNOTAVAIL})
    assert found.verdict == "problem"


def test_an_open_door_is_a_warning() -> None:
    found = listeners(IN_USE, **{"listeners": "0.0.0.0:9092", "kawal.insecure": "true"})
    assert [finding.verdict for finding in found] == ["ok", "warning"]


def test_logins_without_encryption_are_a_warning() -> None:
    found = listeners({}, listeners="SASL_PLAINTEXT://0.0.0.0:9092")
    assert [finding.verdict for finding in found] == ["ok", "warning"]
    assert "passwords of PLAIN" in found[1].text


def test_super_users_without_an_authorizer_are_a_warning() -> None:
    found = listeners({}, **{"super.users": "User:admin", "listeners": "127.0.0.1:9092"})
    assert [finding.verdict for finding in found] == ["ok", "warning"]
    assert "clients may do everything" in found[1].text


def http(bind: dict[int, int], **settings: Any) -> Finding:
    (found,) = check_http(FakeFacts(bind=bind), config_of(settings))
    return found


def test_the_http_address_may_be_free_in_use_off_or_not_ours() -> None:
    assert http({}).text == "127.0.0.1:9644 is free"
    assert http(IN_USE).verdict == "ok"
    assert "switched off" in http({}, **{"kawal.http.listen": "none"}).text
    assert http({9644: errno.EADDRNOTAVAIL}).verdict == "problem"


def test_passwords_on_an_address_for_others_are_warned_of() -> None:
    settings = {"listeners": "SASL_SSL://127.0.0.1:0", "kawal.http.listen": "0.0.0.0:9644"}
    settings |= {"ssl.keystore.key": SERVER_KEY, "ssl.keystore.certificate.chain": SERVER}
    found = list(check_http(FakeFacts(bind={}), config_of(settings)))
    assert [each.verdict for each in found] == ["ok", "warning"]
    assert "is not encrypted" in found[1].text


SSL = {"listeners": "SSL://127.0.0.1:9092", "ssl.keystore.certificate.chain": SERVER}
UNTIL_S = 4_948_995_223


def certificates(key: str, left_days: float) -> Finding:
    facts = FakeFacts(wall_seconds=UNTIL_S - left_days * 86_400)
    (found,) = check_certificates(facts, config_of(SSL | {"ssl.keystore.key": key}))
    return found


def test_a_certificate_is_judged_by_its_end() -> None:
    assert [certificates(SERVER_KEY, days).verdict for days in (31, 29, -1)] == ["ok", "warning", "problem"]
    assert (
        "'CN=localhost,O=lab' of the listener SSL expires in 29.0 days" in certificates(SERVER_KEY, 29).text
    )
    assert list(check_certificates(FakeFacts(), config_of({}))) == []


def test_a_certificate_that_cannot_be_served_is_a_problem() -> None:
    found = certificates("-----BEGIN PRIVATE KEY-----", 100)
    assert found.verdict == "problem"
    assert "the listener SSL cannot be served" in found.text


def test_an_address_with_tls_is_not_asked_in_clear_text() -> None:
    (found,) = listeners(IN_USE, silent, **SSL, **{"ssl.keystore.key": SERVER_KEY})
    assert (found.verdict, found.text) == (
        "ok",
        "127.0.0.1:9092 is in use, by a server already running or by another program",
    )
