"""The sources of settings: a file, the environment, flags; which one wins, and how mistakes are reported."""

from pathlib import Path

import pytest

from broker.config.config_keys import ConfigError, ConfigProblem, Setting
from broker.config.config_sources import (
    ConfigFileError,
    LoadedConfig,
    file_settings,
    flag_setting,
    load,
    variable_of,
)
from broker.config.server_keys import KEYS


def loaded(
    path: Path | None = None, environment: dict[str, str] | None = None, flags: tuple[str, ...] = ()
) -> LoadedConfig:
    return load(
        file=str(path) if path else None,
        environment=environment or {},
        flags=[flag_setting(text) for text in flags],
    )


def written(folder: Path, text: str) -> Path:
    path = folder / "kawal.toml"
    path.write_text(text)
    return path


def test_without_settings_everything_is_default() -> None:
    assert loaded().source("num.partitions") == "default"
    assert {source for _, _, source in loaded().rows()} == {"default"}


def test_flags_win_over_the_environment_and_the_environment_over_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, '"num.partitions" = 2\n"node.id" = 2\n"kawal.vnodes" = 2\n')
    result = loaded(path, {"KAWAL_NODE_ID": "3", "KAWAL_VNODES": "3"}, ("kawal.vnodes=4",))
    config = result.config
    assert (config.num_partitions, config.node_id, config.kawal_vnodes) == (2, 3, 4)
    assert result.source("num.partitions") == f"{path}:1"
    assert result.source("node.id") == "environment variable KAWAL_NODE_ID"
    assert result.source("kawal.vnodes") == "--set kawal.vnodes"
    assert config.set_by_operator == {"num.partitions", "node.id", "kawal.vnodes"}


