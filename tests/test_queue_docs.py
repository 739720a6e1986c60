"""docs/queues.md: its table names tests that exist, its examples work, and it has every setting."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from broker.config.queue_keys import QUEUE_KEYS
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.gateway import Gateway
from tests.broker.kit import create

ROOT = Path(__file__).parents[1]


def rows() -> dict[str, list[str]]:
    page = (ROOT / "docs/queues.md").read_text()
    found = [line.strip("| ").split(" | ") for line in page.splitlines() if re.match(r"\| E\d+ \|", line)]
    return {cells[0]: cells[1:] for cells in found}


def test_all_features_have_a_row() -> None:
    assert list(rows()) == [f"E{number}" for number in range(1, 39)]


def test_every_row_has_a_test_that_exists() -> None:
    sources = [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("compat_tests/test_*.py")]
    known = {
        name for path in sources for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    for name, (feature, way, tests) in rows().items():
        named = re.findall(r"`(test_\w+)`", tests)
        assert all((feature, way, named)), name
        assert set(named) <= known, (name, set(named) - known)


RESOURCES = {"topics": 2, "groups": 32}


def examples() -> list[tuple[str, str, dict[str, str]]]:
    """Return the kind and the name of what the page configures, and the settings, as the tool reads them."""
    page = (ROOT / "docs/queues.md").read_text().replace("\\\n", " ")
    found = []
    for line in page.splitlines():
        if line.strip("`.").startswith("kafka-configs.sh"):
            words = shlex.split(line.strip("`."))
            options = {word: words[at + 1] for at, word in enumerate(words[:-1]) if word.startswith("--")}
            pairs = re.findall(r"([\w.]+)=(?:\[([^]]*)\]|([^,]*))(?:,|$)", options["--add-config"])
            settings = {name: listed or plain for name, listed, plain in pairs}
            found.append((options["--entity-type"], options["--entity-name"], settings))
    return found


def test_the_examples_are_accepted() -> None:
    gateway = Gateway()
    for name in ("jobs", "dlq.jobs"):
        create(gateway.client(), name)
    assert len(examples()) >= 6
    for kind, name, settings in examples():
        configs = [
            AlterableConfig(name=key, config_operation=0, value=value) for key, value in settings.items()
        ]
        resource = AlterConfigsResource(resource_type=RESOURCES[kind], resource_name=name, configs=configs)
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
        (result,) = gateway.client().call(request, 1).responses
        assert result.error_code == 0, (settings, result.error_message)


def test_every_setting_of_queues_is_documented() -> None:
    page = (ROOT / "docs/queues.md").read_text()
    topics = ("errors.deadletterqueue.group.enable", "kawal.share.ttl.ms", "kawal.share.deleted")
    names = [key.name for key in QUEUE_KEYS] + [*topics, "kawal.queue.max.records"]
    assert [name for name in names if f"`{name}" not in page] == []
