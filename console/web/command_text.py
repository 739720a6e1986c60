"""The text of `kawal` commands that do the same as a page, to be copied into a shell.

Names come from clients and may be anything, also begin with `-`, which a command line takes for an option:
such a value is joined to its option by `=`, and such a name stands behind `--`, which ends the options.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping


def command(bootstrap: str, verb: str, *names: str, options: str = "") -> str:
    """Return `kawal VERB NAMES OPTIONS --bootstrap ADDRESS`; `option` writes options that have values."""
    words = " ".join(map(shlex.quote, names))
    named = option("bootstrap", bootstrap)
    if any(name.startswith("-") for name in names):
        parts = ["kawal", verb, options, named, "--", words]
    else:
        parts = ["kawal", verb, words, options, named]
    return " ".join(filter(None, parts))


def option(name: str, value: str) -> str:
    """Return `--NAME VALUE`."""
    return f"--{name}{'=' if value.startswith('-') else ' '}{shlex.quote(value)}"


def config_options(configs: Mapping[str, str]) -> str:
    """Return an option for each setting."""
    return " ".join(option("config", f"{key}={value}") for key, value in configs.items())
