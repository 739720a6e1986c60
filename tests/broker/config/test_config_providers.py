"""References to values that are kept outside a file of properties."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.config.config_keys import ConfigError
from broker.config.config_providers import resolved
from broker.config.properties import Property, parsed

CLASSES = "org.apache.kafka.common.config.provider."
ALL = f"""
config.providers=env, file,dir
config.providers.env.class={CLASSES}EnvVarConfigProvider
config.providers.file.class={CLASSES}FileConfigProvider
config.providers.dir.class={CLASSES}DirectoryConfigProvider
"""


def read(text: str, **environment: str) -> dict[str, str]:
    found, _ = resolved(entries(text), environment)
    return {name: entry.value for name, entry in found.items()}


def entries(text: str) -> dict[str, Property]:
    return {entry.key: entry for entry in parsed(text, "f")}


def test_values_come_from_the_environment_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "secrets.properties").write_text("key\\ one=from \\u0066ile\n")
    (tmp_path / "password").write_text("from folder")
    text = f"{ALL}a=<${{env:NAME}}>\nb=${{file:{tmp_path}/secrets.properties:key one}}\n"
    text += f"c=${{dir:{tmp_path}:password}} and ${{env:NAME}}"
    assert read(text, NAME="from ${env:NAME}") == {
        "a": "<from ${env:NAME}>",
        "b": "from file",
        "c": "from folder and from ${env:NAME}",
    }


def test_keys_about_providers_are_told_apart() -> None:
    found, about = resolved(entries(f"{ALL}a=b"), {})
    assert list(found) == ["a"]
    assert len(about) == 4


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a=${env:HOME}", r"f, line 1: 'a' refers to the config provider 'env', which config.providers does"),
        (f"{ALL}a=${{env:NONE}}", r"line 6: 'a' refers to the environment variable 'NONE', which is not set"),
        (f"{ALL}a=${{env:x:NAME}}", "by the path 'x'"),
        (f"{ALL}a=${{file:/none/at/all:k}}", "a file that is of no use: cannot read /none/at/all: No such"),
        (f"{ALL}a=${{file:here:k}}", "the path 'here'; give one that begins at /"),
        (f"{ALL}a=${{dir:/tmp:../x}}", "give a name without folders"),
        (f"{ALL}a=${{dir:/tmp:..}}", "give a name without folders"),
        (f"{ALL}a=${{dir:/none:x}}", "/none/x, which cannot be read: No such file"),
        (
            "config.providers=x\nconfig.providers.x.class=org.acme.Vault",
            "2: .* must name one of .*no other",
        ),
        ("config.providers=x", "line 1: 'config.providers.x.class' must name one of"),
        (f"{ALL}config.providers.env.param.other=1", "is no parameter here; there is allowlist.pattern"),
        (f"{ALL}config.providers.env.param.allowlist.pattern=(", "is no pattern"),
        (f"{ALL}config.providers.env.param.allowlist.pattern=A.*\na=${{env:NAME}}", "does not allow"),
        (
            f"{ALL}config.providers.file.param.allowed.paths=/a\na=${{file:/a/../b/x:k}}",
            "does not allow",
        ),
        (f"{ALL}config.providers.dir.param.allowed.paths=/etc\na=${{dir:/tmp:k}}", "does not allow"),
    ],
)
def test_a_reference_that_leads_to_nothing_is_told_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        read(text, NAME="secret")


def test_a_file_without_the_key_is_told_and_no_value_of_it(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("other=secret\n")
    with pytest.raises(ConfigError, match=r"the key 'k' of .*/s, which is not in it") as caught:
        read(f"{ALL}a=${{file:{tmp_path}/s:k}}")
    assert "secret" not in str(caught.value)


def test_a_link_out_of_the_allowed_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").write_text("x")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    text = f"{ALL}config.providers.dir.param.allowed.paths={tmp_path}/in\na=${{dir:{tmp_path}/in:link}}"
    with pytest.raises(ConfigError, match="does not allow"):
        read(text)
