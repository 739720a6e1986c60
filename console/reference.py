"""The writer of docs/configuration.md and docs/cli.md: `python -m console.reference`.

A test compares the files with what this module makes, so the documentation cannot fall behind.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

from broker.config.config_keys import Key, text_of
from broker.config.config_reload import can_reload
from broker.config.kafka_keys import KAFKA_KEYS, PROTECTIVE
from broker.config.kawal_topic_keys import KAWAL_TOPIC_KEYS
from broker.config.server_keys import SECTIONS
from broker.config.topic_keys import TOPIC_KEYS
from console.cli import COMMANDS, command_module, parser_of

GENERATED = "<!-- Made by `python -m console.reference`; change the code, not this file. -->\n"

CONFIGURATION_INTRODUCTION = """
# Configuration

A server's settings come from four places; later ones win:

1. the built-in default,
2. a file (`kawal serve --config FILE`, or the variable `KAWAL_CONFIG`): TOML, or Kafka's own if its name
   ends with `.properties`,
3. the environment: `KAWAL_` and the key in capitals with `_` for `.`, a leading `kawal.` left out
   (`KAWAL_NUM_PARTITIONS=8`, `KAWAL_DURABILITY=os`),
4. flags: `--set KEY=VALUE`, and the short forms `--listen`, `--data`, `--http`, `--advertise`, `--insecure`.

`kawal config show` prints the values in effect and where each comes from, `kawal config explain KEY` what
a key means. A key that does not exist is an error that names the nearest one that does; a value out of
range is an error that names the range; both name the file and line, the variable or the flag.

```toml
# kawal.toml
"num.partitions" = 8
log.retention.ms = 86_400_000
listeners = ["127.0.0.1:9092", "[::1]:9092"]

[kawal]
durability = "disk"
tail.cache.bytes = 134_217_728
```

Quotes around a key are needed where one key continues another, as with `max.connections` and
`max.connections.per.ip`.

Keys that Kafka has carry Kafka's name and meaning; ours begin with `kawal.`, and *in Kafka* names Kafka's
nearest key to them. A key with "running" in the column *changed* can be changed on a running server, for
this node or for all of them; the change takes effect at once and survives a restart: `kawal configs alter
broker --set message.max.bytes=5000000`, kafka-configs, or any client's AlterConfigs.

**Reload.** On SIGHUP (`systemctl reload kawal`) a server with a configuration file reads it again, with the
same environment and flags. Keys with "running" or "reload" take effect at once: limits of a connection for
those that connect afterwards, intervals from the next pass on. What clients have set stands over the file, as
before. Keys with "start" keep their values until a restart; the log names them once, with old and new value,
as it names every change. A file with an error changes nothing at all, and the log names file, line and key.

**Kafka's `server.properties`** is read as Kafka reads it: `kawal serve --config server.properties`.

- Escapes, `\\uXXXX`, lines that go on after a backslash, PEM as text, login modules, and the class names of
  Kafka's authorizer, principal builder and login handlers mean what they mean there. Of two lines with one
  key the second counts, and the log names both.
- `${env:NAME}`, `${file:/PATH:KEY}` and `${dir:/FOLDER:FILE}` refer to values elsewhere, by Kafka's three
  classes in `config.providers`, with `allowlist.pattern` and `allowed.paths`. One that leads to nothing
  ends the start.
