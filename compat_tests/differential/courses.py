"""A sequence on several nodes: first the gateway, which chooses where partitions lie, then Kafka likewise."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from collections.abc import Sequence as Many
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from compat_tests.broker import Broker
from compat_tests.differential.clusters import Leaders, kafka_nodes, kawal_nodes
from compat_tests.differential.fitting import fitted, made_before, placed
from compat_tests.differential.plain import Plain
from compat_tests.differential.routing import Router
from compat_tests.differential.runner import Runner
from compat_tests.differential.sequences import Sequence
from compat_tests.differential.steps import Step


@dataclass
class Course:
    """The steps of a sequence as they were sent, each to its node, and what came back.

    `made` has for each step the nodes of the partitions that it made, by topic.
    """

    steps: list[Step] = field(default_factory=list)
    answers: list[Plain] = field(default_factory=list)
    made: list[Leaders] = field(default_factory=list)


def exchanges(chosen: Iterable[Sequence], count: int) -> list[tuple[Step, Plain, Plain]]:
    """Send sequences to clusters of so many nodes; return each step with Kafka's answer and the gateway's."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        nodes, internal = stack.enter_context(kawal_nodes(Path(directory) / "kawal", count))
        sequences = list(chosen)
        courses = [kawal_course(nodes, internal, sequence) for sequence in sequences]
        stack.close()
        with kafka_nodes(Path(directory) / "kafka", count, internal) as brokers:
            found = []
            for sequence, course in zip(sequences, courses, strict=True):
                answers = kafka_answers(brokers, sequence.prefix, course)
                found += list(zip(course.steps, answers, course.answers, strict=True))
            return found


def kawal_course(nodes: Many[Broker], internal: Leaders, sequence: Sequence) -> Course:
    """Send a sequence to a gateway: each step to the nodes that it is for."""
    runner = Runner(nodes, sequence.prefix)
    settler = runner.settler
    router = Router(len(nodes), internal, settler.leaders, runner.names, Random(f"nodes {sequence.prefix}"))
    course = Course()
    try:
        for step in sequence.steps:
            fitting = fitted(step, router, len(nodes))
            for node in router.nodes(fitting):
                before = {name: len(led) for name, led in settler.leaders.items()}
                sent = replace(fitting, node=node)
                course.answers.append(runner.run(sent))
                course.steps.append(sent)
                added = {name: led[before.get(name, 0) :] for name, led in settler.leaders.items()}
                course.made.append({name: led for name, led in added.items() if led})
    finally:
        runner.close()
    return course


def kafka_answers(nodes: Many[Broker], prefix: str, course: Course) -> list[Plain]:
    """Send to Kafka what the gateway got, and put partitions where the gateway has them."""
    runner = Runner(nodes, prefix)
    answers = []
    try:
        for step, made in zip(course.steps, course.made, strict=True):
            if (before := made_before(step, made)) is not None:
                runner.run(before)
            answers.append(runner.run(placed(step, made)))
    finally:
        runner.close()
    return answers
