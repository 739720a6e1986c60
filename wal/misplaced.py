"""Segments that do not lie under their own name: a repair puts them back, as their frames are intact.

A segment's header tells its vnode and its first version, so a file whose name says otherwise was renamed, or
has changed places with another.  It belongs to the log that has the segment before or after it: one repeats
the crc of the other's last frame.  It goes back there, if no other file has its name and its place.

    all of them        renamed to <name>.wal.found, where they belong        directories synced
    each               renamed to <name>.wal, or *.damaged if that is there  directory synced

A crash between leaves *.found files, which the next repair takes up.  Until then the segments are missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from wal.disk import Disk
from wal.format import FIRST_FRAME_POSITION, decode_segment_start, seed_of
from wal.scan import Scan
from wal.segment import DAMAGED_SUFFIX, SUFFIX, base_version_of, segment_name
from wal.unreadable import PatientReader

FOUND_SUFFIX: Final = ".found"


class LogPlace(NamedTuple):
    """A log's directory and the id of its vnode, which the headers of its segments have."""

    directory: str
    vnode_id: int


_Edge = tuple[int, int]
"""The first frame of a segment, and the crc of the frame before it."""

_FIRST: Final[_Edge] = (0, 0)
"""That of the first segment of every log."""


class _Found(NamedTuple):
    """A segment, as its file tells it."""

    place: LogPlace
    name: str
    vnode_id: int
    base_version: int
    base_sequence: int
    previous_crc: int
    salt: int

    @property
    def path(self) -> str:
        return f"{self.place.directory}/{self.name}"

    @property
    def begin(self) -> _Edge:
        return self.base_sequence, self.previous_crc

    @property
    def is_misplaced(self) -> bool:
        own = self.vnode_id, segment_name(self.base_version)
        return own != (self.place.vnode_id, self.name)


def put_back(disk: Disk, logs: Iterable[LogPlace]) -> dict[str, list[str]]:
    """Give misplaced segments of these logs their places again; return what was done, by directory.

    Raises: DiskError.
    """
    places = list(logs)
    done: dict[str, list[str]] = {}
    folders = set()
    for segment, home in _homes(disk, places):
        wanted = f"{home.directory}/{segment_name(segment.base_version)}"
        if segment.path != wanted + FOUND_SUFFIX:
            disk.rename(segment.path, wanted + FOUND_SUFFIX)
        done.setdefault(home.directory, []).append(
            f"{segment.path} is the segment {wanted}, and was put back"
        )
        folders |= {segment.place.directory, home.directory}
    for folder in sorted(folders):
        disk.sync_directory(folder)
    for place in places:
        _place_found(disk, place.directory)
    return done


class _Log:
    """The segments that are settled in a log, by what their neighbours repeat."""

    def __init__(self) -> None:
        self._bases: set[int] = set()
        self._begins: set[_Edge] = set()
        self._ends: set[_Edge] = set()

    def add(self, segment: _Found, end: _Edge) -> None:
        self._bases.add(segment.base_version)
        self._begins.add(segment.begin)
        self._ends.add(end)

    def is_free(self, segment: _Found) -> bool:
        return segment.base_version not in self._bases

    def has_neighbour(self, segment: _Found, end: _Edge) -> bool:
        return (segment.begin != _FIRST and segment.begin in self._ends) or (
            end != _FIRST and end in self._begins
        )


def _homes(disk: Disk, places: list[LogPlace]) -> list[tuple[_Found, LogPlace]]:
    """Return the misplaced segments that have a place, each with its log."""
    every = [found for place in places for found in _segments(disk, place)]
    twins = Counter((segment.vnode_id, segment.name) for segment in every)
    if len(twins) == len(every) and not any(segment.is_misplaced for segment in every):
        return []
    ends = {segment.path: _end(disk, segment) for segment in every}
    strays = [segment for segment in every if segment.is_misplaced] + _exchanged(every, ends)
    logs = _logs_of(places, set(every).difference(strays), ends)
    strays.sort(key=_base_version)
    homes: list[tuple[_Found, LogPlace]] = []
    while found := [*_neighbours(strays, logs, ends)] or _pair(strays, logs, ends):
        homes += found
        settled = {segment.path for segment, _ in found}
        strays = [segment for segment in strays if segment.path not in settled]
    # They are renamed first: after a crash their names alone tell their places.
    return [*_left(strays, homes, logs), *homes]


def _logs_of(
    places: Iterable[LogPlace], segments: Iterable[_Found], ends: dict[str, _Edge]
) -> dict[LogPlace, _Log]:
    logs = {place: _Log() for place in places}
    for segment in segments:
        logs[segment.place].add(segment, ends[segment.path])
    return logs


