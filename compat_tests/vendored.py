"""The files of others in the web console: `make vendored` fetches them again, for developers only.

    python -m compat_tests.vendored

The list beside the files says from where they are.  A tarball counts only if it has the integrity that the
list has, as npm writes it.  Files of one package that belong together become one file: htmx starts by itself,
and an extension in a file of its own may come too late for it.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import sys
import tarfile
import urllib.request
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "console" / "web" / "static" / "vendor"
LIST = FOLDER / "list.json"


def entries() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(LIST.read_text())
    return found


def tarball_of(entry: dict[str, Any]) -> tarfile.TarFile:
    """Fetch a tarball.  Raises: SystemExit when it is not the one of the list."""
    with urllib.request.urlopen(entry["tarball"], timeout=60) as answer:
        data = answer.read()
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    if integrity != entry["integrity"]:
        raise SystemExit(f"{entry['tarball']} has integrity {integrity}, not {entry['integrity']}")
    return tarfile.open(fileobj=io.BytesIO(data))


def member(tarball: tarfile.TarFile, name: str) -> bytes:
    stream = tarball.extractfile(name)
    assert stream is not None, f"{name} is no file"
    return stream.read()


def without_map(script: bytes) -> bytes:
    """Leave out the line that names a source map, which is not served."""
    return b"\n".join(line for line in script.splitlines() if not line.startswith(b"//# sourceMappingURL"))


def fetch(entry: dict[str, Any]) -> None:
    """Write the files of an entry, and their hash into it."""
    tarball = tarball_of(entry)
    joined = b";\n".join(without_map(member(tarball, name)).rstrip() for name in entry["files"]) + b"\n"
    (FOLDER / entry["into"]).write_bytes(joined)
    (FOLDER / entry["licence_into"]).write_bytes(member(tarball, entry["licence"]))
    entry["sha256"] = hashlib.sha256(joined).hexdigest()
    print(f"{entry['name']} {entry['version']}: {entry['into']}, {len(joined)} bytes")


def main() -> int:
    found = entries()
    for entry in found:
        fetch(entry)
    LIST.write_text(json.dumps(found, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
