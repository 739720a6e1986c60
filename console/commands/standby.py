"""`kawal standby`: follow the copy of a server in an object store, and take its place once it is silent."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from broker.config.config_keys import ConfigProblem
from broker.config.listener_specs import WILDCARDS
from broker.config.node_keys import inter_broker_spec
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
    from broker.config.config import Config
    from wal.objects import ObjectStore
    from wal.remote.heartbeat import Silence
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
        (kawal.remote.lag.ms), and a server that is cut off from the store goes on acknowledging.

        With kawal.cluster.nodes it follows node --node, and takes its place under the same node id: the other
        nodes and clients find it at its own addresses.""",
        [
            ("standby --config kawal.toml --data /var/lib/kawal-standby", "three missing signs"),
            ("standby --config kawal.toml --data /tmp/standby --after 30", "after 30 seconds of silence"),
            ("standby --config kawal.toml --node 1 --data /var/lib/node-1", "of one of several nodes"),
            ("standby --config kawal.toml --node 1 --data /var/lib/node-1 --now", "move a node here"),
        ],
    )
    add_flags(parser)
    parser.add_argument(
        "--after", metavar="SECONDS", type=float, help="silence after which to take over (default 3 signs)"
    )
    parser.add_argument(
        "--now",
        action="store_true",
        help="take over once the copy was followed, also from a server that is alive: it moves here",
    )
    parser.add_argument("--cluster", metavar="ID", help="cluster's id, where several have copies there")


def run(arguments: argparse.Namespace) -> int:
    """Follow, take over, serve.  Raises: CommandError."""
    config = loaded_config(arguments).config
    if config.kawal_remote_store is None:
        raise UsageError("a standby follows a copy: give the server's kawal.remote.store")
    if arguments.after is not None and not arguments.after > 0:
        raise UsageError("--after takes seconds above 0")
    if arguments.now and arguments.after is not None:
        raise UsageError("--now does not wait for a silence: leave out --after")
    if config.kawal_workers > 1:
        raise UsageError(
            f"kawal.workers={config.kawal_workers}: a standby follows one process, and takes its place; serve"
            " with one worker, or with several nodes that have directories of their own (kawal.cluster.nodes)"
        )
    _check_addresses(config)
    # Loaded for this alone.
    from broker.server.object_store import open_store
    from broker.server.store_place import place_of
    from wal.remote.mirror import Mirror, refuse_workers
    from wal.remote.places import node_folder
    from wal.remote.read_objects import read_cut
    from wal.remote.restore import clusters_in

    try:
        store = open_store(place_of(config), node_folder(config.kawal_cluster_node or 0))
        cluster = arguments.cluster or only_cluster(clusters_in(store), store.name)
        if (cut := read_cut(store, cluster)[0]) is not None:
            refuse_workers(cut, store.name)  # before a directory is made
        mirror = Mirror(store, OsDisk(), cluster_id=cluster, data=config.log_dirs)
        try:
            standby = Standby(store, mirror, cluster, arguments.after)
            standby.trust()
            if arguments.now:
                standby.catch_up()
            else:
                standby.wait()
            seconds = drive(mirror.take_over(token_hex(8)))
        finally:
            mirror.close()
    except (DiskError, StoreError, ObjectStoreError, ConfigProblem) as error:
        raise CommandError(str(error)) from error
    _tell(f"took over within {seconds:.1f} s")
    arguments.print_config, arguments.add_user, arguments.password_file = False, None, None
    return serve.serve(arguments, took_over=True)


def _check_addresses(config: Config) -> None:
    """Check that the other nodes can find this one at an address of its own.  Raises: UsageError."""
    if not config.kawal_cluster_nodes:
        return
    spec = inter_broker_spec(config)
    if (spec.advertised or spec.endpoint).host in WILDCARDS:
        raise UsageError(
            f"the listener {spec.text} has no address by which the other nodes find this one, as"
            " kawal.cluster.nodes has that of the machine before: give --listen HOST:PORT or"
            " advertised.listeners"
        )


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

    def trust(self) -> None:
        """Return once the store was seen to have atomic writes: a take-over has no time to try that."""
        from broker.server.object_probe import probe

        while True:
            try:
                probe(self._store, token_hex(8))
                return
            except ObjectStoreError as error:
                self._tell_away(error)
                time.sleep(LOOK_SECONDS_MAX)

    def catch_up(self) -> None:
        """Return once the directory has what the copy has, for a server that moves here.

        Raises: StoreError when what it acknowledges meanwhile would be lost; as `wait`.
        """
        while not self._followed:
            if not self._has(lambda: drive(self._mirror.follow())):
                time.sleep(LOOK_SECONDS_MAX)
                continue
            cut = self._mirror.cut
            if cut is None or cut.journal is None:
                raise StoreError(
                    f"{self._store.name}: the server has no database of durability 'remote', so what is newer"
                    " than its copy would be lost: end it first, and leave out --now"
                )
            self._tell_state("the server")
        _tell("takes over from the server, which ends by itself with exit status 1")

    def _has(self, call: Callable[[], object]) -> bool:
        """Make a call of the store; False: it is away, and is tried again.  Raises: StoreRefuses."""
        try:
            call()
        except StoreRefuses:
            raise
        except ObjectStoreError as error:
            self._tell_away(error)
            return False
        return True

    def _tell_away(self, error: ObjectStoreError) -> None:
        if self._told is None or time.monotonic() > self._told + TELL_SECONDS:
            self._told = time.monotonic()
            _tell(f"the copy cannot be followed now, which is tried again: {error}")

    def _look(self, silence: Silence) -> None:
        from wal.remote.heartbeat import read_sign

        def look() -> None:
            sign = read_sign(self._store, self._cluster)
            if sign is not None:
                silence.saw(sign, _now_ms())
                drive(self._mirror.follow())
                self._tell_state(sign.address)

        if not self._has(look):
            silence.could_not_look()

    def _tell_state(self, server: str) -> None:
        """Say once that the directory has what the copy has."""
        cut = self._mirror.cut
        if cut is None or self._followed:
            return
        self._followed = True
        size = size_text(self._mirror.size_bytes)
        _tell(f"follows {server} by {self._store.name}: {len(cut.logs)} logs, {size}")


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def _tell(text: str) -> None:
    print(f"kawal standby: {text}", file=sys.stderr, flush=True)
