"""`kawal doctor`: look for what would keep a server from starting, or from keeping what it acknowledges."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from broker.config.config import Config
from console.doctor.audit import check_audit
from console.doctor.copies import check_copies
from console.doctor.databases import check_databases
from console.doctor.durability import PUT_PRICE, check_durability, check_store
from console.doctor.facts import Facts
from console.doctor.finding import Finding, as_text, as_tree, worst
from console.doctor.machine import check_clock, check_limits, check_memory, check_versions
from console.doctor.orphans import check_orphans
from console.doctor.ports import check_certificates, check_http, check_listeners
from console.doctor.storage import check_directory, check_disk, check_space
from console.errors import FAILED, OK
from console.health import ask_health
from console.help import describe
from console.server_flags import add_flags, loaded_config


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Check the machine, the data directory, the disk and the addresses for what would keep a server from
        starting, or from keeping what it acknowledges, and say what to do.  Nothing is changed; a small file
        is written, synced and removed to measure the disk, and with kawal.remote.store small objects to try
        and measure the store.  A server may be running meanwhile; of durability 'remote' it is told what its
        requests cost.  With kawal.cluster.nodes the copies of all nodes in the store are told of.

        It takes the flags of 'kawal serve' and checks what that would use.  It ends with 1 when there is a
        problem, with 0 when there are only warnings.""",
        [
            ("doctor", "before the first start, or when something is odd"),
            ("doctor --data /var/lib/kawal --config /etc/kawal.toml", "as the server is started"),
            ("doctor --config /etc/kawal.toml --put-price 0.0054", "with the price of your object store"),
            ("doctor --json", "for a program"),
        ],
    )
    add_flags(parser)
    parser.add_argument(
        "--put-price",
        metavar="N",
        type=float,
        default=PUT_PRICE,
        help=f"price of 1,000 requests to the object store ({PUT_PRICE:g}, an example)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Run the checks.  Raises: CommandError when the configuration cannot be used."""
    store = partial(check_store, price=arguments.put_price)
    findings = list(findings_of(arguments, Facts(), check_disk, store))
    print(json.dumps(as_tree(findings), indent=2) if arguments.json else as_text(findings))
    return FAILED if worst(findings) == "problem" else OK


Check = Callable[[Facts, Config], Iterable[Finding]]


def findings_of(
    arguments: argparse.Namespace, facts: Facts, check_disk: Check, check_store: Check
) -> Iterator[Finding]:
    """Yield all findings, from the ground up.

    `check_disk` and `check_store` measure disk and object store, and are the only ones that write.

    Raises: CommandError when the configuration cannot be used.
    """
    from wal.disk import OsDisk

    loaded = loaded_config(arguments)
    config = loaded.config
    yield from check_versions(facts)
    for text in loaded.warnings:
        yield Finding("configuration", "warning", text, "remove it")
    yield from check_memory(facts, config)
    yield from check_limits(facts, config)
    yield from check_clock(facts)
    yield from check_directory(facts, OsDisk(), config)
    yield from check_orphans(OsDisk(), config)
    yield from check_databases(OsDisk(), config, cores=facts.cores)
    yield from check_durability(OsDisk(), config)
    yield from check_space(facts, config)
    yield from check_disk(facts, config)
    yield from check_store(facts, config)
    yield from check_copies(facts, config)
    yield from check_listeners(facts, config, ask_health)
    yield from check_certificates(facts, config)
    yield from check_http(facts, config)
    yield from check_audit(facts, config)