def test_keys_may_be_quoted_bare_or_under_a_table(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
# a comment = 1
num.partitions = 3
"max.connections" = 10
'max.connections.per.ip' = 5
[kawal]
flush . ms = 7
min.free.bytes = 0
[log.retention]
ms = 1_000
""",
    )
    settings = file_settings(str(path))
    assert [(setting.name, setting.raw, setting.source) for setting in settings] == [
        ("num.partitions", 3, f"{path}:3"),
        ("max.connections", 10, f"{path}:4"),
        ("max.connections.per.ip", 5, f"{path}:5"),
        ("kawal.flush.ms", 7, f"{path}:7"),
        ("kawal.min.free.bytes", 0, f"{path}:8"),
        ("log.retention.ms", 1000, f"{path}:10"),
    ]


def test_a_file_holds_typed_values_and_lists(tmp_path: Path) -> None:
    path = written(tmp_path, '[kawal]\ninsecure = true\n[log.cleanup]\npolicy = ["compact", "delete"]\n')
    config = loaded(path).config
    assert config.kawal_insecure
    assert config.log_cleanup_policy == ("compact", "delete")


def test_a_key_in_an_inline_table_is_told_with_the_file_alone(tmp_path: Path) -> None:
    path = written(tmp_path, "kawal = { vnodes = 300 }\n")
    with pytest.raises(ConfigError, match=rf"^{path}: invalid value 300 for 'kawal.vnodes'"):
        loaded(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("num.partition = 1", r"kawal.toml:1: 'num.partition' is not .* did you mean 'num.partitions'"),
        ("\nnum.partitions = 0", r"kawal.toml:2: invalid value 0 .*at least 1"),
        ('num.partitions = "many"', r"kawal.toml:1: invalid value 'many' .*type int"),
        ("num.partitions = 2024-01-01", r"kawal.toml:1: .*type int"),
        ("num.partitions = ", r"not a TOML file"),
        ("max.connections = 1\nmax.connections.per.ip = 1", r"not a TOML file.*in quotes"),
        ('num.partitions = 1\n"num.partitions" = 2', r"set twice"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigProblem, match=message):
        loaded(written(tmp_path, text))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigFileError, match=r"cannot read .*missing.toml: No such file"):
        loaded(tmp_path / "missing.toml")
    with pytest.raises(ConfigFileError, match="Is a directory"):
        loaded(tmp_path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigFileError, match="not a TOML file"):
        loaded(binary)


def test_every_key_has_its_own_variable() -> None:
    variables = {variable_of(name) for name in KEYS}
    assert len(variables) == len(KEYS)
    assert variable_of("num.partitions") == "KAWAL_NUM_PARTITIONS"
    assert variable_of("kawal.flush.ms") == "KAWAL_FLUSH_MS"


def test_a_variable_nobody_knows_is_told_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"environment: 'KAWAL_NUM_PARTITION' .*'KAWAL_NUM_PARTITIONS'"):
        loaded(environment={"KAWAL_NUM_PARTITION": "3"})


def test_a_bad_value_in_a_variable_is_told_with_the_variable() -> None:
    with pytest.raises(ConfigError, match=r"^environment variable KAWAL_VNODES: .*between 1 and 256"):
        loaded(environment={"KAWAL_VNODES": "0"})


@pytest.mark.parametrize(
    "variable",
    [
        "KAWAL_BOOTSTRAP",
        "KAWAL_CONFIG",
        "KAWAL_COMPAT_BROKER",
        "KAWAL_SERVICE_HOST",
        "KAWAL_SERVICE_PORT_KAFKA",
        "KAWAL_PORT",
        "KAWAL_PORT_9092_TCP_ADDR",
        "KAWAL_HEADLESS_SERVICE_PORT",
        "PATH",
    ],
)
def test_variables_of_others_are_left_alone(variable: str) -> None:
    assert loaded(environment={variable: "tcp://10.0.0.1:9092"}).sources == {}


@pytest.mark.parametrize("text", ["num.partitions", "=3", ""])
def test_a_flag_is_key_and_value(text: str) -> None:
    with pytest.raises(ConfigError, match="not KEY=VALUE"):
        flag_setting(text)
    assert flag_setting("a=b=c") == Setting("a", "b=c", "--set a")


def test_what_no_single_key_can_see_is_told_with_its_place() -> None:
    with pytest.raises(ConfigError, match=r"^--set listeners: .*0\.0\.0\.0:1"):
        loaded(flags=("listeners=0.0.0.0:1",))


def test_a_key_of_kafka_without_effect_is_a_warning() -> None:
    result = loaded(flags=("num.io.threads=8",))
    assert result.warnings == (
        "--set num.io.threads: 'num.io.threads' is a key of Kafka that has no effect in kawal",
    )
    assert result.sources == {}


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("num.io.threads=many", "type int"),
        ("broker.id=3", "called 'node.id' here"),
        ("log.dir=/x", "called 'log.dirs' here"),
        ("sasl.kerberos.kinit.cmd=x", "protects a Kafka broker but nothing here"),
        ("authorizer.class.name=org.Some", "must be one of"),
        ("ssl.provider=Some", "protects a Kafka broker"),
    ],
)
def test_a_key_of_kafka_that_would_mislead_is_refused(flag: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        loaded(flags=(flag,))


def test_the_rows_show_value_and_source_of_every_key() -> None:
    rows = {key.name: (value, source) for key, value, source in loaded(flags=("log.roll.ms=5",)).rows()}
    assert rows.keys() == KEYS.keys()
    assert rows["log.roll.ms"] == ("5", "--set log.roll.ms")
    assert rows["log.retention.ms"] == ("", "default")
    assert rows["kawal.insecure"] == ("false", "default")


def test_a_secret_is_not_taken_from_the_command_line() -> None:
    for name in ("ssl.key.password", "listener.name.ssl.ssl.keystore.key"):
        with pytest.raises(ConfigError, match="others can read command lines") as refused:
            loaded(flags=(f"{name}=canary",))
        assert "canary" not in str(refused.value)
    taken = loaded(environment={"KAWAL_SSL_KEY_PASSWORD": "canary"})
    assert taken.config.ssl_key_password == "canary"
    assert "canary" not in str([row[1:] for row in taken.rows()])
