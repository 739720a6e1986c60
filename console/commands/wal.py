"""`kawal wal`: inspect the write-ahead log's files, check them, and go on without what is lost."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from console.errors import FAILED, OK, CommandError
from console.help import Actions, describe, dispatch
from console.wal_describe import describe_lines, describe_tree
from console.wal_places import Place, find_place, segment_paths
from console.wal_views import (
    FRAME_HEADINGS,
    Tree,
    entry_line,
    frame_line,
    frame_tree,
    json_line,
    log_line,
    log_tree,
    segment_line,
    segment_tree,
    summary_line,
    summary_tree,
)
from wal.disk import Disk, OsDisk
from wal.disk_errors import DiskError
from wal.errors import StoreError
from wal.inspect import Damage, LogReport, SegmentReport, frames, verify_log, verify_segment
from wal.lost_vnodes import lost_vnodes
from wal.storage_report import storage_report


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        """Inspect the files of a data directory.  A path is the data directory itself, the folder of one log
        (DATA/meta, DATA/DATABASE/vnode-N), or one segment file.  inspect and verify only read; a server may
        be running meanwhile.""",
        [
            ("wal inspect ./data", "what the logs hold"),
            ("wal describe ./data", "what a start would replay, and why each file is kept"),
            ("wal verify ./data", "read everything, check every checksum"),
        ],
    )
    actions = Actions(parser)
    inspect = actions.add(
        "inspect",
        summary="show segments, frames and entries",
        description="""Show what a data directory or a log holds, a line for each segment, or the frames of
            one segment file (a frame is one group commit), and with --entries the batches in them.  Only
            headers are read, not the records.""",
        examples=[
            ("wal inspect ./data", "each segment on one line"),
            ("wal inspect ./data/default/vnode-0/00000000000000000000.wal --entries", "frames and batches"),
        ],
        run=_inspect,
    )
    _add_place(inspect)
    inspect.add_argument("--entries", action="store_true", help="show the batches of each frame, too")
    _configure_describe(actions)
    verify = actions.add(
        "verify",
        summary="read everything and check every checksum",
        description="""Read every byte that was written and check it: segment headers, frames, entry tables,
            batches, footers, indexes, and that no segment and no vnode is missing.  Damage to acknowledged
            records is named with file and bytes, and the exit code is 1.  An unfinished tail is not damage:
            it was never acknowledged.""",
        examples=[
            ("wal verify ./data", "the whole data directory"),
            ("wal verify ./data/default/vnode-0 --json", "one log, for a program"),
        ],
        run=_verify,
    )
    _add_place(verify)
    repair = actions.add(
        "repair",
        summary="go on without records that are damaged",
        description="""Show what is damaged in a data directory that no server has open, and with
            --accept-loss go on without it: what is still good stays; what is given up is counted and kept in
            files beside the log.  This loses records that clients were told are stored; restore the files
            from a backup instead if there is one.""",
        examples=[
            ("wal repair ./data", "show the damage, change nothing"),
            ("wal repair ./data --accept-loss", "go on without what is damaged"),
        ],
        run=_repair,
    )
    repair.add_argument("path", metavar="DATA", help="data directory; its server must be stopped")
    repair.add_argument("--accept-loss", action="store_true", help="give up what cannot be read")
    _configure_orphans(actions)


def _configure_describe(actions: Actions) -> None:
    describing = actions.add(
        "describe",
        summary="show journal, index and marks, and why each file is kept",
        description="""Show, for each log, the frames since the last checkpoint, which a start replays, the
            marks (the two checkpoints), the indexes, and why each segment is kept: it is replayed, it is
            needed if the newest mark is lost, it has batches that a stream still needs, or it is on its way
            out.  Only headers are read.""",
        examples=[
            ("wal describe ./data", "every log of a data directory"),
            ("wal describe ./data/default/vnode-0 --json", "one log, for a program"),
        ],
        run=_describe,
    )
    _add_place(describing)


def _configure_orphans(actions: Actions) -> None:
    orphans = actions.add(
        "orphans",
        summary="show streams that belong to no topic",
        description="""Show the streams in the logs that no topic owns although no record says that theirs was
            deleted: the catalogue lost records, or is older than the logs.  They are kept until they are
            adopted.  The partitions of one topic have consecutive numbers, on one vnode after another; those
            that never had a record are missing.""",
        examples=[
            ("wal orphans ./data", "each stream on one line"),
            ("wal orphans ./data --json", "the same, for a program"),
        ],
        run=_orphans,
    )
    orphans.add_argument("path", metavar="DATA", help="data directory; its server must be stopped")
    orphans.add_argument("--json", action="store_true", help="print one JSON object per line")
    adopt = actions.add(
        "adopt",
        summary="make such streams a topic",
        description="""Make streams without a topic a new one, whose partition 0 is the first of them.  It can
            then be read, or deleted, like any other.""",
        examples=[
            ("wal adopt ./data found --streams 5-8", "a topic of four partitions"),
            ("wal adopt ./data found --streams 5 --database metrics", "one partition, in a database"),
        ],
        run=_adopt,
    )
    adopt.add_argument("path", metavar="DATA", help="data directory; its server must be stopped")
    adopt.add_argument("topic", metavar="TOPIC", help="name of the new topic")
    adopt.add_argument("--streams", required=True, metavar="FIRST-LAST", help="streams of its partitions")
    adopt.add_argument("--database", default="default", metavar="NAME", help="database that has them")


def run(arguments: argparse.Namespace) -> int:
    """Run the action named.  Raises: CommandError."""
    try:
        return dispatch(arguments)
    except (DiskError, StoreError) as error:
        raise CommandError(str(error)) from error


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="data directory, folder of a log, or segment file")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def _inspect(arguments: argparse.Namespace) -> int:
    disk = OsDisk()
    place = find_place(disk, arguments.path)
    lines = (
        _frame_lines(disk, place.segment, arguments) if place.segment else _summaries(disk, place, arguments)
    )
    for line in lines:
        print(line)
    return OK


def _describe(arguments: argparse.Namespace) -> int:
    disk = OsDisk()
    place = find_place(disk, arguments.path)
    if place.segment:
        raise CommandError(f"{place.segment} is one segment; name its folder, or the data directory")
    for log in place.logs:
        report = storage_report(disk, log)
        print(json_line(describe_tree(report)) if arguments.json else "\n".join(describe_lines(report)))
    return OK


def _frame_lines(disk: Disk, segment: str, arguments: argparse.Namespace) -> Iterator[str]:
    if not arguments.json:
        yield FRAME_HEADINGS
    try:
        for frame in frames(disk, segment):
            if arguments.json:
                yield json_line(frame_tree(frame, entries=arguments.entries))
                continue
            yield frame_line(frame)
            if arguments.entries:
                yield from map(entry_line, frame.entries)
    except ValueError as error:  # not a segment
        raise CommandError(str(error)) from error


def _summaries(disk: Disk, place: Place, arguments: argparse.Namespace) -> Iterator[str]:
    for log in place.logs:
        for segment in segment_paths(disk, log):
            if arguments.entries:
                yield f"{segment}:"
                yield from _frame_lines(disk, segment, arguments)
                continue
            try:
                tree = summary_tree(segment, frames(disk, segment))
            except ValueError as error:
                yield json_line({"segment": segment, "problem": str(error)}) if arguments.json else str(error)
            else:
                yield json_line(tree) if arguments.json else summary_line(tree)


def _verify(arguments: argparse.Namespace) -> int:
    disk = OsDisk()
    told: set[Damage] = set()
    place = find_place(disk, arguments.path)
    lost = dict(lost_vnodes(disk, place.data)) if place.data else {}
    for directory, problem in lost.items():
        tree = {"log": directory, "good": False, "damages": [problem]}
        print(json_line(tree) if arguments.json else f"{directory}\n  damage: {problem}", flush=True)
    place = place._replace(logs=tuple(log for log in place.logs if log not in lost))
    for report in _reports(disk, place):
        tree, lines = _told_log(report, told) if isinstance(report, LogReport) else _told_segment(report)
        print(json_line(tree) if arguments.json else "\n".join(lines), flush=True)
        told.update(report.damages)
    return FAILED if told or lost else OK


def _told_segment(report: SegmentReport) -> tuple[Tree, list[str]]:
    lines = [segment_line(report), *(f"  damage: {damage}" for damage in report.damages)]
    if report.note:
        lines.append(f"  note: {report.note}")
    return segment_tree(report), lines


def _told_log(report: LogReport, told: set[Damage]) -> tuple[Tree, list[str]]:
    """Return what to print of a log, without the damage of its segments that has been `told`."""
    damages = (damage for damage in report.damages if damage not in told)
    notes = (f"  note: {note}" for note in report.notes)
    return log_tree(report), [log_line(report), *(f"  damage: {damage}" for damage in damages), *notes]


def _reports(disk: Disk, place: Place) -> Iterator[SegmentReport | LogReport]:
    if place.segment:
        yield verify_segment(disk, place.segment)
    for log in place.logs:
        yield from verify_log(disk, log)


def _repair(arguments: argparse.Namespace) -> int:
    from time import time_ns

    from wal.store_repair import repair_store  # it imports the whole engine, which inspecting does not need

    unmended = False
    path = arguments.path.rstrip("/") or "/"
    now_ms = time_ns() // 1_000_000
    for directory, report in repair_store(OsDisk(), path, now_ms=now_ms, accept_loss=arguments.accept_loss):
        if not report.damages:
            print(f"{directory}: good")
            continue
        print("\n".join(f"{directory}: damage: {damage}" for damage in report.damages))
        unmended |= not report.mended
        if report.mended:
            kept = f"; what was there is kept in {', '.join(report.kept)}" if report.kept else ""
            print(f"{directory}: repaired, {report.lost_frames} frames given up{kept}")
    if unmended:
        raise CommandError(
            "nothing was changed; restore the files named, or give up what is damaged with --accept-loss"
        )
    return OK


def _orphans(arguments: argparse.Namespace) -> int:
    from console.wal_orphans import show  # it imports the whole broker, which inspecting does not need

    for line in show(arguments.path.rstrip("/") or "/", as_json=arguments.json):
        print(line)
    return OK


def _adopt(arguments: argparse.Namespace) -> int:
    from console.wal_orphans import adopt

    path = arguments.path.rstrip("/") or "/"
    print(adopt(path, arguments.topic, arguments.streams, arguments.database))
    return OK
