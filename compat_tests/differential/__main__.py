"""Run the sequences against both brokers and show what differs."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from random import Random

from broker.handlers import APIS
from compat_tests.differential.allowed import reason_for
from compat_tests.differential.compare import Difference, differences
from compat_tests.differential.runner import run_steps
from compat_tests.differential.settling import warm_up
from compat_tests.differential.steps import Step
from compat_tests.differential.wild import wild_step
from compat_tests.differential.world import World
from compat_tests.kafka_broker import KafkaBroker
from compat_tests.kawal_broker import KawalBroker
from protocol.api_keys import ApiKey


def wild(seed: int, api: ApiKey, each: int) -> list[Step]:
    world = World(f"w{seed}-{api.name.lower().replace('_', '-')}", Random(f"{seed} {api.name}"))
    served = APIS[api]
    steps = [*world.create(), *world.fill()]
    for version in range(served.minimum, served.maximum + 1):
        steps += [wild_step(api, version, world) for _ in range(each)]
    return steps


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--api", nargs="*", default=[])
    parser.add_argument("--width", type=int, default=500)
    args = parser.parse_args()
    sequences = {
        api.key: wild(args.seed, ApiKey(api.key), args.each)
        for api in APIS.values()
        if not args.api or ApiKey(api.key).name in args.api
    }
    with tempfile.TemporaryDirectory() as directory:
        answers = {}
        for kind in (KawalBroker, KafkaBroker):
            broker = kind(Path(directory) / kind.kind, {})
            broker.start()
            try:
                warm_up(broker)
                answers[kind.kind] = {
                    key: run_steps(
                        broker, f"w{args.seed}-{ApiKey(key).name.lower().replace('_', '-')}", steps
                    )
                    for key, steps in sequences.items()
                }
            finally:
                broker.stop()
    count = 0
    groups: dict[tuple[str, ...], list[Difference]] = {}
    for key, steps in sequences.items():
        for step, kafka, kawal in zip(steps, answers["kafka"][key], answers["kawal"][key], strict=True):
            count += 1
            for one in differences(step, kafka, kawal):
                if reason_for(one) is None:
                    signature = (step.api.name, one.path, str(one.kafka)[:60], str(one.kawal)[:60])
                    groups.setdefault(signature, []).append(one)
    for (api, path, a, b), found in groups.items():
        versions = sorted({one.step.version for one in found})
        print(f"{len(found):4} {api} {path}: kafka {a}, kawal {b}  v{versions}")
        best = min(found, key=lambda one: len(str(one.step)))
        print(f"        {best.where} of {str(best.step)[: args.width]}")
    print(count, "exchanges", file=sys.stderr)


if __name__ == "__main__":
    main()
