"""Share groups and one power cut, tried at every disk call."""

from __future__ import annotations

from tests.sim.share_simulation import ShareSimulation


class PowerCutAtCall(ShareSimulation):
    """A world in which all goes well, but for one power cut: before the disk call of this number."""

    def __init__(self, seed: int, call: int, *, vnodes: int) -> None:
        super().__init__(seed, steps=250, vnodes=vnodes)
        self.call = call
        self.is_over = False
        faults = (self._kill, self._stop, self._cut_power, self._cut_power_soon)
        failures = (self._break, self._fill, self._heal)
        self._table = [(weight, step) for weight, step in self._table if step not in (*faults, *failures)]

    def _play(self) -> None:
        self.world.calls_until_cut = self.call
        self._happen_by_chance()
        # All calls of the work were made before the power could fail.
        self.is_over = self.world.calls_until_cut is not None
        self._end()
