"""One Spark session for all tests of the pipeline that need one: it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.config import SparkSection
from pipeline.session import spark_session

FOR_FEW_ROWS: dict[str, str | int | float | bool] = {
    # Compiling a plan takes longer than running it over five rows; jobs, and compat_tests, do compile.
    "spark.sql.codegen.wholeStage": False,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": False,
    "spark.sql.shuffle.partitions": 1,
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Provide a local session as jobs get it, without the Kafka connector."""
    log_path = tmp_path_factory.mktemp("spark") / "spark.log"
    settings = SparkSection(master="local[2]", quick_start=True, options=FOR_FEW_ROWS)
    with spark_session("tests", settings, [], log_path=log_path) as session:
        yield session
