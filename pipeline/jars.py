"""The four jars that pyspark lacks for `format("kafka")`, and where to find them.

They lie in the folder that KAWAL_SPARK_JARS names, else in `.jars/` of the checkout.  They are listed by
name for `spark.jars`, which also ships them to the executors of a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pipeline.errors import SetupError

VARIABLE = "KAWAL_SPARK_JARS"

REQUIRED = (
    "spark-sql-kafka-0-10_2.13",
    "spark-token-provider-kafka-0-10_2.13",
    "kafka-clients",
    "commons-pool2",
)

POM = Path(__file__).with_name("pom.xml")


def find_jars(environment: Mapping[str, str], checkout: Path = POM.parent.parent) -> list[Path]:
    """Return the connector jars, in the order of REQUIRED.

    Raises: SetupError naming the folder, what it lacks or has twice, and what to do.
    """
    folder = Path(environment.get(VARIABLE) or checkout / ".jars")
    return [_one(folder, artifact) for artifact in REQUIRED]


def _one(folder: Path, artifact: str) -> Path:
    pattern = re.compile(re.escape(artifact) + r"-\d[^/]*\.jar")
    found = sorted(path for path in folder.glob("*.jar") if pattern.fullmatch(path.name))
    if not found:
        raise SetupError(
            f"the jar {artifact} of Spark's Kafka connector is not in {folder}; fetch the four jars with "
            f"'make jars', or with 'mvn -f {POM} dependency:copy-dependencies -DoutputDirectory=DIR' and "
            f"{VARIABLE}=DIR"
        )
    if len(found) > 1:
        names = " and ".join(path.name for path in found)
        raise SetupError(f"{folder} holds {names}: two versions of one jar cannot be loaded; remove one")
    return found[0].resolve()
