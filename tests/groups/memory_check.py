"""The check that every step of these tests ends with: what is counted is what the groups have."""

from __future__ import annotations

from groups.context import Context
from groups.memory import GroupMemory
from groups.weights import count_group


def check_memory(context: Context) -> None:
    """Check that exactly what the groups have is counted, but for the programs of expressions."""
    anew = GroupMemory()
    for group_id, group in context.groups.items():
        count_group(anew, group)
        found, expected = context.memory.entries(group_id), anew.entries(group_id)
        assert found.keys() == expected.keys(), f"group {group_id!r}: {found} instead of {expected}"
        for slot, size_bytes in expected.items():
            is_regex = isinstance(slot, tuple) and slot[0] == "regex"
            assert found[slot] == size_bytes or is_regex, f"{slot} of group {group_id!r}"
    assert context.memory.size_bytes == sum(
        map(context.memory.group_bytes, [*context.groups, *context.share_groups])
    )
