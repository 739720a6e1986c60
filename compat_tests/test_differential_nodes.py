"""Two workers answer what two brokers of Apache Kafka 4.3.1 answer to the same requests, or what is allowed.

Both clusters are live: partitions lie on the same nodes of both, and each step goes to the same node.
"""

from __future__ import annotations

import pytest

from compat_tests.differential.allow_list import ALLOWED
from compat_tests.differential.allow_list_nodes import ALLOWED_OF_NODES
from compat_tests.differential.allowed import explanation
from compat_tests.differential.compare import differences
from compat_tests.differential.courses import exchanges
from compat_tests.differential.recorded import SEED
from compat_tests.differential.sequences import sequence

pytestmark = pytest.mark.only_kawal(reason="it starts both brokers")

CHOSEN = (
    *(
        "records",
        "offsets",
        "wild-produce",
        "wild-fetch",
        "wild-list-offsets",
        "wild-offset-for-leader-epoch",
    ),
    *("wild-metadata", "wild-find-coordinator", "wild-offset-fetch", "wild-create-topics"),
)
"""Sequences that meet other leaders and coordinators; all of them take minutes (`make differential`)."""

WILD_EACH = 2
SHOWN = 20


def test_two_workers_answer_what_two_brokers_of_kafka_answer() -> None:
    exchanged = exchanges([sequence(name, SEED, WILD_EACH) for name in CHOSEN], 2)
    found = [difference for exchange in exchanged for difference in differences(*exchange)]
    allowed = (*ALLOWED, *ALLOWED_OF_NODES)
    wrong = [str(difference) for difference in found if explanation(difference, allowed) is None]
    assert len(exchanged) > 500
    assert not wrong, f"{len(wrong)} differences from Kafka:\n" + "\n".join(wrong[:SHOWN])
