"""The commands for day two, against any broker: they use Kafka's own requests."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from compat_tests.broker import HOST, Broker
from compat_tests.conftest import MakeTopic, StartBroker
from compat_tests.kawal_broker import KAWAL
from compat_tests.test_console import kawal, sentence
from compat_tests.waiting import eventually

HTTP_AT = "metrics and health are at http://"


def test_topics_are_altered_and_their_settings_described(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    words = [topic, "--partitions", "3", "--config", "retention.ms=3600000"]
    assert b"could be changed" in kawal(broker, "topics alter", *words, "--dry-run").stdout
    told = kawal(broker, "topics alter", *words).stdout.decode()
    assert told == f"topic {topic!r}: changed: 3 partitions; retention.ms = 3600000\n"
    described = json.loads(kawal(broker, "topics describe", topic, "--json").stdout)[0]
    assert len(described["partitions"]) == 3
    assert described["configs"]["retention.ms"]["value"] == "3600000"
    refused = sentence(kawal(broker, "topics alter", topic, "--partitions", "2", code=1))
    assert refused.startswith(f"topic {topic!r}: ")


def test_configs_are_set_appended_and_taken_back(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    kawal(
        broker, "configs alter topic", topic, "--append", "cleanup.policy=compact", "--set", "segment.ms=77"
    )
    shown = json.loads(kawal(broker, "configs describe topic", topic, "--json").stdout)
    # Kafka counts what it sets by itself, min.insync.replicas, among what was set.
    assert {"cleanup.policy": "delete,compact", "segment.ms": "77"}.items() <= {
        key: setting["value"] for key, setting in shown.items()
    }.items()
    kawal(
        broker, "configs alter topic", topic, "--subtract", "cleanup.policy=compact", "--delete", "segment.ms"
    )
    shown = json.loads(kawal(broker, "configs describe topic", topic, "--all", "--json").stdout)
    assert shown["cleanup.policy"]["value"] == "delete"
    assert shown["segment.ms"]["source"] == "default"
    assert "retention.mss" in sentence(
        kawal(broker, "configs alter topic", topic, "--set", "retention.mss=1", code=1)
    )


def test_a_broker_and_its_loggers_are_described(broker: Broker) -> None:
    shown = json.loads(
        kawal(broker, "configs describe broker", "--key", "message.max.bytes", "--synonyms", "--json").stdout
    )
    assert shown["message.max.bytes"]["type"] == "int"
    loggers = json.loads(kawal(broker, "configs describe logger", "--json").stdout)
    assert loggers["root"]["value"]
    assert "there is no broker '77'" in sentence(kawal(broker, "configs describe broker", "77", code=1))


def test_the_cluster_is_described(broker: Broker, make_topic: MakeTopic) -> None:
    make_topic(partitions=2)
    tree = json.loads(kawal(broker, "cluster describe", "--json").stdout)
    assert [node["address"] for node in tree["nodes"]] == [broker.bootstrap]
    assert tree["topics"] >= 1
    assert tree["partitions"] >= 2
    assert tree["features"]["group.version"] >= 1
    assert kawal(broker, "cluster describe").stdout.decode().startswith(f"cluster {tree['id']}: 1 node, ")


def test_health_is_an_answer(broker: Broker) -> None:
    assert b" answers: " in kawal(broker, "health").stdout


def test_a_broker_is_measured_and_nothing_is_left(broker: Broker) -> None:
    words = ["--seconds", "1.5", "--partitions", "2", "--max-megabytes", "20", "--json"]
    tree = json.loads(kawal(broker, "bench", *words).stdout)
    assert tree["lost_records"] == 0
    assert tree["produce"]["records"] > 0
    assert "kawal-bench" not in kawal(broker, "topics list").stdout.decode()


def address_in(output: str) -> str:
    """Return the address of the metrics in a gateway's log, "" while it is not there."""
    address, end, _ = output.partition(HTTP_AT)[2].partition("\n")
    return address if end else ""


@pytest.mark.only_kawal("about the gateway's own metrics")
def test_metrics_and_health_are_served_over_http(start_broker: StartBroker, topic: str) -> None:
    broker = start_broker(kawal_http_listen=f"{HOST}:0")
    address = eventually(
        lambda: address_in(broker.process.output()),
        waiting_for="the address of the metrics",
    )
    kawal(broker, "produce", topic, stdin=b"a\nb\n")
    pages = {
        path: urlopen(f"http://{address}{path}").read().decode()
        for path in ("/healthz", "/readyz", "/metrics")
    }
    assert (pages["/healthz"], pages["/readyz"]) == ("ok\n", "ready\n")
    lines = pages["/metrics"].splitlines()
    assert sum(float(line.split()[1]) for line in lines if line.startswith("kawal_sync_seconds_count")) > 0
    assert any(
        line.startswith(f'kawal_partition_high_watermark{{partition="0",topic="{topic}"') for line in lines
    )
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"http://{address}/nothing")


def doctor(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[bytes]:
    """Run `kawal doctor`, which looks at a machine and not at an address."""
    ended = subprocess.run([KAWAL, "doctor", *arguments], capture_output=True, timeout=60, check=False)
    assert ended.returncode == code, ended.stderr
    return ended


@pytest.mark.only_kawal("about the gateway's own machine")
def test_the_doctor_finds_a_running_gateway_well_and_a_strangers_directory_not(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    broker = start_broker()
    environment = ["--listen", broker.bootstrap, "--http", "none", "--json"]
    data = str(broker.directory / "data")
    found = json.loads(doctor("--data", data, *environment).stdout)["findings"]
    texts = [finding["text"] for finding in found if finding["check"] in ("directory", "listeners")]
    assert any("a server has it open, process " in text for text in texts)
    assert any("a server answers on " in text for text in texts)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign/meta.properties").write_text("cluster.id=x\n")
    told = json.loads(doctor("--data", str(tmp_path / "foreign"), *environment, code=1).stdout)
    assert told["verdict"] == "problem"
