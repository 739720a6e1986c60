"""The place of a segment in its log: what its header must say to continue the segment before it."""

from __future__ import annotations

from typing import NamedTuple

from wal.errors import UnknownFormat
from wal.format import READABLE_FORMATS, SegmentHeader, unknown_format


class Due(NamedTuple):
    """The beginning that the next segment must have."""

    base_version: int
    """The version in its name."""
    vnode_id: int
    sequence: int | None
    """Its first frame; None when only the checkpoint knew the segments before it."""
    crc: int | None
    """The crc of its predecessor; None after frames given up by a repair."""
    replay_from: int
    """The first frame that the checkpoint does not cover."""

    def problem(self, header: SegmentHeader | None) -> str:
        """Return why a segment with this header does not belong here; "" when it does."""
        if header is None:
            return "both copies of the segment header have a wrong magic, format or crc"
        if header.base_version != self.base_version:
            return f"the file holds the segment of version {header.base_version}: it was renamed or copied"
        if header.vnode_id != self.vnode_id:
            return f"the file belongs to vnode {header.vnode_id}, but this is vnode {self.vnode_id}"
        first = header.base_sequence
        if self.sequence is None or self.sequence < first <= self.replay_from:
            # The first segment after those that the checkpoint lists: any between them were retired.
            if first <= self.replay_from:
                return ""
            return f"it begins with frame {first}, but frame {self.replay_from} is due before it"
        if first != self.sequence:
            return f"it begins with frame {first}, but frame {self.sequence} is due: a segment is missing"
        if self.crc is not None and header.previous_crc != self.crc:
            return (
                f"it repeats crc {header.previous_crc:#010x} of its predecessor, which has {self.crc:#010x}"
            )
        return ""


def is_misplaced(header: SegmentHeader, base_version: int, sequence: int) -> bool:
    """Return whether a file cannot be what follows a segment that ends before the frame `sequence`.

    It is a copy of another segment, or bears the name of one: nothing is missing before it.
    """
    return header.base_version != base_version or header.base_sequence < sequence


def refuse_unknown_format(path: str, start: bytes) -> None:
    """Refuse a segment of a later program; a repair would take it for damaged and give up its records.

    Raises: UnknownFormat.
    """
    version = unknown_format(start)
    if version is not None:
        known = " and ".join(map(str, READABLE_FORMATS))
        raise UnknownFormat(
            f"{path}: the segment has format {version}, but this version of kawal reads {known}; use the "
            "version that wrote it or a newer one"
        )
