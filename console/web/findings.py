"""The findings of `kawal doctor` about the gateway that has started this console.

Nothing is written here: disk and object store are not measured, as a page that is only looked at changes
nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from broker.config.config import Config
from console.commands.doctor import findings_of
from console.doctor.facts import Facts
from console.doctor.finding import Finding, problem
from console.errors import CommandError
from console.server_flags import add_flags
from console.web.log_facts import log_dirs_of


def gateway_findings(bootstrap: str, flags: tuple[str, ...]) -> list[Finding]:
    """Return the findings, the gravest first, for those who may describe the cluster.

    Raises: CommandError, for others.
    """
    log_dirs_of(bootstrap)
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_flags(parser)
    try:
        findings = list(findings_of(parser.parse_args(flags), Facts(), _unmeasured, _unmeasured))
    except CommandError as error:
        # It was changed since the gateway read it.
        return [problem("configuration", str(error), "mend it: the next start would fail")]
    return sorted(findings, key=lambda found: ("problem", "warning", "ok").index(found.verdict))


def _unmeasured(_facts: Facts, _config: Config) -> Iterable[Finding]:
    return ()
