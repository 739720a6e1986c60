"""The broker under test answers what Apache Kafka 4.3.1 answered to the same requests, or what is allowed.

Run against Kafka itself, this says that its answers do not change from run to run.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat_tests.broker import Broker, Kind
from compat_tests.differential.allow_list import ALLOWED
from compat_tests.differential.allowed import explanation
from compat_tests.differential.compare import Difference, differences
from compat_tests.differential.mutants import mutants
from compat_tests.differential.recorded import FOLDER, SEED, load, path
from compat_tests.differential.runner import run_steps
from compat_tests.differential.sequences import names, sequence
from compat_tests.differential.settling import SETTINGS, warm_up
from compat_tests.kafka_broker import KafkaBroker
from compat_tests.kawal_broker import KawalBroker

SHOWN = 20

MUTATED_EVERY = 4
"""One answer in this many is mutated: all would take four times as long, and say the same."""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory, broker_kind: Kind) -> Iterator[Broker]:
    """Start a broker that no other test has changed."""
    kind = KawalBroker if broker_kind == "kawal" else KafkaBroker
    own = kind(tmp_path_factory.mktemp("differential"), SETTINGS[broker_kind])
    own.start()
    warm_up(own)
    yield own
    own.stop()


@pytest.fixture(scope="module")
def found() -> dict[str, list[Difference]]:
    """Return the differences of the sequences run so far."""
    return {}


@pytest.mark.parametrize("name", names())
def test_answers_are_kafkas(
    fresh: Broker, broker_kind: Kind, found: dict[str, list[Difference]], name: str
) -> None:
    chosen = sequence(name, SEED)
    answers = zip(chosen.steps, load(chosen), run_steps(fresh, chosen.prefix, chosen.steps), strict=True)
    found[name] = [
        difference for step, kafka, ours in answers for difference in differences(step, kafka, ours)
    ]
    allowed = ALLOWED if broker_kind == "kawal" else ()
    wrong = [str(difference) for difference in found[name] if explanation(difference, allowed) is None]
    assert not wrong, f"{len(wrong)} differences from Kafka:\n" + "\n".join(wrong[:SHOWN])


@pytest.mark.only_kawal("Kafka logs an error for much that it answers with UNKNOWN_SERVER_ERROR")
def test_no_request_was_an_error_of_the_server(fresh: Broker) -> None:
    assert " ERROR " not in fresh.process.output()


@pytest.mark.only_kawal("the list is about the gateway")
def test_every_allowed_difference_still_occurs(found: dict[str, list[Difference]]) -> None:
    if set(found) != set(names()):
        pytest.fail("run the whole file: the list is compared with all sequences")
    used = {id(explanation(difference, ALLOWED)) for differing in found.values() for difference in differing}
    idle = [entry.what for entry in ALLOWED if id(entry) not in used]
    assert not idle, f"no longer needed in compat_tests/differential/allow_list.py: {idle}"


def test_an_answer_with_one_thing_wrong_is_seen() -> None:
    seen, unseen = 0, []
    for name in names():
        chosen = sequence(name, SEED)
        for step, right in list(zip(chosen.steps, load(chosen), strict=True))[::MUTATED_EVERY]:
            for where, wrong in mutants(right):
                if any(
                    explanation(difference, ALLOWED) is None for difference in differences(step, right, wrong)
                ):
                    seen += 1
                else:
                    unseen.append(f"{step.api.name} v{step.version} {where}")
    assert seen > 5_000
    # What the list allows may be wrong: numbers of the metadata log, records that are not what they seem.
    assert len(unseen) < seen / 100, unseen


def test_no_answers_are_kept_for_sequences_that_are_gone() -> None:
    assert set(FOLDER.iterdir()) == {path(name) for name in names()}
