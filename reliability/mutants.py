"""Mutants: small patches that break a promise; a simulation must catch each within a minute, or it is blind.

    python -m reliability.mutants              all of them, and the unchanged code as the control
    python -m reliability.mutants --only NAME

Each mutant is a copy of the checkout with one text replaced in one file. Its tests are simulations: seeds of
the whole broker, crash states, damage states or models of the log, not unit tests. Caught means that a test
failed; an import error, or nothing within a minute of processor, does not count. The exit code is 1 unless
all are caught.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from reliability import (
    ledger,
    loss_mutants,
    seqno_mutants,
    share_mutants,
    split_mutants,
    transaction_mutants,
)
from reliability.mutant import Mutant

ROOT: Final = Path(__file__).parent.parent
COPIED: Final = (
    "kawal", "protocol", "broker", "wal", "groups", "views", "pipeline", "console", "registry",
    "kawal_pytest", "tests", "compat_tests", "benchmarks", "reliability", "conftest.py", "pyproject.toml",
)  # fmt: skip
LIMIT_SECONDS: Final = 60
"""Of processor: beside other work the same tests take longer."""

PATIENCE_SECONDS: Final = 900
"""The end of tests that wait for something that never comes."""

TESTS_FAILED: Final = 1
"""pytest's exit code when tests ran and some failed."""

CRASH: Final = "tests/wal/test_recovery_crash.py"
FAILED_SYNC: Final = "tests/wal/test_recovery_failed_sync.py"
DAMAGE: Final = "tests/wal/test_recovery_damage.py"
MODEL: Final = "tests/wal/test_log_model.py"
PRODUCERS: Final = "tests/wal/test_producers_model.py"
SWEEP: Final = "tests/wal/test_log_error_sweep.py"
CATALOGUE: Final = "tests/wal/test_catalogue_crash.py"
COMPACTION: Final = "tests/wal/test_compaction_crash.py"
PARTS: Final = "tests/wal/test_index_parts.py"
BROKER: Final = "tests/sim/test_simulation.py"
COMPACTED: Final = "tests/sim/test_compaction_simulation.py"
GROUPS: Final = "tests/sim/test_groups_simulation.py"
CATALOGUE_DAMAGE: Final = "tests/broker/test_catalogue_damage.py"
STORE_DAMAGE: Final = "tests/sim/test_damage_simulation.py"
HOLDS: Final = "tests/broker/upkeep/test_retention_holds_model.py"


