"""Send the sequences to both brokers, live, and show what differs."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path
from random import SystemRandom

from compat_tests.broker import Broker
from compat_tests.differential.allow_list import ALLOWED
from compat_tests.differential.allow_list_nodes import ALLOWED_OF_NODES
from compat_tests.differential.allowed import explanation
from compat_tests.differential.compare import Difference, differences
from compat_tests.differential.courses import exchanges
from compat_tests.differential.plain import Plain
from compat_tests.differential.recorded import FOLDER, SEED, save
from compat_tests.differential.runner import run_steps
from compat_tests.differential.sequences import WILD_EACH, Sequence, names, sequence
from compat_tests.differential.settling import SETTINGS, warm_up
from compat_tests.differential.steps import Step
from compat_tests.kafka_broker import KafkaBroker
from compat_tests.kawal_broker import KawalBroker

STEP_WIDTH = 1500
"""The number of characters shown of a request."""


def main() -> int:
    """Run; return exit code 1 when a difference has no reason."""
    options = _options()
    wanted = [name for name in names() if re.search(options.only, name)]
    if options.record:
        return _record(wanted)
    print(f"seed {options.seed}", flush=True)
    chosen = [sequence(name, options.seed, options.each) for name in wanted]
    exchanged = _exchanges(chosen) if options.nodes == 1 else exchanges(chosen, options.nodes)
    allowed = ALLOWED if options.nodes == 1 else (*ALLOWED, *ALLOWED_OF_NODES)
    found = [difference for exchange in exchanged for difference in differences(*exchange)]
    unexplained = [difference for difference in found if explanation(difference, allowed) is None]
    _show(unexplained)
    print(
        f"{len(exchanged)} exchanges, {len(found)} differences, {len(unexplained)} of them without a reason"
    )
    return 1 if unexplained else 0


def _exchanges(chosen: list[Sequence]) -> list[tuple[Step, Plain, Plain]]:
    """Return each step with Kafka's answer and the gateway's, of one node each."""
    answers = {kind.kind: _answers(kind, chosen) for kind in (KawalBroker, KafkaBroker)}
    return [
        exchange
        for run in chosen
        for exchange in zip(run.steps, answers["kafka"][run.name], answers["kawal"][run.name], strict=True)
    ]


def _record(wanted: list[str]) -> int:
    """Record what Kafka answers to the sequences of the tests."""
    chosen = [sequence(name, SEED) for name in wanted]
    answers = _answers(KafkaBroker, chosen)
    for run in chosen:
        save(run, answers[run.name])
    print(f"recorded {sum(len(run.steps) for run in chosen)} answers of Kafka in {FOLDER}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m compat_tests.differential", description=__doc__)
    chance = SystemRandom().randrange(1_000_000)
    parser.add_argument(
        "--seed", type=int, default=chance, help="the seed of the requests; default: a new one every time"
    )
    parser.add_argument("--each", type=int, default=WILD_EACH, help="wild requests of each API and version")
    parser.add_argument(
        "--nodes", type=int, default=1, help="workers of the gateway, and brokers of Kafka's cluster"
    )
    parser.add_argument("--only", default="", metavar="PATTERN", help="sequences whose name matches")
    parser.add_argument("--record", action="store_true", help="ask Kafka alone and keep its answers")
    return parser.parse_args()


def _answers(kind: type[Broker], chosen: list[Sequence]) -> dict[str, list[Plain]]:
    with tempfile.TemporaryDirectory() as directory:
        broker = kind(Path(directory), SETTINGS[kind.kind])
        broker.start()
        try:
            warm_up(broker)
            return {run.name: run_steps(broker, run.prefix, run.steps) for run in chosen}
        finally:
            broker.stop()


def _show(found: list[Difference]) -> None:
    """Print like differences together, with the shortest request that has one."""
    groups: dict[tuple[str, ...], list[Difference]] = {}
    for difference in found:
        key = (
            difference.step.api.name,
            difference.path,
            str(difference.kafka)[:60],
            str(difference.kawal)[:60],
        )
        groups.setdefault(key, []).append(difference)
    for (api, path, kafka, kawal), alike in groups.items():
        versions = sorted({difference.step.version for difference in alike})
        print(f"{len(alike):5} {api} {path}: kafka {kafka}, kawal {kawal}; versions {versions}")
        shortest = min(alike, key=lambda difference: len(str(difference.step)))
        print(f"      {shortest.where} of {str(shortest.step)[:STEP_WIDTH]}")


if __name__ == "__main__":
    sys.exit(main())
