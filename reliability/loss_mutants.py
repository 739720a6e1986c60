"""The mutants of damage, repairs, backups and the remote copy; reliability/mutants.py runs them."""

from __future__ import annotations

from typing import Final

from reliability.mutant import Mutant

DAMAGE: Final = "tests/wal/test_recovery_damage.py"
CATALOGUE_DAMAGE: Final = "tests/broker/test_catalogue_damage.py"
STORE_DAMAGE: Final = "tests/sim/test_damage_simulation.py"
FULL: Final = "tests/sim/test_full_store.py"
REPAIRS: Final = "tests/wal/test_ledgers_repair.py"
NO_GAPS: Final = "test_a_start_after_an_interrupted_repair_leaves_no_offsets_that_cannot_be_read"
"""The test that looks at offsets alone: the whole file takes a minute."""

SWAPS: Final = "tests/wal/test_misplaced.py"
IDS: Final = "tests/wal/test_ledgers_model.py"
ID_CRASHES: Final = "tests/wal/test_ledgers_crash.py"
BROKER: Final = "tests/sim/test_simulation.py"
OPEN_FILES: Final = "tests/wal/test_open_files.py"
BACKUPS: Final = "tests/sim/test_backup_simulation.py"
BACKUP_DAMAGE: Final = "tests/wal/test_backup_damage.py"
REMOTE: Final = "tests/sim/test_remote_simulation.py"
HISTORIES: Final = "tests/wal/remote/test_same_history.py"
JOURNAL: Final = "tests/wal/remote/test_journal.py"
OLDER: Final = "tests/wal/remote/test_older_journals.py"
REPLAY: Final = "tests/wal/remote/test_journal_replay.py"
JOURNALS: Final = "tests/sim/test_journal_simulation.py"
UNSTORED: Final = "tests/wal/test_unstored.py"

EPOCHS: Final = (
    Mutant(
        "no epoch begins after a loss", "wal/log.py",
        "            self.begin_leader_epoch(lambda epoch: epoch_after_loss(epoch, wall_ms))\n",
        "            pass\n", (REPAIRS,),
    ),
    Mutant(
        "the epoch after a loss is the next one", "wal/stream.py",
        "    return 1 + min(wanted, epoch + (EPOCH_MAX - 1 - epoch) // 2)\n", "    return epoch + 1\n",
        (REPAIRS,),
    ),
    Mutant(
        "streams of which nothing is left begin at epoch 0", "wal/appending.py",
        "        self.set_leader_epoch(LOG_STREAM, epoch)\n", "", (REPAIRS,),
    ),
    Mutant(
        "a repair marks its log when it is over", "wal/repair.py",
        "        if len(report.damages) == 1:\n            _mark(disk, directory)\n"
        "        _mend(recovery, state, report, now_ms)\n",
        "        _mend(recovery, state, report, now_ms)\n"
        "        if len(report.damages) == 1:\n            _mark(disk, directory)\n",
        (REPAIRS,),
    ),
    Mutant(
        "offsets that were lost are left open", "wal/log.py",
        "                self.fill_lost_offsets()\n", "                pass\n", (f"{REPAIRS}::{NO_GAPS}",),
    ),
    Mutant(
        "producer ids of a history that is lost are given out again", "broker/catalogue/orphans.py",
        "    catalogue.reserve_producer_ids(history * PRODUCER_IDS_PER_EPOCH)\n", "    del history\n",
        (BACKUPS,),
    ),
    Mutant(
        "a restore does not mark its logs", "wal/restore.py",
        "            if log != META:\n", "            if False:\n", (BACKUPS,),
    ),
    Mutant(
        "a restore from a copy does not mark its logs", "wal/remote/restored_copy.py",
        "            yield from self._write(name, ANOTHER_HISTORY, [])\n", "            pass\n", (REMOTE,),
    ),
)  # fmt: skip

