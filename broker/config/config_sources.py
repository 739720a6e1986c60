"""The sources of the server's configuration: file < environment < flags; each value keeps its place.

- TOML file: keys in quotes (`"num.partitions" = 8`), bare (`num.partitions = 8`) or under tables
  (`[kawal]`, then `vnodes = 4`).  Quotes are needed where one key continues another
  (`max.connections.per.ip`).
- A file whose name ends with `.properties` is Kafka's: broker/config/server_properties.py.
- Environment: `KAWAL_` and the key in capitals with `_` for `.`; `kawal.` is not repeated:
  `KAWAL_NUM_PARTITIONS=8`, `KAWAL_DURABILITY=os`.
- Flags: `--set KEY=VALUE`, and the short forms of `kawal serve`.

An unknown name is an error that names the nearest known one, so that no typing error goes unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from broker.config.config import Config, config_of, key_of
from broker.config.config_keys import ConfigError, ConfigProblem, Key, Setting, nearest, text_of
from broker.config.listener_keys import is_listener_key
from broker.config.server_keys import KEYS

PROPERTIES = ".properties"
"""The end of the names of files that are Kafka's."""

DEFAULT = "default"
"""The source of a value that was not set."""

_CLIENT_VARIABLES = frozenset(
    {"KAWAL_BOOTSTRAP", "KAWAL_CONFIG", "KAWAL_EXECUTABLE", "KAWAL_HTTP", "KAWAL_SPARK_JARS"}
)
"""Variables of the command line and of test tools, which are not keys of the server."""
_FOREIGN_VARIABLE = re.compile(r"KAWAL_(COMPAT|TEST|BENCH)_|_SERVICE_(HOST|PORT)(_|$)|_PORT(_\d+_[A-Z]+.*)?$")
"""Variables left alone: those of the test programs, and those that Kubernetes adds to every container when a
service is called `kawal` (KAWAL_SERVICE_HOST, KAWAL_PORT=tcp://…, KAWAL_PORT_9092_TCP_ADDR)."""


