"""The worker pool of compat_tests/worker_pool with few jobs, and what its verdict would notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.conftest import StartBroker
from compat_tests.worker_pool.jobs import Kind, kind_of
from compat_tests.worker_pool.master import WorkerPool
from compat_tests.worker_pool.notes import DIED, DONE, GOT, Note, Notebook, notes_of
from compat_tests.worker_pool.verdict import Verdict, judge

LOCK_SECONDS = 3.0


@pytest.mark.only_kawal(reason="the members' status, and the backlog by its own command")
@pytest.mark.timeout(600, method="signal")
def test_every_job_is_processed_and_twice_only_for_a_reason(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    broker = start_broker(group_share_min_record_lock_duration_ms="1000")
    pool = WorkerPool(broker, tmp_path, jobs=5_000, lock_seconds=LOCK_SECONDS)
    verdict = pool.run(within_seconds=400, kill_every_seconds=4.0, tell=print)
    wanted = sum(kind_of(job).is_done for job in range(5_000))
    assert verdict.accepted + verdict.unconfirmed >= wanted
    assert verdict.kinds[Kind.KILLER.name] >= 2
    assert "given back" in verdict.reasons


# Jobs 0 and 1 are plain.


def judged(*notes: Note, **facts: object) -> Verdict:
    values: dict[str, object] = {"ended": {}, "server_kills": [], "lock_seconds": LOCK_SECONDS, **facts}
    return judge(notes, 1, **values)  # type: ignore[arg-type]


def test_a_job_that_came_to_nobody_and_one_that_was_not_accepted_are_noticed() -> None:
    with pytest.raises(AssertionError, match="job 0 came to no worker"):
        judged()
    with pytest.raises(AssertionError, match=r"job 0 .* was never accepted in 1 deliveries"):
        judged(Note(1.0, 0.5, "a", GOT, [0]))


def test_a_finished_job_that_comes_again_is_noticed() -> None:
    notes = [
        Note(1.0, 0.5, "a", GOT, [0]),
        Note(1.1, 0.0, "a", "accept", [0]),
        Note(1.2, 0.0, "a", DONE, [0]),
        Note(9.0, 8.0, "b", GOT, [0]),
    ]
    assert judged(*notes[:3]).accepted == 1
    with pytest.raises(AssertionError, match=r"job 0 was finished at 1\.2, and came again"):
        judged(*notes)


def test_a_job_that_two_workers_have_at_once_is_noticed_unless_there_is_a_reason() -> None:
    notes = [
        Note(1.0, 0.5, "a", GOT, [0]),
        Note(2.0, 1.5, "b", GOT, [0]),
        Note(2.1, 0.0, "b", "accept", [0]),
        Note(2.2, 0.0, "b", DONE, [0]),
    ]
    with pytest.raises(AssertionError, match=r"job 0 came to .*'b'.* while .*'a'.* had it"):
        judged(*notes)
    assert judged(*notes, ended={"a": 1.2}).reasons == {"worker ended": 1}
    assert judged(*notes, Note(1.2, 0.0, "a", DIED, [0])).reasons == {"worker ended": 1}
    assert judged(*notes, server_kills=[1.3]).reasons == {"server killed": 1}
    assert judged(*notes, lock_seconds=1.0).reasons == {"lock expired": 1}
    released = Note(1.1, 0.0, "a", "release", [0])
    assert judged(released, *notes).reasons == {"given back": 1}
    said = Note(1.1, 0.0, "a", "accept", [0])
    verdict = judged(said, *notes)
    assert (verdict.reasons, verdict.repeated) == ({"acknowledgement lost": 1}, 1)


def test_notes_of_a_killed_worker_are_read_to_the_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    notebook = Notebook(path, "a")
    notebook.write(GOT, [1, 2, 3], 4.5)
    notebook.write(DONE, [])
    notebook.close()
    with path.open("a") as file:
        file.write("12.5 0.0 a done 1,")
    assert [note[1:] for note in notes_of(path)] == [(4.5, "a", GOT, [1, 2, 3])]