- The listeners of controllers are left out. Other keys without an effect here (KRaft, replication, threads,
  connections among brokers, keys of others' plugins) are named in one line of the log. One node has one copy
  of every partition: `default.replication.factor` is among them.
- A key that protects a Kafka broker, and that does not say what is done here in any case, ends the start with
  file, line and cure: another authorizer, principal builder or class of any kind, a policy, a JKS or
  PKCS12 store. So does an unknown key that begins like one of security or resembles one.
- Where Kafka's defaults differ, ours count ([below](#topics)), except that a listener with SASL needs
  `sasl.enabled.mechanisms`: Kafka's GSSAPI is not served. `listeners` without a host (`PLAINTEXT://:9092`) is
  every interface, which needs logins, or `--insecure`.
- `log.dirs` names one directory, and not one of Kafka's: records are not carried over.
"""

TOPIC_INTRODUCTION = """
## Topic configurations

Set them when a topic is created (`kawal topics create orders --config retention.ms=86400000`, or with any
Kafka client). All of Apache Kafka 4.3's topic configurations are known, with Kafka's types, defaults and
ranges; a topic without a value of its own takes the server's under *server key*. Keys that have nothing
to act on here are accepted and shown, and say so. An unknown name is refused with INVALID_CONFIG, naming
the nearest one.
"""

KAWAL_TOPIC_INTRODUCTION = """
### Topic configurations that Kafka does not have

They place a topic, make it a view of another ([views.md](views.md)) or say how views read it. DescribeConfigs
lists them where they are set.

"""

KAFKA_INTRODUCTION = """
## Kafka's broker configurations without effect

These keys of Apache Kafka 4.3 are known, so that a configuration carried over is not mistaken for a typing
error: setting one prints a warning and changes nothing. DescribeConfigs lists them with Kafka's defaults.
Those that would protect a Kafka broker are refused instead, because a server that ignored them would be
less safe than its owner believes; they begin with
"""


SERVER_HEADINGS = ("key", "type", "default", "range", "unit", "changed", "in Kafka", "meaning")
TOPIC_HEADINGS = ("key", "type", "default", "range", "unit", "server key", "meaning")


def configuration() -> str:
    """Return docs/configuration.md."""
    parts = [GENERATED, CONFIGURATION_INTRODUCTION]
    for title, keys in SECTIONS.items():
        parts.append(f"\n## {title}\n")
        parts.append(_table(SERVER_HEADINGS, map(_server_row, keys)))
    parts.append(TOPIC_INTRODUCTION)
    rows = (_topic_row(key) for key in TOPIC_KEYS.values())
    parts.append(_table(TOPIC_HEADINGS, rows))
    parts.append(KAWAL_TOPIC_INTRODUCTION)
    parts.append(_table(TOPIC_HEADINGS, (_topic_row(key) for key in KAWAL_TOPIC_KEYS.values())))
    parts.append(KAFKA_INTRODUCTION + ", ".join(f"`{name}`" for name in PROTECTIVE) + ".\n")
    harmless = (f"`{name}`" for name in KAFKA_KEYS if not name.startswith(PROTECTIVE))
    parts.append("\n" + ",\n".join(_filled(harmless)) + ".\n")
    return "".join(parts).replace("-->\n\n#", "-->\n#")


def _server_row(key: Key) -> tuple[str, ...]:
    changed = "running" if key.dynamic else "reload" if can_reload(key) else "start"
    kafka = "the same" if key.kafka_name == key.name else f"`{key.kafka_name}`" if key.kafka_name else "-"
    return (f"`{key.name}`", key.type.text, _default(key), _range(key), key.unit, changed, kafka, key.doc)


def _topic_row(key: Key) -> tuple[str, ...]:
    server = ", ".join(f"`{name}`" for name in key.synonyms)
    return (f"`{key.name}`", key.type.text, _default(key), _range(key), key.unit, server, key.doc)


def _default(key: Key) -> str:
    text = text_of(key.default)
    return f"`{text}`" if text else "(not set)" if text is None else "(empty)"


def _range(key: Key) -> str:
    return key.range_text() or "any"


def _table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [headings, ("---",) * len(headings), *rows]
    return "\n" + "".join(
        f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines
    )


def _filled(words: Iterable[str]) -> Iterator[str]:
    line = ""
    for word in words:
        if len(line) + len(word) > 110:
            yield line
            line = ""
        line += f"{', ' if line else ''}{word}"
    yield line


CLI_INTRODUCTION = """
# The command line

`kawal COMMAND --help` shows the same on a terminal. Client commands talk to `--bootstrap HOST:PORT` (by
default the variable `KAWAL_BOOTSTRAP`, else that of the profile in use, else 127.0.0.1:9092) and work with
any Kafka broker; TLS and logins come from `--command-config` or the profile
([security.md](security.md#the-command-line-as-a-client)). Results go to standard output, everything else to
standard error.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | could not be done; one sentence on standard error says why |
| 2 | an argument cannot be used |
| 130 | stopped by Ctrl-C |
"""


def command_line() -> str:
    """Return docs/cli.md."""
    parts = [GENERATED, CLI_INTRODUCTION]
    for name in COMMANDS:
        parser = parser_of(name, command_module(name))
        parts.append(f"\n## kawal {name}\n")
        parts.append(_command(parser))
        for action_name, action in actions_of(parser).items():
            parts.append(f"\n### kawal {name} {action_name}\n")
            parts.append(_command(action))
    return "".join(parts).replace("-->\n\n#", "-->\n#")


def actions_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the actions of a command by name, {} for a command without actions."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _command(parser: argparse.ArgumentParser) -> str:
    examples = (parser.epilog or "").removeprefix("examples:\n")
    rows = [(_spelling(action), _help(action)) for action in arguments_of(parser)]
    table = _table(("argument", "meaning"), rows) if rows else ""
    return f"\n{parser.description}\n\n```\n{examples}\n```\n{table}"


def arguments_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments of a parser, without --help and the choice of an action."""
    left_out = (argparse._HelpAction, argparse._SubParsersAction)
    return [action for action in parser._actions if not isinstance(action, left_out)]


def _spelling(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar}`" + ("…" if action.nargs in ("*", "+") else "")
    value = ""
    if action.nargs != 0:
        value = " " + ("|".join(action.choices) if action.choices else str(action.metavar))
    return ", ".join(f"`{option}{value}`" for option in action.option_strings)


def _help(action: argparse.Action) -> str:
    return (action.help or "").replace("%%", "%")


def main() -> None:
    """Write both files."""
    folder = Path(__file__).parent.parent / "docs"
    (folder / "configuration.md").write_text(configuration())
    (folder / "cli.md").write_text(command_line())


if __name__ == "__main__":
    main()
