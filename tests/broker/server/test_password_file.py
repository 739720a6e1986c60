"""The file of hashed passwords is read again when it has changed, and a wrong one changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.security.plain_passwords import PasswordFileError, hashed_password
from broker.server.password_file import PasswordFile

HASHED = hashed_password("x", bytes(16))


def test_a_changed_file_is_read_and_a_wrong_one_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "users"
    path.write_text(f"a:{HASHED}\n")
    users = PasswordFile(str(path))
    assert users() == {"a": HASHED}
    path.write_text(f"a:{HASHED}\nbb:{HASHED}\n")
    assert users() == {"a": HASHED, "bb": HASHED}
    path.write_text("nonsense")
    assert users() == {"a": HASHED, "bb": HASHED}
    assert "users:1: not NAME:HASH" in caplog.text
    path.unlink()
    assert users() == {"a": HASHED, "bb": HASHED}
    assert "cannot be read" in caplog.text


@pytest.mark.parametrize("content", [None, b"nonsense", b"\xff"])
def test_a_start_without_a_good_file_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "users"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PasswordFileError, match="users"):
        PasswordFile(str(path))
