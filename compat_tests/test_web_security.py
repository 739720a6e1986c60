"""The web console before brokers with TLS and logins: alone with a file of settings, and beside a gateway."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from compat_tests.broker import HOST, Broker, Kind
from compat_tests.certificates import Certificates, make_certificates
from compat_tests.conftest import MakeTopic, running_broker
from compat_tests.kawal_broker import KawalBroker
from compat_tests.logins import USERS, add_scram_users, login_settings
from compat_tests.test_sasl import is_known
from compat_tests.test_web_console import Started, fetched
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

PROTOCOLS = {"SASL": "SASL_PLAINTEXT", "SECURE": "SASL_SSL", "MUTUAL": "SSL"}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def secured(certificates: Certificates) -> dict[str, str]:
    """Return the settings of a broker with a listener of each protocol."""
    settings = login_settings(SASL="SASL_PLAINTEXT", SECURE="SASL_SSL")
    return settings | {
        "extra.listeners": ",".join(PROTOCOLS),
        "listener.security.protocol.map": settings["listener.security.protocol.map"] + ",MUTUAL:SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.server),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.authority),
        "listener.name.mutual.ssl.client.auth": "required",
    }


@pytest.fixture(scope="module")
def broker(
    tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind, certificates: Certificates
) -> Iterator[Broker]:
    with running_broker(broker_kind, tmp_path_factory.mktemp("secure"), secured(certificates)) as started:
        add_scram_users(started)
        eventually(lambda: is_known(started), waiting_for="the users of SCRAM")
        yield started


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Any]:
    """Yield a function that starts a console with a file of client settings, and returns its port."""
    started: list[Started] = []

    def start(broker: Broker, listener: str, settings: str, *options: str) -> int:
        file = tmp_path / f"client-{len(started)}.properties"
        file.write_text(settings)
        way = ("--bootstrap", broker.bootstrap_of(listener), "--command-config", str(file))
        run = tmp_path / f"run-{len(started)}"
        started.append(Started(run, "console", *way, "--listen", f"{HOST}:0", *options))
        return started[-1].port("kawal console http://")

    yield start
    for each in started:
        each.end()


def settings_of(listener: str, certificates: Certificates) -> str:
    encrypted = f"ssl.ca.location={certificates.authority}\n"
    return {
        "SASL": "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f"sasl.username=alice\nsasl.password={USERS['alice']}\n",
        "SECURE": f"security.protocol=SASL_SSL\n{encrypted}sasl.mechanism=SCRAM-SHA-256\n"
        f"sasl.username=bob\nsasl.password={USERS['bob']}\n",
        "MUTUAL": f"security.protocol=SSL\n{encrypted}ssl.keystore.type=PEM\n"
        f"ssl.keystore.location={certificates.client}\n",
    }[listener]


class Visitor:
    """A browser that keeps the cookie of its login."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.cookie = ""

    def ask(self, method: str, path: str, **form: str) -> tuple[int, dict[str, str], str]:
        headers = {"Cookie": self.cookie, "Sec-Fetch-Site": "same-origin"}
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection(HOST, self._port, timeout=60)
        try:
            connection.request(method, path, urlencode(form) or None, headers)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, found, answer.read().decode()
        finally:
            connection.close()

    def log_in(self, user: str, password: str) -> int:
        status, headers, _ = self.ask("POST", "/login", user=user, password=password, back="/")
        self.cookie = headers.get("set-cookie", "").partition(";")[0]
        return status


@pytest.mark.parametrize("listener", PROTOCOLS)
def test_it_reads_by_every_protocol_as_the_user_of_its_file(
    broker: Broker, make_topic: MakeTopic, certificates: Certificates, console: Any, listener: str
) -> None:
    topic = make_topic()
    port = console(broker, listener, settings_of(listener, certificates))
    assert fetched(port, f"/topics/{topic}")[0] == 200
    assert fetched(port, f"/topics/{topic}/records?as=json") == (200, "[]\n")


def test_a_certificate_of_an_unknown_authority_is_a_sentence_and_no_page(
    broker: Broker, console: Any, tmp_path: Path
) -> None:
    others = make_certificates(tmp_path / "others")
    port = console(broker, "SECURE", settings_of("SECURE", others))
    status, html = fetched(port, "/topics")
    assert status >= 500
    assert "certificate" in html


def test_people_log_in_over_tls_as_users_of_the_broker_each_with_a_password_of_their_own(
    broker: Broker, make_topic: MakeTopic, certificates: Certificates, console: Any
) -> None:
    topic = make_topic()
    file = (
        f"security.protocol=SASL_SSL\nssl.ca.location={certificates.authority}\n"
        "sasl.mechanism=SCRAM-SHA-512\n"
    )
    port = console(broker, "SECURE", file, "--login", "--https")
    visitor = Visitor(port)
    assert visitor.ask("GET", f"/topics/{topic}")[0] == 303
    assert visitor.log_in("alice", "wrong") == 401
    assert visitor.cookie == ""
    assert visitor.log_in("alice", USERS["alice"]) == 303
    assert visitor.cookie.startswith("__Host-")
    status, _, html = visitor.ask("GET", f"/topics/{topic}")
    assert (status, "Log out alice" in html) == (200, True)
    assert Visitor(port).ask("GET", f"/topics/{topic}")[0] == 303
    assert visitor.ask("POST", "/logout")[0] == 303
    assert visitor.ask("GET", f"/topics/{topic}")[0] == 303


@pytest.mark.only_kawal(reason="the console is the gateway's own")
def test_host_names_are_known_ones_on_pages_files_streams_and_forms(
    broker: Broker, make_topic: MakeTopic, certificates: Certificates, console: Any
) -> None:
    topic = make_topic()
    port = console(broker, "SASL", settings_of("SASL", certificates), "--host", "kafka.example")
    style = fetched(port, "/")[1].partition('rel="stylesheet" href="')[2].partition('"')[0]
    for path in ("/", style, f"/topics/{topic}/tail/events?at=0:0", "/missing"):
        for name in ("evil.example", "127.0.0.1.evil.example", f"evil.example:{port}"):
            assert fetched(port, path, Host=name)[0] == 421, (path, name)
    for name in ("kafka.example", f"localhost:{port}", f"127.0.0.1:{port}"):
        assert fetched(port, "/", Host=name)[0] == 200
    assert fetched(port, "/settings", "POST", Host="evil.example")[0] == 421


@pytest.mark.only_kawal(reason="the console is the gateway's own")
def test_beside_a_gateway_that_serves_logins_over_tls_alone_everyone_logs_in(
    tmp_path: Path, certificates: Certificates
) -> None:
    gateway = KawalBroker(tmp_path / "gateway", {})
    gateway.start()
    add_scram_users(gateway)
    create_topic(gateway, "orders")
    gateway.stop()
    settings = {
        "listener.security.protocol.map": "SECURE:SASL_SSL",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "ssl.keystore.location": str(certificates.server),
        "kawal.console.listeners": f"{HOST}:0",
    }
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    words += ["--http", "none", "--data", str(gateway.directory / "data")]
    started = Started(tmp_path / "run", "serve", "--listen", f"SECURE://{HOST}:0", *words)
    try:
        visitor = Visitor(started.port("kawal console http://"))
        assert visitor.ask("GET", "/topics/orders")[0] == 303
        assert visitor.log_in("bob", "wrong") == 401
        assert visitor.log_in("bob", USERS["bob"]) == 303
        status, _, html = visitor.ask("GET", "/topics/orders")
        assert (status, "Log out bob" in html) == (200, True)
    finally:
        started.end()
