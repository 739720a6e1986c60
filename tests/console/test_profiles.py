"""Profiles in their file: read, written, and the address they give."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.errors import CommandError, UsageError
from console.profiles import Profiles, bootstrap_of, load, path_of, save


def test_they_are_kept_for_their_owner_alone(tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert load(environment) == Profiles()
    kept = Profiles("a", {"a": {"bootstrap": "h:1"}, "b": {"bootstrap": "h:2"}})
    save(kept, environment)
    assert load(environment) == kept
    assert path_of(environment).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "kawal").iterdir()] == ["profiles.json"]


def test_the_variable_wins_over_the_one_in_use(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path)}
    assert bootstrap_of(environment) is None
    save(Profiles("a", {"a": {"bootstrap": "h:1"}, "b": {"bootstrap": "h:2"}}), environment)
    assert bootstrap_of(environment) == "h:1"
    assert bootstrap_of({**environment, "KAWAL_PROFILE": "b"}) == "h:2"
    with pytest.raises(UsageError, match="there is no profile 'c'; there are: a, b"):
        bootstrap_of({**environment, "KAWAL_PROFILE": "c"})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"profiles": 5}', '{"profiles": {"a": 5}}'])
def test_a_file_of_another_kind_is_told(text: str, tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    path_of(environment).parent.mkdir()
    path_of(environment).write_text(text)
    with pytest.raises(CommandError, match=r"profiles\.json is not a file of 'kawal profile'"):
        load(environment)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "kawal").write_text("a file where the folder would be")
    with pytest.raises(CommandError, match=r"cannot write .*/kawal/profiles\.json: "):
        save(Profiles(), {"XDG_CONFIG_HOME": str(tmp_path)})
