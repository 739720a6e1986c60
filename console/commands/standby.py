"""`kawal standby`: follow the copy of a server in an object store, and take its place once it is silent."""

from __future__ import annotations

import argparse
import sys
import time
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from broker.config.config_keys import ConfigProblem
from console.commands import serve
from console.copies import only_cluster
from console.errors import CommandError, UsageError
from console.help import describe
from console.server_flags import add_flags, loaded_config
from console.steps import drive, size_text
from wal.disk import OsDisk
from wal.disk_errors import DiskError
from wal.errors import StoreError
from wal.objects import ObjectStoreError, StoreRefuses

if TYPE_CHECKING:
    from wal.objects import ObjectStore
    from wal.remote.heartbeat import Sign, Silence
    from wal.remote.mirror import Mirror

INTERVALS: Final = 3
"""A server is silent after so many of its own intervals, unless --after says otherwise."""
LOOK_SECONDS_MAX: Final = 5.0
TELL_SECONDS: Final = 60.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Follow the copy that a server with kawal.remote.store and kawal.remote.heartbeat.ms keeps in an
        object store, in a directory of its own.  Once the server has given no sign for a while, end it by a
        fence in the store, take what it had acknowledged last, and serve as 'kawal serve' does with the same
        flags: clients need the addresses of both in bootstrap.servers.

        With kawal.durability=remote nothing that was acknowledged is lost, and a server that was only cut
        off acknowledges nothing more.  With durability disk what is newer than the copy is lost
        (kawal.remote.lag.ms), and a server that is cut off from the store goes on acknowledging.""",
        [
            ("standby --config kawal.toml --data /var/lib/kawal-standby", "three missing signs"),
            ("standby --config kawal.toml --data /tmp/standby --after 30", "after 30 seconds of silence"),
        ],
    )
    add_flags(parser)
    parser.add_argument(
        "--after", metavar="SECONDS", type=float, help="silence after which to take over (default 3 signs)"
    )
    parser.add_argument("--cluster", metavar="ID", help="cluster's id, where several have copies there")


def run(arguments: argparse.Namespace) -> int:
    """Follow, take over, serve.  Raises: CommandError."""
    config = loaded_config(arguments).config
    if config.kawal_remote_store is None:
        raise UsageError("a standby follows a copy: give the server's kawal.remote.store")
    if arguments.after is not None and not arguments.after > 0:
        raise UsageError("--after takes seconds above 0")
    # Loaded for this alone.
    from broker.server.object_store import open_store
    from broker.server.remote_setup import place_of
    from wal.remote.mirror import Mirror
    from wal.remote.restore import clusters_in

    try:
        store = open_store(place_of(config))
        cluster = arguments.cluster or only_cluster(clusters_in(store), store.name)
        mirror = Mirror(store, OsDisk(), cluster_id=cluster, data=config.log_dirs)
        try:
            Standby(store, mirror, cluster, arguments.after).wait()
            seconds = drive(mirror.take_over(token_hex(8)))
        finally:
            mirror.close()
    except (DiskError, StoreError, ObjectStoreError, ConfigProblem) as error:
        raise CommandError(str(error)) from error
    _tell(f"took over within {seconds:.1f} s")
    arguments.print_config, arguments.add_user, arguments.password_file = False, None, None
    return serve.serve(arguments, took_over=True)


class Standby:
    """The time before the take-over."""

    def __init__(self, store: ObjectStore, mirror: Mirror, cluster: str, after: float | None) -> None:
        self._store = store
        self._mirror = mirror
        self._cluster = cluster
        self._after = after
        self._told: float | None = None
        self._followed = False

    def wait(self) -> None:
        """Return once the server is silent for long enough.  Raises: StoreError, StoreRefuses; DiskError."""
        from wal.remote.heartbeat import Silence, read_sign

        sign = read_sign(self._store, self._cluster)
        if sign is None:
            raise StoreError(
                f"{self._store.name}: the server gives no signs of life; set kawal.remote.heartbeat.ms there"
            )
        after_ms = int(1_000 * self._after) if self._after is not None else INTERVALS * sign.interval_ms
        silence = Silence(after_ms)
        while not silence.is_long(_now_ms()):
            self._look(silence)
            time.sleep(min(sign.interval_ms / 2_000, after_ms / 4_000, LOOK_SECONDS_MAX))
        _tell(f"the server {sign.address} has been silent for {silence.lasted_ms(_now_ms()) / 1_000:.1f} s")

    def _look(self, silence: Silence) -> None:
        from wal.remote.heartbeat import read_sign

        try:
            sign = read_sign(self._store, self._cluster)
            if sign is not None:
                silence.saw(sign, _now_ms())
                drive(self._mirror.follow())
                self._tell_state(sign)
        except StoreRefuses:
            raise
        except ObjectStoreError as error:
            silence.could_not_look()
            if self._told is None or time.monotonic() > self._told + TELL_SECONDS:
                self._told = time.monotonic()
                _tell(f"the copy cannot be followed now, which is tried again: {error}")

    def _tell_state(self, sign: Sign) -> None:
        """Say once that the directory has what the copy has."""
        cut = self._mirror.cut
        if cut is None or self._followed:
            return
        self._followed = True
        size = size_text(self._mirror.size_bytes)
        _tell(f"follows {sign.address} by {self._store.name}: {len(cut.logs)} logs, {size}")


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def _tell(text: str) -> None:
    print(f"kawal standby: {text}", file=sys.stderr, flush=True)
