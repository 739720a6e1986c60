"""The figures of a load, and the bars that they are judged by."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from compat_tests.overload.figures import Turn
from compat_tests.overload.good_client import Round, percentile

TURN_MS_MAX: Final = 20.0
P99_RATIO_MAX: Final = 2.0
WORST_MS_MAX: Final = 100.0
MEMORY_MIB_MAX: Final = 512.0

OTHERS_CORES_MAX: Final = 0.2
"""The processors that other processes may take beside a measurement on a machine that does nothing else."""

TURNS_SHOWN: Final = 5


@dataclass(frozen=True)
class Times:
    """The round trips of one kind of good client in one part of the measurement, in milliseconds."""

    rounds: int
    p50: float
    p99: float
    worst: float
    loop_p99: float
    """The processor time of the server's event loop between a request and its answer: the server's own part,
    whatever else the machine does.  Of records it is also what the loop did while the disk was waited for."""
    loop_worst: float

    @classmethod
    def of(cls, rounds: list[Round]) -> Times:
        """Return the figures of some rounds."""
        took = [1000 * found.took for found in rounds]
        loop = [1000 * found.loop for found in rounds]
        return cls(
            len(took),
            percentile(took, 0.5),
            percentile(took, 0.99),
            max(took, default=0.0),
            percentile(loop, 0.99),
            max(loop, default=0.0),
        )


@dataclass
class Figures:
    """The figures of a load: times in milliseconds, memory in MiB."""

    load: str
    did: str = ""
    before: dict[str, Times] = field(default_factory=dict)
    during: dict[str, Times] = field(default_factory=dict)
    after: dict[str, Times] = field(default_factory=dict)
    beside: dict[str, Times] = field(default_factory=dict)
    """The good clients of a gateway that the load does not touch, what the machine adds to times."""
    turns: list[Turn] = field(default_factory=list)
    """The turns of the event loop that the watchdog logged beside the load: those over 20 ms of processor,
    and with `explain` those over 5 ms."""
    loop_ms: float = 0.0
    """The most processor time of the event loop between a good client's request and its answer."""
    own_ms: float = 0.0
    """The longest round of a good client by itself, however late it began."""
    own_p98_ms: float = 0.0
    """The rounds by themselves, but for those in which a busy machine stopped a process."""
    waited_for_core: float = 0.0
    """Seconds in which the gateway could have run, but other processes did: how busy the machine was."""
    others_cores: float = 0.0
    """The processors that processes without a part in the measurement kept busy: on a quiet machine 0.1."""
    memory_before: float = 0.0
    memory_peak: float = 0.0
    memory_after: float = 0.0
    seconds_until_normal: float = 0.0
    start_seconds: float = 0.0
    """How long the server took to start again on what the load has left; 0: it was not tried."""
    slowest: list[str] = field(default_factory=list)
    """With `explain`: the good clients' requests that took longest beside the load, by phases."""
    faults: list[str] = field(default_factory=list)
    """Whatever no machine excuses: ends, errors of the server's own, wrong answers."""

    @property
    def turn_ms(self) -> int:
        """The most processor time of a turn of the event loop, if it was over the limit of the watchdog."""
        return self.turns[0].cpu_ms if self.turns else 0

    @property
    def is_quiet(self) -> bool:
        """Whether the machine did little else, so that the good clients' times can be judged."""
        return self.others_cores <= OTHERS_CORES_MAX

    @property
    def broken(self) -> list[str]:
        """The bars that are broken, whatever else the machine does."""
        found = list(self.faults)
        if self.turn_ms > TURN_MS_MAX:
            found.append(f"a turn took {self.turn_ms} ms, by {self.turns[0].work}: {self.turns[0].place}")
        if self.memory_peak > MEMORY_MIB_MAX:
            found.append(f"memory {self.memory_peak:.0f} MiB")
        return found

    @property
    def late(self) -> list[str]:
        """The broken bars of the good clients' times; they are for a machine that does nothing else.

        What the clients of an untouched gateway notice, too, is the machine's doing: the load, the gateway
        under it and all clients share its processors and its disk.
        """
        found = []
        for kind, times in self.during.items():
            before, beside = self.before[kind], self.beside.get(kind, Times.of([]))
            if times.p99 > max(1.0, P99_RATIO_MAX * max(before.p99, beside.p99)):
                found.append(
                    f"p99 of {kind} {before.p99:.1f} -> {times.p99:.1f} ms, beside {beside.p99:.1f} ms"
                )
            if times.worst > max(WORST_MS_MAX, P99_RATIO_MAX * beside.worst):
                found.append(f"worst of {kind} {times.worst:.0f} ms, beside {beside.worst:.0f} ms")
        return found

    @property
    def line(self) -> str:
        """The figures for people."""
        lines = [f"{self.load}: {self.did}"]
        for kind, times in self.during.items():
            before, after = self.before[kind], self.after.get(kind, Times.of([]))
            beside = self.beside.get(kind, Times.of([]))
            lines.append(
                f"    {kind:10}  p50 {before.p50:7.1f} {times.p50:7.1f} {after.p50:7.1f}"
                f"   p99 {before.p99:7.1f} {times.p99:7.1f} {after.p99:7.1f}"
                f"   worst {before.worst:7.0f} {times.worst:7.0f} {after.worst:7.0f} ms"
                + f"   loop {times.loop_p99:.0f} {times.loop_worst:.0f} ms"
                + (
                    f"   beside {beside.p50:.1f} {beside.p99:.1f} {beside.worst:.0f} ms"
                    if beside.rounds
                    else ""
                )
            )
        lines.append(
            f"    longest round by itself {self.own_ms:.0f} ms;"
            f" loop {self.loop_ms:.0f} ms before an answer, {len(self.turns)} turns to {self.turn_ms} ms;"
            f" memory {self.memory_before:.0f} -> {self.memory_peak:.0f} -> {self.memory_after:.0f} MiB;"
            f" normal after {self.seconds_until_normal:.1f} s;"
            f" waited {self.waited_for_core:.1f} s for a core, others took {self.others_cores:.1f} cores"
            + (f"; started again in {self.start_seconds:.1f} s" if self.start_seconds else "")
        )
        lines += [f"    slow: {request}" for request in self.slowest]
        lines += [
            f"    turn: {turn.cpu_ms} ms, {turn.work}: {turn.place}" for turn in self.turns[:TURNS_SHOWN]
        ]
        lines += [f"    BROKEN: {problem}" for problem in self.broken]
        return "\n".join(lines + [f"    late: {problem}" for problem in self.late])

    def as_json(self) -> dict[str, Any]:
        """Return everything in a form for a file."""
        return {**asdict(self), "turn_ms": self.turn_ms, "broken": self.broken, "late": self.late}
