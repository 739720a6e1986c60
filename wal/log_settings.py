"""The settings of a log while it runs: its options, and the time of day."""

from __future__ import annotations

from dataclasses import replace

from wal.commit import Advanced
from wal.format import COPIES_BIT
from wal.options import LogOptions
from wal.tiering import LogTiering


class LogSettings(LogTiering):
    """The part of `VnodeLog` that is told how to work."""

    @property
    def options(self) -> LogOptions:
        """The options in effect."""
        return self._state.options

    def change_options(self, options: LogOptions) -> None:
        """Apply these options from now on, except for identity, vnode id and cache sizes.

        A change of durability to `disk` takes effect with the next commit, whose sync covers all
        bytes written before.
        """
        before = self._state.options
        self._state.options = replace(
            options,
            vnode_id=before.vnode_id,
            identity=before.identity,
            tail_cache_bytes=before.tail_cache_bytes,
            index_cache_bytes=before.index_cache_bytes,
        )
        self._state.producers.configure(options)
        self._state.named.configure(options)
        if options.durability != "remote":
            self._state.behind = False
        if self._state.spare is not None and options.segment_bytes != before.segment_bytes:
            # It has the old size; the next one takes its name.
            self._state.spare.close()
            self._state.spare = None

    def hide_replayed(self) -> None:
        """Show nothing of what the start found after the checkpoint, until `show_replayed`."""
        state = self._state
        if state.replayed is not None and state.replayed.version is not None:
            state.hidden = state.replayed
        state.replayed = None

    def show_replayed(self) -> list[Advanced]:
        """Show it, as the object store has it; return the streams that readers may read further."""
        state = self._state
        hidden, state.hidden = state.hidden, None
        if hidden is None:
            return []
        known = [state.streams[each] for each in hidden.starts if each in state.streams]
        return [
            Advanced(stream.stream_id, stream.high_watermark, hidden.sizes[stream.stream_id])
            for stream in known
            if stream.stream_id < COPIES_BIT
        ]

    def set_wall_clock(self, *, now_ms: int, wall_ms: int) -> None:
        """Set the wall clock's time, which frames carry: backups and retention's guard use it."""
        self._state.wall_offset_ms = wall_ms - now_ms