MESSAGE_IDS: Final = (
    Mutant(
        "entries are counted over those that were lost", "wal/ledgers.py",
        "        return Interval(*start, end_offset, self.ordinals[row + 1], not is_lost)",
        "        return Interval(*start, end_offset, self.ordinals[row + 1], True)", (REPAIRS,),
    ),
    Mutant(
        "a ledger without its beginning is counted from what is left", "wal/entries.py",
        "            if ordinal is None or ledger is None or ledger.flags & Flags.UNNUMBERED:",
        "            if ordinal is None or ledger is None:", (REPAIRS,),
    ),
    Mutant(
        "the next entry is not counted from the durable ones", "wal/ledgers.py",
        "        self._next_ordinal, self._next_bytes = self.durable_ordinal, self.durable_bytes\n",
        "        self._next_bytes = self.durable_bytes\n", (REPAIRS,),
    ),
    Mutant(
        "the number of entries is not in the checkpoint", "wal/ledger_snapshot.py",
        "        ledgers.durable_ordinal, ledgers.durable_bytes = self.ordinal, self.total_bytes\n", "",
        (IDS, ID_CRASHES),
    ),
)  # fmt: skip

TOLD: Final = (
    Mutant(
        "a checkpoint of another log is used", "wal/checkpoint.py",
        "        return found if found.log_number == log_number(directory) else None",
        "        return found", (STORE_DAMAGE, FULL),
    ),
    Mutant(
        "segments that have changed places are set aside", "wal/store_repair.py",
        "        moved = put_back(disk, [LogPlace(meta, 0), *logs]) if accept_loss else {}\n",
        "        moved = put_back(disk, []) if accept_loss else {}\n", (STORE_DAMAGE, SWAPS),
    ),
    Mutant(
        "segments are put back over each other", "wal/misplaced.py",
        "            disk.rename(segment.path, wanted + FOUND_SUFFIX)\n",
        "            disk.rename(segment.path, wanted)\n", (SWAPS,),
    ),
    Mutant(
        "bytes are served unchecked", "wal/verdicts.py",
        "        return checked is not None and row < len(checked) and checked[row] != GOOD",
        "        return False and checked is not None and checked[row] != GOOD", (STORE_DAMAGE, DAMAGE),
    ),
    Mutant(
        "streams without a topic are dropped", "broker/catalogue/topic_directory.py",
        "for vnode, stream_id in found if stream_id in deleted)", "for vnode, stream_id in found)",
        (STORE_DAMAGE, CATALOGUE_DAMAGE),
    ),
    Mutant(
        "a vnode that has lost its files begins again", "wal/used_vnodes.py",
        "        if not self._disk.exists(self._path(database, vnode_id)):\n            return False\n",
        "        return False\n", (STORE_DAMAGE,),
    ),
    Mutant(
        "groups are served from a log whose end is damaged", "broker/coordinators/loader.py",
        "            if (damage := self._damaged_end(self._waiting[0])) is not None:",
        "            if (damage := self._damaged_end(self._waiting[0])) is not None and False:", (FULL,),
    ),
    Mutant(
        "numbers of names are told beside a log whose end is damaged", "broker/handlers/kawal_producers.py",
        "    place.check_logs()\n", "", (FULL,),
    ),
)  # fmt: skip

FILES: Final = (
    Mutant(
        "a jump of the clock deletes records", "broker/loop/clock.py",
        "        return self.turn_ms + min(self._wall_offset_ms, self._anchor_ms + JUMP_MS)",
        "        return self.turn_ms + self._wall_offset_ms", (BROKER,),
    ),
    Mutant(
        "the spare of a failed roll stays open", "wal/jobs.py",
        "                    self.create.give_up()\n", "                    pass\n", (OPEN_FILES,),
    ),
    Mutant(
        "a spare that cannot be synced stays open", "wal/maintenance_jobs.py",
        "        except DiskError:\n            file.close()\n            raise\n        self.file = file\n",
        "        except DiskError:\n            raise\n        self.file = file\n", (OPEN_FILES,),
    ),
)  # fmt: skip

