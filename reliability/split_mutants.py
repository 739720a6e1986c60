"""The mutants of partitions that split; reliability/mutants.py runs them."""

from __future__ import annotations

from typing import Final

from reliability.mutant import Mutant

SPLITS: Final = "tests/sim/test_split_simulation.py"
GROUPS: Final = "tests/sim/test_split_groups_simulation.py"

CLOSED: Final = "broker/storage/closed.py"
GATES: Final = "groups/split_gates.py"

MUTANTS: Final = (
    Mutant(
        "records are written while a split is on its way", "broker/upkeep/partition_splits.py",
        "            return self.until_settled()\n        vnode = undurable",
        "            pass\n        vnode = undurable",
        (SPLITS, GROUPS),
    ),
    Mutant(
        "splits are not in the catalogue's snapshot", "broker/catalogue/snapshot_records.py",
        "        known.append(record)\n",
        "        if isinstance(record, PartitionsAdded):\n            known.append(record)\n", (SPLITS,),
    ),
    Mutant(
        "what is not synced yet comes after a renewal", "broker/catalogue/renewal.py",
        "        cuts=tuple(each.log_end for each in partitions),",
        "        cuts=tuple(each.high_watermark for each in partitions),", (SPLITS, GROUPS),
    ),
    Mutant(
        "what is left of a divided batch is not its producer's", "broker/storage/moved_parts.py",
        "changed.rest, producer=stamp, named=new.write)", "changed.rest, producer=None, named=new.write)",
        (SPLITS,),
    ),
    Mutant(
        "a split's epoch is forgotten at a start", "broker/catalogue/topic_directory.py",
        "                found.begin_epoch(epoch)\n", "                pass\n", (SPLITS,),
    ),
    Mutant(
        "a split begins no epoch", "broker/catalogue/split_plan.py",
        "                parent.begin_epoch(split.epoch)\n", "                pass\n", (SPLITS,),
    ),
    Mutant(
        "a child is given out before its parent is read", "groups/split_gates.py",
        "split.parent not in found and is_past(split)\n", "split.parent not in found\n", (GROUPS,),
    ),
    Mutant(
        "a child is given out before its parent is", "groups/split_gates.py",
        "split.parent not in found and is_past(split)\n", "is_past(split)\n", (GROUPS,),
    ),
    Mutant(
        "a successor waits for its own parent alone", "groups/split_gates.py",
        " = successors_open if is_after_all else split.parent not in found and is_past(split)\n",
        " = split.parent not in found and is_past(split)\n", (GROUPS,),
    ),
    Mutant(
        "a share group waits for a successor's own parent alone", "groups/share/gates.py",
        "            is_open = successors_open\n",
        "            is_open = is_past(split)\n", (GROUPS,),
    ),
    Mutant(
        "successors are given out when one partition is read", GATES,
        "    successors_open = all(map(is_past, topic.tree.successions))",
        "    successors_open = any(map(is_past, topic.tree.successions))",
        (GROUPS,),
    ),
    Mutant(
        "a group with progress in a parent begins a child wherever its clients like", GATES,
        '    return Committed(context.splits.log_start(name, partition), NO_LEADER_EPOCH, "", 0, NO_EXPIRY)',
        "    return None", (GROUPS,),
    ),
    Mutant(
        "a batch from before the closing is not recognised later", CLOSED,
        "        if isinstance(before, Duplicate) or not is_known:", "        if not is_known:",
        (SPLITS,),
    ),
    Mutant(
        "a closed partition and its successor have one sequence", CLOSED,
        "    return stamp._replace(producer_id=stamp.producer_id | ALIAS, is_transactional=False)",
        "    return stamp", (SPLITS,),
    ),
    Mutant(
        "what is sent to a closed partition leaves no sequence", "broker/storage/moved_parts.py",
        "        vnode.log.append(partition.stream_id, entry_of(header), producer=alias_of(stamp))",
        "        pass", (SPLITS,),
    ),
)  # fmt: skip
