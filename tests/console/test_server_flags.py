"""The flags that make up a configuration."""

import argparse
import json
from pathlib import Path

import pytest

from broker.config.config_sources import LoadedConfig
from console.errors import CommandError
from console.server_flags import add_flags, as_json, as_table, loaded_config


def loaded(*words: str) -> LoadedConfig:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return loaded_config(parser.parse_args(words))


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KAWAL_CONFIG", "KAWAL_NUM_PARTITIONS"):
        monkeypatch.delenv(name, raising=False)


def test_flags_are_short_for_keys() -> None:
    result = loaded("--listen", "0.0.0.0:0", "--insecure", "--data", "/d", "--advertise", "me:9092")
    config = result.config
    assert (config.listeners, config.log_dirs) == (("0.0.0.0:0",), "/d")
    assert config.advertised_listeners == ("me:9092",)
    assert {result.source(name) for name in ("listeners", "log.dirs", "kawal.insecure")} == {
        "--listen",
        "--data",
        "--insecure",
    }


def test_the_http_address_has_a_flag() -> None:
    assert loaded("--http", "none").config.kawal_http_listen == "none"
    assert loaded("--http", "127.0.0.1:0").source("kawal.http.listen") == "--http"
    with pytest.raises(CommandError, match=r"--http: invalid value '0\.0\.0\.0:1' .*--insecure"):
        loaded("--http", "0.0.0.0:1")


def test_keys_are_set_one_by_one() -> None:
    config = loaded("--set", "num.partitions=8", "--set", "kawal.vnodes=3").config
    assert (config.num_partitions, config.kawal_vnodes) == (8, 3)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--set", "x"), "not KEY=VALUE"),
        (("--set", "num.partitons=1"), "did you mean 'num.partitions'"),
        (("--listen", "9092"), "--listen: invalid value '9092'"),
        (("--listen", "0.0.0.0:1"), "--insecure"),
        (("--config", "/no/such/file"), "cannot read the configuration file /no/such/file"),
    ],
)
def test_a_wrong_setting_ends_with_a_sentence(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        loaded(*words)


def test_the_file_may_be_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kawal.toml"
    path.write_text("num.partitions = 9")
    monkeypatch.setenv("KAWAL_CONFIG", str(path))
    assert loaded().config.num_partitions == 9
    monkeypatch.setenv("KAWAL_NUM_PARTITIONS", "10")
    assert loaded().config.num_partitions == 10


def test_the_listing_shows_value_and_source() -> None:
    result = loaded("--set", "num.partitions=8")
    rows = [line.split() for line in as_table(result).splitlines()]
    assert ["num.partitions", "8", "--set", "num.partitions"] in rows
    tree = json.loads(as_json(result))
    assert tree["num.partitions"] == {"value": "8", "source": "--set num.partitions"}
    assert tree["log.retention.ms"] == {"value": None, "source": "default"}


def test_the_number_of_workers_has_a_flag() -> None:
    assert loaded().config.kawal_workers == 1
    assert loaded("--workers", "3").config.kawal_workers == 3
    with pytest.raises(CommandError, match=r"--workers: invalid value '0' for 'kawal\.workers'"):
        loaded("--workers", "0")
