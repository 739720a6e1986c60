"""Kawal from its wheel and its sdist, in environments and projects that have packages of the same names."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from compat_tests.distributions import build, problems_of, sums_of
from compat_tests.installations import CLASHING, ROOT, Environment

pytestmark = pytest.mark.only_kawal("about our own distributions")

EXAMPLE = re.compile(r"```\w+\n# (\S+\.(?:py|ini))\n(.*?)```", re.DOTALL)

JOB = """
[job]
name = "land-orders"
[source]
bootstrap = "{bootstrap}"
topics = ["orders"]
[schema]
mode = "json"
columns = "n int not null"
[sink]
path = "lake/orders"
[spark]
quick_start = true
driver_memory = "512m"
"""


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build(tmp_path_factory.mktemp("dist"))


def test_distributions_are_ready_to_publish_and_the_same_when_built_again(
    distributions: list[Path], tmp_path: Path
) -> None:
    assert problems_of(distributions) == []
    assert sums_of(build(tmp_path)) == sums_of(distributions)


def test_the_lines_for_pip_in_install_md_work_as_printed(distributions: list[Path], tmp_path: Path) -> None:
    """Without what Kawal requires, which would come from an index; its version can be told without."""
    page = (ROOT / "docs/install.md").read_text()
    (lines,) = re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    lines = lines.replace("/opt/kawal", str(tmp_path / "kawal")).replace(
        "dist/", f"{distributions[0].parent}/"
    )
    ended = subprocess.run(
        ["bash", "-euc", lines],
        env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1].startswith("kawal 0.")


def test_both_can_be_installed_from_an_index(distributions: list[Path], tmp_path: Path) -> None:
    for path in distributions:
        folder = tmp_path / "simple" / path.name.split("-")[0].replace("_", "-")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / path.name).write_bytes(path.read_bytes())
    handler = partial(QuietHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        index = f"http://127.0.0.1:{server.server_port}/simple/"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--ignore-installed"]
        options = ["--index-url", index, "--target", str(tmp_path / "target")]
        subprocess.run([*command, *options, "kawal", "kawal-pytest"], timeout=240, check=True)
        server.shutdown()
    there = {path.name for path in (tmp_path / "target").iterdir() if "dist-info" not in path.name}
    assert there == {"kawal", "kawal_pytest", "bin"}


class QuietHandler(SimpleHTTPRequestHandler):
    """A server of files that logs nothing."""

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module", params=[".whl", ".tar.gz"])
def environment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, distributions: list[Path]
) -> Environment:
    chosen = [path for path in distributions if path.name.endswith(request.param)]
    return Environment(tmp_path_factory.mktemp("environment"), chosen, strangers=CLASHING)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project like Django's, whose modules and folders have the names of Kawal's packages."""
    for name in CLASHING:
        (tmp_path / f"{name}.py").write_text(f"raise RuntimeError('{name} of the project')\n")
    (tmp_path / "manage.py").write_text("import views\n")
    return tmp_path


@pytest.fixture
def bootstrap(environment: Environment, project: Path) -> Iterator[str]:
    command = [
        str(environment.bin / "kawal"),
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--data",
        str(project / "data"),
    ]
    with subprocess.Popen(
        command, cwd=project, env=environment.variables(project), stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        try:
            assert line.startswith("kawal ready "), line
            yield line.split()[2]
        finally:
            server.terminate()
            assert server.wait(60) == 0


def test_it_serves_and_its_commands_work(environment: Environment, project: Path, bootstrap: str) -> None:
    def kawal(*words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        return environment.run("kawal", *words, "--bootstrap", bootstrap, cwd=project, text=text)

    assert "1 record" in kawal("produce", "orders", text='{"n":1}\n').stderr
    assert kawal("consume", "orders", "--from", "earliest", "--max", "1").stdout == '{"n":1}\n'
    kawal("configs", "alter", "topic", "orders", "--set", "kawal.columns=n int")
    kawal("sql", "CREATE TOPIC some AS SELECT n FROM orders WHERE n > 0")
    assert kawal("consume", "some", "--from", "earliest", "--max", "1").stdout == '{"n":1}\n'


@pytest.mark.parametrize("environment", [".whl"], indirect=True)
def test_a_job_lands_a_topic_with_sparks_workers(
    environment: Environment, project: Path, bootstrap: str
) -> None:
    lines = "".join(f'{{"n":{number}}}\n' for number in range(50))
    environment.run("kawal", "produce", "orders", "--bootstrap", bootstrap, cwd=project, text=lines)
    (project / "land.toml").write_text(JOB.format(bootstrap=bootstrap))
    ended = environment.run("kawal", "pipe", "run", "land.toml", "--log", "json", cwd=project)
    (summary,) = [
        event for line in ended.stdout.splitlines() if (event := json.loads(line))["event"] == "summary"
    ]
    assert (summary["rows"], summary["bad"]) == (50, 0)


def test_the_plugin_works_beside_packages_with_our_names(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import kawal_pytest, sys\n\n\n"
        "def test_it(kawal_broker):\n"
        "    assert kawal_pytest.__file__.startswith(sys.prefix)\n"
        "    assert kawal_broker.topics() == {}\n"
    )
    ended = environment.run("python", "-m", "pytest", "-p", "no:cacheprovider", cwd=tmp_path)
    assert "1 passed" in ended.stdout


def test_the_examples_of_docs_testing_md_work_as_printed(distributions: list[Path], tmp_path: Path) -> None:
    """Their package is called `broker` and has no `__init__.py`; the tests run in parallel."""
    wheels = [path for path in distributions if path.suffix == ".whl"]
    environment = Environment(tmp_path / "environment", wheels)
    examples = EXAMPLE.findall((ROOT / "docs/testing.md").read_text())
    for name, code in examples:
        path = tmp_path / "project" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(code)
    ended = environment.run("python", "-m", "pytest", "-n", "2", cwd=tmp_path / "project")
    count = sum(len(re.findall(r"^ *def test_", code, re.MULTILINE)) for _, code in examples)
    assert f"{count} passed" in ended.stdout
    assert count >= 15
