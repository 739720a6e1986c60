"""The file with the cluster's secret: whatever is wrong with it is said in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.server.listeners import StartError
from broker.server.node_secret import read_secret


def secret_file(directory: Path, data: bytes, mode: int = 0o600) -> str:
    path = directory / "secret"
    path.write_bytes(data)
    path.chmod(mode)
    return str(path)


def test_white_space_around_a_secret_is_no_part_of_it(tmp_path: Path) -> None:
    assert read_secret(secret_file(tmp_path, b" 0123456789abcdef\n")) == b"0123456789abcdef"
    assert read_secret(secret_file(tmp_path, b"0123456789abcdef", 0o400)) == b"0123456789abcdef"


@pytest.mark.parametrize(
    ("data", "mode", "sentence"),
    [
        (b"0123456789abcde\n", 0o600, "holds 15 bytes, and a secret has 16 or more"),
        (b"", 0o600, "holds 0 bytes"),
        (bytes(4_097), 0o600, "is longer than 4096 bytes"),
        (b"0123456789abcdef", 0o640, r"other users of this machine \(mode 0640\)"),
        (b"0123456789abcdef", 0o604, r"other users of this machine \(mode 0604\)"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, data: bytes, mode: int, sentence: str) -> None:
    with pytest.raises(StartError, match=sentence):
        read_secret(secret_file(tmp_path, data, mode))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"/none \(kawal.cluster.secret.file\) cannot be read: no such file"):
        read_secret(str(tmp_path / "none"))