class ConfigFileError(ConfigProblem):
    """A configuration file that cannot be read or is not TOML."""


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The effective configuration with the source of each value that is not a default."""

    config: Config
    sources: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    """Sentences about settings that are known but have no effect here."""

    def source(self, name: str) -> str:
        """Return where the value of the key `name` comes from."""
        return self.sources.get(name, DEFAULT)

    def rows(self) -> Iterator[tuple[Key, str, str]]:
        """Yield every key with its value as text ("" when not set) and its source, in order."""
        own = {name: key_of(name) for name in sorted(self.config.listener_overrides)}
        for name, key in (KEYS | own).items():
            shown = "(hidden)" if key.sensitive else text_of(self.config.value(name))
            yield key, shown or "", self.source(name)


def load(
    *, file: str | None = None, environment: Mapping[str, str], flags: Sequence[Setting] = ()
) -> LoadedConfig:
    """Return the effective configuration.  Raises: ConfigProblem, with the place of the setting at fault."""
    settings, warnings = _of_file(file, environment) if file else ([], [])
    settings += [*environment_settings(environment), *flags]
    values: dict[str, object] = {}
    sources: dict[str, str] = {}
    for setting in settings:
        try:
            _refuse_on_command_line(setting)
            if (
                setting.name not in KEYS
                and not is_listener_key(setting.name)
                and (warning := _kafka_warning(setting))
            ):
                warnings.append(warning)
                continue
            values[setting.name] = key_of(setting.name).parse(setting.raw)
        except ConfigError as error:
            raise error.at(setting.source) from None
        sources[setting.name] = setting.source
    try:
        config = config_of(values)
        if file and file.endswith(PROPERTIES):
            from broker.config.server_properties import check_mechanisms

            check_mechanisms(config, file)
    except ConfigError as error:
        raise error.at(sources.get(error.name, error.source)) from None
    return LoadedConfig(config, sources, tuple(warnings))


def _of_file(path: str, environment: Mapping[str, str]) -> tuple[list[Setting], list[str]]:
    """Return the settings of a file of either kind, and warnings.  Raises: ConfigProblem."""
    if not path.endswith(PROPERTIES):
        return file_settings(path), []
    from broker.config.server_properties import server_properties

    settings, warnings = server_properties(path, environment)
    return settings, warnings


def _refuse_on_command_line(setting: Setting) -> None:
    """Refuse a secret that others could read in the list of processes.  Raises: ConfigError."""
    known = setting.name in KEYS or is_listener_key(setting.name)
    if setting.source.startswith("--set ") and known and key_of(setting.name).sensitive:
        raise ConfigError(
            setting.name,
            None,
            "is a secret, and others can read command lines; set it in the file or the environment",
        )


def _kafka_warning(setting: Setting) -> str | None:
    """Return a warning about a key that only Kafka has; None when Kafka does not have it either.

    Raises: ConfigError for one that protects a Kafka broker, for one that goes by another name here, and for
    a value of the wrong type.
    """
    from broker.config.kafka_keys import (  # only settings made for Kafka need them
        INSTEAD,
        KAFKA_KEYS,
        PROTECTIVE,
    )

    key = KAFKA_KEYS.get(setting.name)
    if key is None:
        return None
    if key.name in INSTEAD:
        raise ConfigError(key.name, None, f"is called {INSTEAD[key.name]!r} here")
    if key.name.startswith(PROTECTIVE):
        raise ConfigError(
            key.name,
            None,
            "protects a Kafka broker but nothing here; remove it, and keep other machines out by listening "
            "on 127.0.0.1",
        )
    key.parse(setting.raw)
    return f"{setting.source}: {key.name!r} is a key of Kafka that has no effect in kawal"


def file_settings(path: str) -> list[Setting]:
    """Return the settings of the TOML file `path`.  Raises: ConfigFileError."""
    import tomllib  # most servers start without a file

    try:
        with open(path, "rb") as stream:
            text = stream.read().decode()
        tree = tomllib.loads(text)
    except OSError as error:
        raise ConfigFileError(f"cannot read the configuration file {path}: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        advice = '; write keys in quotes where one continues another: "max.connections.per.ip" = 10'
        raise ConfigFileError(f"{path} is not a TOML file: {error}{advice}") from error
    lines = _lines_of_keys(text)
    found: dict[str, Setting] = {}
    for name, raw in _flattened(tree, ""):
        where = f"{path}:{lines[name]}" if name in lines else path
        if name in found:
            raise ConfigFileError(f"{where}: {name!r} is set twice; the first time at {found[name].source}")
        found[name] = Setting(name, raw, where)
    return list(found.values())


def environment_settings(environment: Mapping[str, str]) -> list[Setting]:
    """Return the settings among the variables called `KAWAL_…`.  Raises: ConfigError for an unknown one."""
    known = {variable_of(name): name for name in KEYS}
    found = []
    for variable, value in sorted(environment.items()):
        if not variable.startswith("KAWAL_") or variable in _CLIENT_VARIABLES:
            continue
        name = known.get(variable)
        if name is not None:
            found.append(Setting(name, value, f"environment variable {variable}"))
        elif not _FOREIGN_VARIABLE.search(variable):
            like = nearest(variable, [candidate.lower().replace("_", ".") for candidate in known])
            hint = like.upper().replace(".", "_")
            raise ConfigError(
                variable, None, "is not a variable of the configuration", nearest=hint, source="environment"
            )
    return found


def variable_of(name: str) -> str:
    """Return the environment variable of the key `name`."""
    return "KAWAL_" + name.removeprefix("kawal.").replace(".", "_").upper()


def flag_setting(text: str) -> Setting:
    """Read `KEY=VALUE` of `--set`.  Raises: ConfigError."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ConfigError(text, None, "is not KEY=VALUE; for example --set num.partitions=8", source="--set")
    return Setting(name.strip(), value, f"--set {name.strip()}")


def _flattened(tree: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for part, value in tree.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{prefix}{part}.")
        else:
            yield f"{prefix}{part}", value


def _lines_of_keys(text: str) -> dict[str, int]:
    """Return the line of each key, from 1, which tomllib does not report; keys in inline tables have none."""
    lines: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[([^\[\]]+)\]", line)
        if header:
            table = _plain(header[1]) + "."
            continue
        assignment = re.match(r"""\s*((?:"[^"]*"|'[^']*'|[\w\s.-])+?)\s*=""", line)
        if assignment:
            lines.setdefault(table + _plain(assignment[1]), number)
    return lines


def _plain(key: str) -> str:
    """Return a TOML key without quotes and blanks."""
    return re.sub(r"[\s\"']", "", key)
