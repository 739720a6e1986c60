"""Rounds of scripts that start each server anew for each part: options, and figures by name and server."""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.environment import REPOSITORY
from benchmarks.servers import SERVER_KINDS, Server, ServerKind, new_server

WORKING_DIRECTORY: Final = REPOSITORY / ".cache" / "benchmarks"

Figures = dict[str, float]
Found = dict[str, dict[str, list[float]]]
"""The figures of all rounds, by name and server."""


def options_of(
    module: str, text: str | None, words: Sequence[str] | None, *, parts: Iterable[str], servers: list[str]
) -> argparse.Namespace:
    """Return the options of a script; `servers` and all `parts` are the defaults."""
    parser = argparse.ArgumentParser(prog=module, description=text)
    parser.add_argument("--quick", action="store_true", help="one round, small: to try the script")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--servers", nargs="+", choices=SERVER_KINDS, default=servers)
    parser.add_argument("--only", nargs="+", choices=[*parts], default=[*parts])
    parser.add_argument("--json", type=Path, help="write all figures into this file")
    return parser.parse_args(words)


def in_rounds(options: argparse.Namespace, measure: Callable[[ServerKind, str, bool], Figures]) -> Found:
    """Measure each part of each server, in turns; write the figures where the options say."""
    found: Found = {}
    for _ in range(1 if options.quick else options.rounds):
        for part in options.only:
            for kind in options.servers:
                for name, figure in measure(kind, part, options.quick).items():
                    found.setdefault(name, {}).setdefault(kind, []).append(figure)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return found


def on_new_server(
    kind: ServerKind, work: Callable[[Server], Figures], settings: Mapping[str, str] | None = None
) -> Figures:
    """Start a server on an empty directory, do the work with it, and remove both."""
    WORKING_DIRECTORY.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(dir=WORKING_DIRECTORY))
    server = new_server(kind, directory / kind, settings)
    try:
        server.start()
        return work(server)
    finally:
        server.kill()
        shutil.rmtree(directory)
