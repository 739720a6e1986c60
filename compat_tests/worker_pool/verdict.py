"""The verdict on a run: each job was processed, none was lost, and one came twice only for a reason."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from compat_tests.worker_pool.jobs import Kind, kind_of
from compat_tests.worker_pool.notes import DIED, DONE, GOT, SAID, Note

ACCEPT, RELEASE, _ = SAID
CLOCK_SECONDS: Final = 0.001
"""The time by which a lock may be shorter: the server counts whole milliseconds."""


class Delivery(NamedTuple):
    """A job that came to a worker between two moments."""

    since: float
    moment: float
    worker: str


class Word(NamedTuple):
    """The word of a worker about a job, and when it was confirmed, if it was."""

    moment: float
    worker: str
    what: str
    confirmed: float | None


@dataclass
class Verdict:
    """The figures of a run."""

    jobs: int
    deliveries: int = 0
    accepted: int = 0
    """Jobs of which an acceptance was confirmed."""
    unconfirmed: int = 0
    """Jobs that were accepted, with the answer lost."""
    repeated: int = 0
    """Jobs that were processed more than once."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Deliveries by kind of job."""
    reasons: Counter[str] = field(default_factory=Counter)
    """The reasons for which jobs came again."""

    def __str__(self) -> str:
        again = ", ".join(f"{count} {reason}" for reason, count in self.reasons.most_common())
        return (
            f"{self.jobs} jobs in {self.deliveries} deliveries: {self.accepted} accepted, {self.unconfirmed} "
            f"accepted with the answer lost, {self.repeated} processed more than once; came again: {again}"
        )


def judge(
    notes: Iterable[Note],
    jobs: int,
    *,
    ended: Mapping[str, float],
    server_kills: Sequence[float],
    lock_seconds: float,
) -> Verdict:
    """Judge a run; `ended` has the moments at which workers ended.  Raises: AssertionError."""
    deliveries: dict[int, list[Delivery]] = defaultdict(list)
    words: dict[int, list[Word]] = defaultdict(list)
    ended = dict(ended)
    for note in sorted(notes):
        if note.what == DIED:
            ended[note.worker] = note.moment
            continue
        for job in note.jobs:
            if note.what == GOT:
                deliveries[job].append(Delivery(note.since, note.moment, note.worker))
            elif note.what == DONE:
                last = next(word for word in reversed(words[job]) if word.worker == note.worker)
                words[job][words[job].index(last)] = last._replace(confirmed=note.moment)
            else:
                words[job].append(Word(note.moment, note.worker, note.what, None))
    verdict = Verdict(jobs)
    problems: list[str] = []
    for job in range(jobs):
        came, said = sorted(deliveries[job], key=lambda delivery: delivery.moment), words[job]
        _count(verdict, job, came, said)
        problems += _problems(job, came, said)
        for first, second in pairwise(came):
            reason = _reason(first, second, said, ended, server_kills, lock_seconds)
            verdict.reasons[reason or "for no reason"] += 1
            if reason is None:
                problems.append(f"job {job} came to {second} while {first} had it")
    assert not problems, f"{len(problems)} problems: " + "; ".join(problems[:10])
    return verdict


def _count(verdict: Verdict, job: int, came: list[Delivery], said: list[Word]) -> None:
    accepts = [word for word in said if word.what == ACCEPT]
    verdict.deliveries += len(came)
    verdict.kinds[kind_of(job).name] += len(came)
    verdict.repeated += len(accepts) > 1
    if any(word.confirmed for word in accepts):
        verdict.accepted += 1
    elif accepts:
        verdict.unconfirmed += 1


def _problems(job: int, came: list[Delivery], said: list[Word]) -> list[str]:
    kind = kind_of(job)
    if not came:
        return [f"job {job} came to no worker"]
    problems = []
    if kind.is_done and not any(word.what == ACCEPT for word in said):
        problems.append(f"job {job} ({kind.value}) was never accepted in {len(came)} deliveries")
    if kind in (Kind.POISON, Kind.KILLER) and len(came) < 2:
        problems.append(f"job {job} ({kind.value}) came only once")
    finished = min((word.confirmed for word in said if word.confirmed and word.what != RELEASE), default=None)
    if finished is not None:
        late = [delivery for delivery in came if delivery.since > finished]
        problems += [f"job {job} was finished at {finished}, and came again: {delivery}" for delivery in late]
    return problems


def _reason(
    first: Delivery,
    second: Delivery,
    said: list[Word],
    ended: Mapping[str, float],
    server_kills: Sequence[float],
    lock_seconds: float,
) -> str | None:
    """Return why a job came again after a delivery."""
    own = [word for word in said if word.worker == first.worker and first.moment <= word.moment]
    before = [word for word in own if word.moment <= second.moment]
    if any(word.what == RELEASE for word in before):
        return "given back"
    if any(first.since <= moment <= second.moment for moment in server_kills):
        return "server killed"
    if ended.get(first.worker, second.moment) < second.moment:
        return "worker ended"
    if second.moment - first.since >= lock_seconds - CLOCK_SECONDS:
        return "lock expired"
    if any(word.confirmed is None for word in before):
        return "acknowledgement lost"
    return None
