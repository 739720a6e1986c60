"""`kawal config`: show the effective configuration of a server, and explain its keys."""

from __future__ import annotations

import argparse

from broker.config.config_keys import ConfigError, Key, text_of
from broker.config.config_sources import variable_of
from broker.config.server_keys import SECTIONS
from console.errors import OK, UsageError
from console.help import Actions, describe
from console.help import dispatch as run
from console.server_flags import add_flags, as_json, as_table, loaded_config

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        "Show the configuration that a server started here would have, and explain the configuration keys.",
        [
            (
                "config show --config kawal.toml",
                "the effective configuration and where each value comes from",
            ),
            (
                "config explain log.retention.ms",
                "what a key means, its default, range and spelling elsewhere",
            ),
        ],
    )
    actions = Actions(parser)
    show = actions.add(
        "show",
        summary="print the effective configuration",
        description="""Print every key with its value and the place it was set: file and line, environment
            variable or flag.  The flags are those of 'kawal serve'; nothing is started.""",
        examples=[
            ("config show", "what 'kawal serve' would use here"),
            ("config show --config kawal.toml --json", "the same for a program"),
        ],
        run=_show,
    )
    add_flags(show)
    show.add_argument("--json", action="store_true", help="print one JSON object")
    explain = actions.add(
        "explain",
        summary="say what a key means",
        description="Explain one key, or list all of them with a sentence each.",
        examples=[
            ("config explain", "every key in a sentence"),
            ("config explain kawal.durability", "one key in full"),
        ],
        run=_explain,
    )
    explain.add_argument("key", nargs="?", metavar="KEY", help="a configuration key; all when left out")


def _show(arguments: argparse.Namespace) -> int:
    loaded = loaded_config(arguments)
    print(as_json(loaded) if arguments.json else as_table(loaded))
    return OK


def _explain(arguments: argparse.Namespace) -> int:
    if arguments.key is None:
        print("\n\n".join(_overview(title, keys) for title, keys in SECTIONS.items()))
        return OK
    from broker.config.config import key_of

    try:
        print(_in_full(key_of(arguments.key)))
    except ConfigError as error:
        raise UsageError(str(error)) from error
    return OK


def _overview(title: str, keys: tuple[Key, ...]) -> str:
    return "\n".join([title, *(f"  {key.name}\n      {key.doc}" for key in keys)])


def _in_full(key: Key) -> str:
    facts = {
        "type": key.type.text + (f", in {key.unit}" if key.unit else ""),
        "default": text_of(key.default) or "(not set)",
        "range": key.range_text() or "any",
        "changed": "on a running server, too" if key.dynamic else "at start only",
        "in Kafka": key.kafka_name or "nothing like it",
        "variable": variable_of(key.name),
        "in a file": f'"{key.name}" = …',
    }
    return "\n".join(
        [key.name, f"  {key.doc}", "", *(f"  {name:<10} {fact}" for name, fact in facts.items())]
    )