def _exchanged(every: list[_Found], ends: dict[str, _Edge]) -> list[_Found]:
    """Return the segments that have changed places with one of the same name in a log of the same id.

    Each database has a vnode 0, and the catalogue is one: only neighbours tell their segments apart. Of two
    such segments one may be all that its log has, and so without neighbours anywhere.
    """
    named = [segment for segment in every if not segment.is_misplaced]
    logs = _logs_of({segment.place for segment in named}, named, ends)
    twins = {(segment.place, segment.name): segment for segment in named}
    found = set()
    for segment in named:
        end = ends[segment.path]
        if logs[segment.place].has_neighbour(segment, end):
            continue
        for place, log in logs.items():
            if place.vnode_id == segment.vnode_id and log.has_neighbour(segment, end):
                found.add(segment)
                twin = twins.get((place, segment.name))
                if twin is not None and not log.has_neighbour(twin, ends[twin.path]):
                    found.add(twin)
    return sorted(found)


def _left(
    strays: list[_Found], homes: list[tuple[_Found, LogPlace]], logs: dict[LogPlace, _Log]
) -> Iterator[tuple[_Found, LogPlace]]:
    """Yield the segments without neighbours of which another one, that has some, lay in the place."""
    for segment in strays:
        for other, home in homes:
            of_one_name = (other.name, other.vnode_id) == (segment.name, segment.vnode_id)
            if of_one_name and home == segment.place and logs[other.place].is_free(segment):
                yield segment, other.place
                break


def _neighbours(
    strays: list[_Found], logs: dict[LogPlace, _Log], ends: dict[str, _Edge]
) -> Iterator[tuple[_Found, LogPlace]]:
    """Settle the segments that follow or precede one that is settled, and yield them."""
    for segment in strays:
        end = ends[segment.path]
        for place, log in logs.items():
            is_of_vnode = place.vnode_id == segment.vnode_id
            if is_of_vnode and log.is_free(segment) and log.has_neighbour(segment, end):
                log.add(segment, end)
                yield segment, place
                break


def _pair(
    strays: list[_Found], logs: dict[LogPlace, _Log], ends: dict[str, _Edge]
) -> list[tuple[_Found, LogPlace]]:
    """Settle one of two neighbours that have changed places in their own log, if there are such."""
    among = {place: _Log() for place in logs}
    own = [segment for segment in strays if segment.vnode_id == segment.place.vnode_id]
    for segment in own:
        among[segment.place].add(segment, ends[segment.path])
    for segment in own:
        log, end = logs[segment.place], ends[segment.path]
        if log.is_free(segment) and among[segment.place].has_neighbour(segment, end):
            log.add(segment, end)
            return [(segment, segment.place)]
    return []


def _base_version(segment: _Found) -> int:
    return segment.base_version


def _segments(disk: Disk, place: LogPlace) -> Iterable[_Found]:
    for name in disk.list(place.directory):
        if base_version_of(name.removesuffix(FOUND_SUFFIX)) is None:
            continue
        file = disk.open(f"{place.directory}/{name}", read_only=True)
        try:
            header, _ = decode_segment_start(PatientReader(file).read_at(0, FIRST_FRAME_POSITION))
        finally:
            file.close()
        if header is not None:
            yield _Found(
                place, name, header.vnode_id, header.base_version, header.base_sequence, header.previous_crc,
                header.salt,
            )  # fmt: skip


def _end(disk: Disk, segment: _Found) -> _Edge:
    """Return the frame after the segment's last one, and the crc of that: its successor repeats both."""
    file = disk.open(segment.path, read_only=True)
    sequence, crc = segment.base_sequence, 0
    try:
        start, seed = FIRST_FRAME_POSITION, seed_of(segment.salt)
        for frame in Scan(file, seed=seed, position=start, sequence=sequence, skim=True):
            sequence, crc = frame.next_sequence, frame.header_crc
    finally:
        file.close()
    return sequence, crc


def _place_found(disk: Disk, directory: str) -> None:
    names = [name for name in disk.list(directory) if name.endswith(SUFFIX + FOUND_SUFFIX)]
    for name in names:
        wanted = f"{directory}/{name.removesuffix(FOUND_SUFFIX)}"
        taken = disk.exists(wanted)
        disk.rename(f"{directory}/{name}", wanted + DAMAGED_SUFFIX if taken else wanted)
    if names:
        disk.sync_directory(directory)