MUTANTS: Final = (
    Mutant(
        "ack before the sync", "wal/jobs.py",
        "        if self.needs_sync:\n", "        if False:\n", (CRASH,),
    ),
    Mutant(
        "a failed sync is tried again", "wal/jobs.py",
        "            self.phase = Phase.SYNC\n            file.sync()\n        self.phase = Phase.DONE",
        "            self.phase = Phase.SYNC\n            try:\n                file.sync()\n"
        "            except OSError:\n                file.sync()\n        self.phase = Phase.DONE",
        (MODEL, BROKER),
    ),
    Mutant(
        "no directory sync after a roll", "wal/jobs.py",
        "        self.disk.rename(self.temporary_path, self.path)\n"
        "        self.disk.sync_directory(self.directory)\n        self.done = True",
        "        self.disk.rename(self.temporary_path, self.path)\n        self.done = True",
        (CRASH,),
    ),
    Mutant(
        "a segment's header is not synced before its name", "wal/jobs.py",
        "        file.write_at(0, [self.header])\n        file.sync()\n",
        "        file.write_at(0, [self.header])\n", (CRASH,),
    ),
    Mutant(
        "cut at the first bad frame", "wal/recovery.py",
        "        if max(survey.durable_sequence, self._promised, self._replay_from) > scan.sequence:",
        "        if False:", (DAMAGE,),
    ),
    Mutant(
        "a segment may follow any other", "wal/recovery.py",
        "        if (problem := due.problem(header)) or header is None:",
        '        problem = ""\n        if header is None:', (DAMAGE,),
    ),
    Mutant(
        "a missing newest segment is not noticed", "wal/recovery.py",
        "        if self._promised > due:", "        if False:", (DAMAGE,),
    ),
    Mutant(
        "frames found after a failed sync are not written again", "wal/recovery.py",
        "            if frame.sequence >= self._promised:", "            if False:",
        (FAILED_SYNC, SWEEP, MODEL),
    ),
    Mutant(
        "no sync at the end of a recovery", "wal/recovery.py",
        "                active.shared.file.sync()\n", "                active.shared.file.size()\n",
        (CRASH,),
    ),
    Mutant(
        "no witness after a recovery", "wal/recovery.py",
        "        if self.report.damage is None and state.durable_sequence > self._promised:",
        "        if False:", (DAMAGE,),
    ),
    Mutant(
        "the crcs of batches are not compared", "wal/scan.py",
        "                problem = payload_problem(table, payload)\n", '                problem = ""\n',
        (DAMAGE, CRASH),
    ),
    Mutant(
        "a frame vouches for itself", "wal/commit.py",
        "    return state.durable_sequence if seal is None else state.next_sequence + 1",
        "    return state.next_sequence + 1", (CRASH,),
    ),
    Mutant(
        "an offset is given out twice after a crash", "wal/replay.py",
        "                stream.next_offset = stream.high_watermark = base_offset + count",
        "                stream.next_offset = stream.high_watermark = base_offset + count - 1",
        (MODEL, CRASH),
    ),
    Mutant(
        "what a failed commit held stays visible", "wal/commit.py",
        "            stream.next_offset = stream.high_watermark\n", "            stream.next_offset += 0\n",
        (MODEL, BROKER),
    ),
    Mutant(
        "producers are not in the checkpoint", "wal/snapshot.py",
        "    state.producers.restore(checkpoint.producers)\n", "", (MODEL, BROKER),
    ),
    Mutant(
        "one batch is remembered of a producer", "wal/stream_producers.py",
        "BATCHES_KEPT = 5", "BATCHES_KEPT = 1", (PRODUCERS, BROKER),
    ),
    Mutant(
        "a replayed batch is not known to its producer", "wal/replay.py",
        "                if producer_id >= 0 and kind != EntryKind.COPY:", "                if False:",
        (MODEL, BROKER),
    ),
    Mutant(
        "segments go before two checkpoints cover them", "wal/maintenance.py",
        "            if segment.next_sequence <= self._sequences[0]:", "            if True:", (CRASH, MODEL),
    ),
    Mutant(
        "a checkpoint is renamed before it is synced", "wal/whole_files.py",
        "        file.write_at(0, [data])\n        file.sync()\n", "        file.write_at(0, [data])\n",
        (CATALOGUE, CRASH),
    ),
    Mutant(
        "the stored index runs ahead of the checkpoint", "wal/index_parts.py",
        "        if part.next_sequence > before or not _continues(segment, part):",
        "        if not _continues(segment, part):", (PARTS,),
    ),
    Mutant(
        "the stored index is not checked", "wal/index_parts.py",
        "    if crc32c(data[position:end], seed) != PART_CRC.unpack_from(data, end)[0]:", "    if False:",
        (PARTS,),
    ),
    Mutant(
        "the catalogue's entry tables are not checked", "wal/versions.py",
        "    if crc32c(table, table_seed(frame.segment.seed, header.sequence)) != header.table_crc:",
        "    if False:", (CATALOGUE_DAMAGE, STORE_DAMAGE),
    ),
    Mutant(
        "compaction does not wait for its copies", "wal/extents.py",
        "        offset = clean_end\n    yield", "        offset = clean_end + 1\n    yield",
        (COMPACTION, COMPACTED),
    ),
    Mutant(
        "produce is answered before its frame is written", "broker/storage/vnode.py",
        "        if version >= self.log.next_version or not self.is_confirmed:", "        if False:",
        (BROKER,),
    ),
    Mutant(
        "waiters of a lost frame hear that it is safe", "broker/storage/vnode.py",
        "        self._settled += [(waiter, ErrorCode.KAFKA_STORAGE_ERROR) for _, waiter in waiters]",
        "        self._settled += [(waiter, None) for _, waiter in waiters]", (BROKER,),
    ),
    Mutant(
        "unsynced records are visible", "wal/appending.py",
        "        stream.next_offset = next_offset = base + count\n",
        "        stream.next_offset = stream.high_watermark = next_offset = base + count\n",
        (MODEL, CRASH, BROKER),
    ),
    Mutant(
        "retention ignores what groups hold", "wal/retention.py",
        "        limit = self._limit()\n", "        limit = end_offset\n", (HOLDS,),
    ),
    Mutant(
        "a failed job keeps all others from running", "wal/maintenance.py",
        "            if self._retry_at_ms.get(kind, now_ms) <= now_ms:",
        "            if max(self._retry_at_ms.values(), default=now_ms) <= now_ms:", (BROKER, SWEEP),
    ),
    *transaction_mutants.MUTANTS,
    *seqno_mutants.MUTANTS,
    *loss_mutants.MUTANTS,
    *split_mutants.MUTANTS,
    *share_mutants.MUTANTS,
)  # fmt: skip


