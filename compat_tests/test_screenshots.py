"""The pictures of the documentation are taken as `make screenshots` takes them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from compat_tests import screenshots

pytestmark = pytest.mark.only_kawal(reason="they are pictures of the gateway's console")

PNG = b"\x89PNG\r\n\x1a\n"


def test_each_picture_is_taken_whole_and_named_in_the_documentation(tmp_path: Path) -> None:
    assert screenshots.main([str(tmp_path)], ports=(0, 0)) == 0
    assert {path.name for path in tmp_path.iterdir()} == {f"console-{name}.png" for name in screenshots.PAGES}
    text = (screenshots.PICTURES.parent / "console.md").read_text()
    for path in tmp_path.iterdir():
        data = path.read_bytes()
        assert data.startswith(PNG)
        assert struct.unpack(">II", data[16:24]) == (
            screenshots.WINDOW["width"],
            screenshots.WINDOW["height"],
        )
        assert f"pictures/{path.name}" in text
        assert (screenshots.PICTURES / path.name).exists()
