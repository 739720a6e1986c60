"""The keys of the audit log; a part of the table in server_keys.py."""

from __future__ import annotations

from broker.config.config_keys import ConfigType, Key, Value

STRING, BOOLEAN, INT, LONG = ConfigType.STRING, ConfigType.BOOLEAN, ConfigType.INT, ConfigType.LONG
MIB = 1 << 20


def file_problem(value: Value) -> str | None:
    """Return what is wrong with the name of the audit log's file."""
    if value is None:
        return None
    text = str(value)
    return None if text.startswith("/") and not text.endswith("/") else "it is no path of a file from /"


# fmt: off
AUDIT_KEYS: tuple[Key, ...] = (
    Key("kawal.audit.file", STRING, None,
        "File, by its path from /, to which logins, denied requests and changes are written, a JSON object "
        "in each line (docs/audit.md); unset: none.", check=file_problem),
    Key("kawal.audit.file.max.bytes", LONG, 64 * MIB,
        "Size above which a new file is begun; the old one gets the suffix .1, and those before it move on.",
        minimum=64 << 10, unit="bytes"),
    Key("kawal.audit.file.count", INT, 10, "Older files that are kept.", minimum=1, maximum=1000,
        unit="files"),
    Key("kawal.audit.sync", STRING, "batch",
        "Whether each `batch` of events is synced to the disk, or `none`, which leaves it to the system.",
        choices=("batch", "none")),
    Key("kawal.audit.topic", BOOLEAN, False,
        "Write the same events into the internal topic `__kawal_audit`, too, which no client may write."),
    Key("kawal.audit.when.full", STRING, "drop",
        "What happens while events cannot be written: `drop` them and count them, or `refuse` logins and "
        "changes with POLICY_VIOLATION; the log and the metrics tell it in both cases.",
        choices=("drop", "refuse")),
)
# fmt: on
