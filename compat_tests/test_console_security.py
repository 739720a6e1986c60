"""`kawal` as a client of brokers with TLS and logins, by files of client settings and by profiles."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.broker import Broker, Kind
from compat_tests.certificates import Certificates, make_certificates
from compat_tests.conftest import MakeTopic, running_broker
from compat_tests.kawal_broker import KAWAL
from compat_tests.logins import USERS, add_scram_users, login_settings
from compat_tests.test_sasl import is_known
from compat_tests.waiting import eventually

PROTOCOLS = {"SASL": "SASL_PLAINTEXT", "SECURE": "SASL_SSL", "MUTUAL": "SSL"}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Make the certificates of all tests here."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(
    tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind, certificates: Certificates
) -> Iterator[Broker]:
    """Start a broker that wants logins, without and over TLS, and one listener that wants certificates."""
    settings = login_settings(SASL="SASL_PLAINTEXT", SECURE="SASL_SSL")
    settings |= {
        "extra.listeners": ",".join(PROTOCOLS),
        "listener.security.protocol.map": settings["listener.security.protocol.map"] + ",MUTUAL:SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.server),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.authority),
        "listener.name.mutual.ssl.client.auth": "required",
    }
    with running_broker(broker_kind, tmp_path_factory.mktemp("secure"), settings) as started:
        add_scram_users(started)
        eventually(lambda: is_known(started), waiting_for="the users of SCRAM")
        yield started


@pytest.fixture
def files(tmp_path: Path, certificates: Certificates) -> dict[str, Path]:
    """Write a file of client settings for each listener, in the ways of Kafka's tools and of librdkafka."""
    quoted = USERS["alice"].replace('"', '\\\\"')
    texts = {
        "SASL": "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f"sasl.username=alice\nsasl.password={USERS['alice']}\n",
        "SECURE": f"security.protocol=SASL_SSL\nssl.ca.location={certificates.authority}\n"
        "sasl.mechanism=SCRAM-SHA-512\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
        f'  username="alice" password="{quoted}";\n',
        "MUTUAL": "security.protocol=SSL\nssl.truststore.type=PEM\n"
        f"ssl.truststore.location={certificates.authority}\nssl.keystore.type=PEM\n"
        f"ssl.keystore.location={certificates.client}\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.properties").write_text(text)
    return {name: tmp_path / f"{name}.properties" for name in texts}


def kawal(
    command: str,
    *arguments: str | Path,
    stdin: str = "",
    code: int = 0,
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `kawal` to its end and expect an exit code."""
    ended = subprocess.run(
        [KAWAL, *command.split(), *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    assert ended.returncode == code, ended.stderr
    return ended


@pytest.mark.parametrize("listener", PROTOCOLS)
def test_records_are_written_and_read(
    broker: Broker, make_topic: MakeTopic, files: dict[str, Path], listener: str
) -> None:
    topic = make_topic()
    way = ("--bootstrap", broker.bootstrap_of(listener), "--command-config", files[listener])
    lines = [f"line {number}" for number in range(2_000)]
    kawal("produce", topic, *way, stdin="\n".join(lines))
    assert kawal("consume", topic, *way).stdout.splitlines() == lines
    grouped = kawal("consume", topic, "--group", f"g-{topic}", "--from", "earliest", *way)
    assert grouped.stdout.splitlines() == lines
    assert f"g-{topic}" in kawal("groups list", *way).stdout
    assert topic in kawal("topics list", *way).stdout


@pytest.mark.only_kawal(reason="databases, SQL and the APIs of the tables of groups are Kawal's")
@pytest.mark.parametrize("listener", PROTOCOLS)
def test_every_command_for_servers_gets_in(
    broker: Broker, make_topic: MakeTopic, files: dict[str, Path], listener: str
) -> None:
    topic = make_topic()
    way = ("--bootstrap", broker.bootstrap_of(listener), "--command-config", files[listener])
    for command in (
        *(f"topics describe {topic}", "subscriptions", "consumers", "cluster describe", "health"),
        *("cluster connections", "configs describe broker", "databases list", "transactions list"),
        *("completion topics", "bench --seconds 1 --partitions 1", f"topics delete {topic} --yes"),
    ):
        assert kawal(command, *way).stderr.count("Traceback") == 0, command
    assert "TOPIC" in kawal("sql", "SELECT * FROM information_schema.ins_topics", *way).stdout.upper()
    assert kawal("users list", *way).stdout.count("alice") >= 1


def test_a_profile_has_the_settings_and_is_used_for_its_address_only(
    broker: Broker, make_topic: MakeTopic, certificates: Certificates, tmp_path: Path
) -> None:
    home = {"XDG_CONFIG_HOME": str(tmp_path), "KAWAL_BOOTSTRAP": ""}
    kawal(
        "profile set production --use --protocol SASL_SSL --mechanism SCRAM-SHA-256 --user alice",
        *("--bootstrap", broker.bootstrap_of("SECURE"), "--ca", certificates.authority),
        *("--password-file", "-"),
        stdin=USERS["alice"],
        environment=home,
    )
    topic = make_topic()
    assert topic in kawal("topics list", environment=home).stdout
    assert topic in kawal("topics list", "--bootstrap", broker.bootstrap, environment=home).stdout
    told = kawal("profile list", environment=home)
    assert "SASL_SSL" in told.stdout
    assert USERS["alice"] not in told.stdout


@pytest.mark.parametrize(
    ("listener", "change", "sentence"),
    [
        ("SECURE", ("SCRAM-SHA-512", "SCRAM-SHA-256"), None),
        (
            "SECURE",
            ('username="alice"', 'username="mallory"'),
            "refused the login of user 'mallory' by",
        ),
        ("SASL", ("sasl.password=", "sasl.password=x"), "refused the login of user 'alice' by PLAIN: "),
        ("SECURE", ("ssl.ca.location", "an.unknown.key"), "ssl.ca.location"),
        ("MUTUAL", ("ssl.keystore.location", "an.unknown.key"), "a certificate of the client"),
        ("SASL", ("SASL_PLAINTEXT", "SASL_SSL"), "it does not answer in TLS"),
        ("SASL", ("security.protocol=SASL_PLAINTEXT", ""), "is given without security.protocol"),
    ],
)
def test_what_is_refused_is_one_sentence_without_secrets(
    broker: Broker, files: dict[str, Path], listener: str, change: tuple[str, str], sentence: str | None
) -> None:
    file = files[listener]
    file.write_text(file.read_text().replace(*change))
    way = ("--bootstrap", broker.bootstrap_of(listener), "--command-config", file)
    for command in ("topics list", "groups list"):
        told = kawal(command, *way, code=1 if sentence else 0).stderr
        lines = [line for line in told.splitlines() if "without effect here: an.unknown.key" not in line]
        assert len(lines) == (1 if sentence else 0), told
        assert sentence is None or sentence in lines[0]
        assert "secret" not in told


@pytest.mark.parametrize(
    ("listener", "sentence"),
    [("SASL", "wants a login ("), ("SECURE", ""), ("MUTUAL", "")],
)
def test_a_client_without_settings_is_told_what_is_missing(
    broker: Broker, listener: str, sentence: str
) -> None:
    for command in ("topics list", "groups list"):
        told = kawal(command, "--bootstrap", broker.bootstrap_of(listener), code=1).stderr
        assert len(told.splitlines()) == 1, told
        assert sentence in told
