"""The `/health` page: whether the broker answers, what the doctor finds, and what to do."""

from __future__ import annotations

from typing import Final

from console.link import LinkLost
from console.web.errors import PageError
from console.web.gateway_metrics import read_figures
from console.web.health_facts import health_of
from console.web.visit import Answer, Crumb, Rows, View, Visit, get

HEALTH: Final = Crumb("Health", "/health")
COLUMNS = ("broker", "address", "answers", "apis", "milliseconds", "kawal")
FINDING_COLUMNS = ("check", "verdict", "text", "advice")


async def health(visit: Visit) -> Answer:
    """Show how the broker answers; 503 when it is not reached, and the console is there all the same."""
    kafka = visit.kafka
    try:
        facts = await kafka.run(health_of, kafka.bootstrap)
    except LinkLost as error:
        return View(
            title="Health",
            template="health.html",
            context={"facts": None, "problem": str(error)},
            status=503,
        )
    rows = [
        (node, address, True, facts.apis, facts.milliseconds, facts.kawal) for node, address in facts.brokers
    ]
    return View(
        title="Health",
        template="health.html",
        context={"facts": facts, "problem": "", "beside": kafka.is_beside},
        rows=Rows(COLUMNS, rows),
    )


async def findings(visit: Visit) -> Answer:
    """Show what the doctor finds on the machine of the gateway, and what the gateway counts."""
    kafka, gateway = visit.kafka, visit.settings.gateway
    if not kafka.is_beside:
        raise PageError(
            404,
            "a machine is looked at by the console of its own gateway; there, 'kawal doctor' does it, too",
        )
    from console.web.findings import gateway_findings  # the doctor brings half of the broker

    found = await kafka.run(gateway_findings, kafka.bootstrap, gateway.flags)
    figures = await kafka.run(read_figures, gateway.metrics)
    return View(
        title="Findings",
        template="findings.html",
        context={"findings": found, "figures": figures},
        rows=Rows(FINDING_COLUMNS, found),
        crumbs=(HEALTH,),
    )


ROUTES = (get("/health", health), get("/health/findings", findings))
