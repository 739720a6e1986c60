"""The generator of hostile requests, for seconds; `python -m compat_tests.hunt` goes on for longer."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from broker.handlers import APIS, OF_NODES
from compat_tests.hunt.link import Journal, Sent, entries
from compat_tests.hunt.memory_watch import LOOKED_AT_MIB, STEP_MIB, Act, MemoryWatch
from compat_tests.hunt.pieces import Piece
from compat_tests.hunt.player import Findings, Player
from compat_tests.hunt.wrong import spoiled
from compat_tests.overload.figures import status_mib
from protocol.api_keys import ApiKey

SECONDS = 12.0


@pytest.mark.only_kawal(reason="Kafka closes connections on some of it, and takes minutes to start again")
@pytest.mark.parametrize("workers", [1, 2])
def test_some_seconds_of_the_generator_find_nothing(tmp_path: Path, workers: int) -> None:
    said: list[str] = []
    verdict = Piece("test", tmp_path, [], said.append, workers=workers).run(SECONDS)
    assert verdict.problems == [], "\n".join(said)
    assert verdict.requests > 100
    assert verdict.starts >= 3


def player_of(seed: str, directory: Path) -> Player:
    journal = Journal()
    return Player(0, 0, Random(seed), journal, Findings(directory, journal), 0.0)


def made_by(seed: str, directory: Path) -> list[Sent]:
    player = player_of(seed, directory)
    # Batches have times of the present.
    apis = [api for api in APIS.values() if api.key != ApiKey.PRODUCE]
    return [player.make(api, api.maximum, large=0.2, elements=500) for api in apis]


def test_the_same_seed_makes_the_same_requests(tmp_path: Path) -> None:
    assert made_by("1", tmp_path) == made_by("1", tmp_path)
    assert made_by("1", tmp_path) != made_by("2", tmp_path)


def test_a_journal_keeps_what_was_sent_in_its_order(tmp_path: Path) -> None:
    journal = Journal()
    for number, data in ((1, b"one"), (2, b"two"), (1, b"three")):
        journal.note(number, data)
    journal.save(tmp_path / "kept")
    journal.save(tmp_path / "first", connection=1)
    assert [entry[1:] for entry in entries(tmp_path / "kept")] == [(1, b"one"), (2, b"two"), (1, b"three")]
    assert [data for _, _, data in entries(tmp_path / "first")] == [b"one", b"three"]


def test_a_spoiled_request_is_another(tmp_path: Path) -> None:
    chance = Random(3)
    frames = [sent.frame for sent in made_by("3", tmp_path)]
    assert sum(spoiled(frame, chance) != frame for frame in frames) > len(frames) / 2


def test_a_request_of_nodes_may_end_the_connection_of_a_client(tmp_path: Path) -> None:
    player = player_of("4", tmp_path)
    sound = {key: player.make(api, api.maximum).sound for key, api in APIS.items() if key != ApiKey.PRODUCE}
    assert not {key for key in OF_NODES if sound[key]}
    assert sound[ApiKey.METADATA]


class Peaks(MemoryWatch):
    """A watch that is given figures, and keeps those at which the server would write its stacks."""

    def __init__(self) -> None:
        super().__init__(pid=0)
        self.dumped: list[float] = []

    def dump(self) -> None:
        self.dumped.append(self.peak_mib)


def test_a_server_writes_its_stacks_at_each_peak_well_above_the_last() -> None:
    watch = Peaks()
    figures = [LOOKED_AT_MIB - 1, LOOKED_AT_MIB, LOOKED_AT_MIB + STEP_MIB - 1, LOOKED_AT_MIB + STEP_MIB, 100]
    for now, mib in enumerate(figures):
        watch.note(mib, now)
    assert watch.dumped == [LOOKED_AT_MIB, LOOKED_AT_MIB + STEP_MIB]
    assert (watch.peak_mib, watch.peak_at) == (LOOKED_AT_MIB + STEP_MIB, 3)


def test_the_acts_under_way_at_the_peak_of_memory_are_named() -> None:
    watch = Peaks()
    watch.note(400.0, 5.0)
    acts = [Act(1.0, 4.0, "before"), Act(4.0, 6.0, "wide"), Act(5.0, 9.0, "produce"), Act(6.0, 7.0, "after")]
    assert watch.at_peak(acts) == ["produce", "wide"]


def test_the_memory_of_a_process_is_read_in_mib() -> None:
    assert status_mib("VmHWM:\t  9999 kB\nVmRSS:\t    2048 kB\nRssAnon:\t 1 kB\n", "VmRSS") == 2.0