COPIES: Final = (
    Mutant(
        "a backup is not compared with its checksums", "wal/restore.py",
        "        if found != known:", "        if False:", (BACKUP_DAMAGE,),
    ),
    Mutant(
        "each log of a backup ends when it is copied", "wal/backup.py",
        "                yield from self._copying(log.finish(point_ms))",
        "                yield from self._copying(log.finish(None))", (BACKUPS,),
    ),
    Mutant(
        "what is uploaded late is written over", "wal/remote/log_upload.py",
        '        return f"{kind}/{self._number:020d}-{self._epoch:010d}"',
        '        return f"{kind}/{self._number:020d}"', (REMOTE,),
    ),
    Mutant(
        "what the cut leads to is swept", "wal/remote/uploader.py",
        "            kept.update(log.all_keys(), log.garbage)", "            kept.update(log.garbage)",
        (REMOTE,),
    ),
    Mutant(
        "a process that was replaced sets the cut again", "wal/remote/uploader.py",
        "            if found.incarnation != self._incarnation:\n"
        "                self._fenced = fenced\n                raise\n",
        "", (REMOTE,),
    ),
    Mutant(
        "a complete copy becomes one that is not", "wal/remote/uploader.py",
        "        if not (missing and was_complete):", "        if True:", (REMOTE,),
    ),
    Mutant(
        "another history takes the copy over", "wal/remote/same_history.py",
        " and base >= view.bases[0] and not _has(disk, folder, view, base, salt, parts):",
        " and not base + 1:",
        (HISTORIES,),
    ),
)  # fmt: skip

REMOTE_CLASS: Final = (
    Mutant(
        "the journal of an older process is not ended", "wal/remote/older_journals.py",
        "        ended = fence(self._store, self._prefix, since, epoch=epoch, incarnation=incarnation)\n",
        "        del incarnation\n"
        "        ended = chunks(self._store, self._prefix, since, epoch=epoch - 1)\n",
        (OLDER, JOURNALS),
    ),
    Mutant(
        "a fence is swept", "wal/remote/older_journals.py",
        "        return decode_journal(self._store.read(key).data, key).is_fence\n",
        "        return False\n", (OLDER, JOURNALS),
    ),
    Mutant(
        "commits count in the order in which requests end", "wal/remote/journal.py",
        "        while self._in_flight and self._in_flight[0].is_stored:\n"
        "            counting += self._in_flight.popleft().commits\n",
        "        self._in_flight.remove(put)\n        counting += put.commits\n", (JOURNAL, JOURNALS),
    ),
    Mutant(
        "what a start finds on the disk is acknowledged at once", "broker/storage/vnodes.py",
        "            vnode.is_confirmed = vnode.log.options.durability != \"remote\"\n",
        "            vnode.is_confirmed = True\n", (JOURNALS,),
    ),
    Mutant(
        "what a start finds on the disk is shown at once", "broker/storage/vnodes.py",
        "                vnode.log.hide_replayed()\n",
        "                pass\n", (JOURNALS,),
    ),
    Mutant(
        "a footer is not sent with a later commit", "wal/unstored.py",
        "    footers = [] if job is None else [job.seal, *(earlier.seal for earlier in state.unstored)]\n",
        "    footers = [] if job is None else [job.seal]\n", (UNSTORED, REPLAY),
    ),
    Mutant(
        "a replay cuts a file back to what a chunk had", "wal/remote/journal_replay.py",
        "            if part.position == 0 and _salt(file) != part.salt:\n",
        "            if part.position == 0:\n", (REPLAY,),
    ),
)  # fmt: skip

MUTANTS: Final = (*EPOCHS, *MESSAGE_IDS, *TOLD, *FILES, *COPIES, *REMOTE_CLASS)