def is_in_place(mutant: Mutant) -> bool:
    """Return whether the mutant's text occurs exactly once in its file."""
    return (ROOT / mutant.path).read_text().count(mutant.old) == 1


def copy_checkout(directory: Path) -> None:
    """Copy what the tests need."""
    ignored = shutil.ignore_patterns("__pycache__", "node_modules", "target", "*.jsonl")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, directory / name, ignore=ignored)
        else:
            shutil.copy(source, directory / name)


def run_tests(directory: Path, test: str) -> tuple[int | None, float]:
    """Run a file of tests in a copy; return pytest's exit code (None: too long) and its processor time."""
    before = _processor_seconds()
    tests = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    command = ["prlimit", f"--cpu={LIMIT_SECONDS}", *tests]
    environment = {**os.environ, "PYTHONPATH": str(directory), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env=environment,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, _processor_seconds() - before
    return (None if done.returncode < 0 else done.returncode), _processor_seconds() - before


def _processor_seconds() -> float:
    """Return the processor time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def catch(mutant: Mutant, directory: Path) -> tuple[str, float]:
    """Return the file of tests that caught the mutant, "" if none did, and the seconds that it took."""
    path = directory / mutant.path
    original = path.read_text()
    path.write_text(original.replace(mutant.old, mutant.new))
    seconds = 0.0
    try:
        for test in mutant.tests:
            code, seconds = run_tests(directory, test)
            if code == TESTS_FAILED:
                return test, seconds
    finally:
        path.write_text(original)
    return "", seconds


def main() -> int:
    """Catch what the arguments name."""
    parser = argparse.ArgumentParser(prog="python -m reliability.mutants", description=__doc__)
    parser.add_argument("--only", help="the mutants whose names contain this")
    parser.add_argument("--no-control", action="store_true", help="do not run the unchanged code first")
    parser.add_argument("--ledger", type=Path, default=ledger.LEDGER)
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if options.only is None or options.only in mutant.name]
    survivors, commit = [], ledger.commit_of(ROOT)
    with tempfile.TemporaryDirectory(prefix="kawal-mutants-") as name:
        directory = Path(name)
        copy_checkout(directory)
        if not options.no_control:
            for test in sorted({test for mutant in chosen for test in mutant.tests}):
                code, seconds = run_tests(directory, test)
                print(
                    f"{seconds:5.1f} s  control: {test} {'passes' if code == 0 else f'FAILS ({code})'}",
                    flush=True,
                )
        for mutant in chosen:
            test, seconds = catch(mutant, directory)
            print(
                f"{seconds:5.1f} s  {mutant.name}: {f'caught by {test}' if test else 'SURVIVES'}", flush=True
            )
            if not test:
                survivors.append(mutant.name)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} caught")
    ledger.append(
        options.ledger,
        commit=commit,
        rig="mutants",
        seed=0,
        counts={"mutants": len(chosen), "caught": len(chosen) - len(survivors)},
        anomalies={"survivors": len(survivors)} if survivors else {},
    )
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
