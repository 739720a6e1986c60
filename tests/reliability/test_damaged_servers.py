"""Stores for real servers: which states are tried, and that they are written out whole.

Servers on them are a matter of compat_tests/test_damaged_servers.py.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from reliability.damaged_servers import chosen
from tests.sim.damage import made, write_out
from tests.sim.damage_states import DamageStates


def test_half_of_the_states_are_of_sectors_and_files_which_are_few_among_all() -> None:
    states = DamageStates(made("stopped"))
    chance = Random(1)
    numbers = [chosen(chance, states) for _ in range(400)]
    assert states.wide < len(states) // 100
    assert 150 < sum(number < states.wide for number in numbers) < 250
    assert max(numbers) < len(states)


def test_a_store_is_written_out_with_all_its_files(tmp_path: Path) -> None:
    disk = made("stopped").disk
    write_out(disk, tmp_path)
    written = {f"/data/{path.relative_to(tmp_path)}" for path in tmp_path.rglob("*") if path.is_file()}
    assert written == set(disk.files())
    for path in written:
        assert (tmp_path / path.removeprefix("/data/")).read_bytes() == disk.contents(path)
