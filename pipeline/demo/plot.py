"""The demo's picture: rows landed and lag over time, with the moment of the crash."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import util
from pathlib import Path


@dataclass(slots=True)
class Curve:
    """Samples of one landing: seconds since the start, rows landed so far."""

    total: int
    seconds: list[float] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    crashed_at: float | None = None

    def add(self, seconds: float, rows: int) -> None:
        """Add a batch of `rows`."""
        self.seconds.append(seconds)
        self.rows.append((self.rows[-1] if self.rows else 0) + rows)

    @property
    def lag(self) -> list[int]:
        """The records that have not landed after each sample."""
        return [self.total - rows for rows in self.rows]

    @property
    def rates(self) -> list[float]:
        """Rows a second from each sample to the next."""
        steps = zip(self.seconds, self.seconds[1:], self.rows, self.rows[1:], strict=False)
        return [(after - before) / max(1e-3, end - begin) for begin, end, before, after in steps]


def can_plot() -> bool:
    """Return whether matplotlib is installed."""
    return util.find_spec("matplotlib") is not None


def plot(curve: Curve, path: Path) -> None:
    """Write the picture of `curve` to `path`, as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True)
    above.stairs(curve.rates, curve.seconds, fill=True, color="#4477aa")
    above.set_ylabel("rows a second")
    above.set_title("flights landed in a Delta table; the driver is killed half way and started again")
    below.step(curve.seconds, curve.lag, where="post", color="#cc6677")
    below.set_ylabel("lag (records)")
    below.set_xlabel("seconds since the start")
    below.set_ylim(bottom=0)
    if curve.crashed_at is not None:
        for part in (above, below):
            part.axvline(curve.crashed_at, color="black", linestyle="--", linewidth=1)
        above.annotate(" SIGKILL", (curve.crashed_at, above.get_ylim()[1] * 0.9))
    figure.savefig(path, dpi=110)
