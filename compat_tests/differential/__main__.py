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
from compat_tests.differential.allowed import explanation
from compat_tests.differential.compare import Difference, differences
from compat_tests.differential.plain import Plain
from compat_tests.differential.recorded import FOLDER, SEED, save
from compat_tests.differential.runner import run_steps
from compat_tests.differential.sequences import WILD_EACH, Sequence, names, sequence
from compat_tests.differential.settling import SETTINGS, warm_up
from compat_tests.kafka_broker import KafkaBroker
from compat_tests.kawal_broker import KawalBroker

STEP_WIDTH = 1500
"""How much of a request is shown."""


def main() -> int:
    """Run; the exit code is 1 when a difference has no reason."""
    options = _options()
    wanted = [name for name in names() if re.search(options.only, name)]
    if options.record:
        return _record(wanted)
    print(f"seed {options.seed}", flush=True)
    chosen = [sequence(name, options.seed, options.each) for name in wanted]
    answers = {kind.kind: _answers(kind, chosen) for kind in (KawalBroker, KafkaBroker)}
    found: list[Difference] = []
    count = 0
    for one in chosen:
        pairs = zip(one.steps, answers["kafka"][one.name], answers["kawal"][one.name], strict=True)
        for step, kafka, kawal in pairs:
            count += 1
            found += differences(step, kafka, kawal)
    unexplained = [one for one in found if explanation(one, ALLOWED) is None]
    _show(unexplained)
    print(f"{count} exchanges, {len(found)} differences, {len(unexplained)} of them without a reason")
    return 1 if unexplained else 0


def _record(wanted: list[str]) -> int:
    """Keep what Kafka answers to the sequences of the tests."""
    chosen = [sequence(name, SEED) for name in wanted]
    answers = _answers(KafkaBroker, chosen)
    for one in chosen:
        save(one, answers[one.name])
    print(f"recorded {sum(len(one.steps) for one in chosen)} answers of Kafka in {FOLDER}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m compat_tests.differential", description=__doc__)
    chance = SystemRandom().randrange(1_000_000)
    parser.add_argument("--seed", type=int, default=chance, help="which requests; default: others every time")
    parser.add_argument("--each", type=int, default=WILD_EACH, help="wild requests of each API and version")
    parser.add_argument("--only", default="", metavar="PATTERN", help="sequences whose name matches")
    parser.add_argument("--record", action="store_true", help="ask Kafka alone and keep its answers")
    return parser.parse_args()


def _answers(kind: type[Broker], chosen: list[Sequence]) -> dict[str, list[Plain]]:
    with tempfile.TemporaryDirectory() as directory:
        broker = kind(Path(directory), SETTINGS[kind.kind])
        broker.start()
        try:
            warm_up(broker)
            return {one.name: run_steps(broker, one.prefix, one.steps) for one in chosen}
        finally:
            broker.stop()


def _show(found: list[Difference]) -> None:
    """Print like differences together, with the shortest request that has one."""
    groups: dict[tuple[str, ...], list[Difference]] = {}
    for one in found:
        key = one.step.api.name, one.path, str(one.kafka)[:60], str(one.kawal)[:60]
        groups.setdefault(key, []).append(one)
    for (api, path, kafka, kawal), alike in groups.items():
        versions = sorted({one.step.version for one in alike})
        print(f"{len(alike):5} {api} {path}: kafka {kafka}, kawal {kawal}; versions {versions}")
        shortest = min(alike, key=lambda one: len(str(one.step)))
        print(f"      {shortest.where} of {str(shortest.step)[:STEP_WIDTH]}")


if __name__ == "__main__":
    sys.exit(main())
