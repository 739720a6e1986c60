"""The table of the forms of Spark's and its Kafka client's options, made from what they say themselves.

    python -m compat_tests.option_forms      writes pipeline/option_forms.txt

Spark: each entry that its configuration objects define converts probes, and refuses them with sentences that
name the type or the list of values. The client: the types and validators of ConsumerConfig and
AdminClientConfig, since Spark gives its options to both.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from compat_tests.spark import spark_session
from pipeline.option_forms import TABLE

SPARK_OBJECTS = (
    *(
        f"org.apache.spark.internal.config.{name}$"
        for name in ("package", "Deploy", "History", "Kryo", "Network", "Python", "R", "Status", "Streaming")
    ),
    "org.apache.spark.internal.config.UI$",
    "org.apache.spark.internal.config.Worker$",
    "org.apache.spark.sql.internal.SQLConf$",
    "org.apache.spark.sql.internal.StaticSQLConf$",
    "org.apache.spark.sql.kafka010.package$",
    "org.apache.spark.deploy.k8s.Config$",
    "org.apache.spark.deploy.yarn.config.package$",
    "org.apache.spark.sql.connect.config.Connect$",
)
"""The objects that define options; an option is known once its object has been loaded."""

NO_VALUE = "zz zz"
"""A value that only options of any text take."""

KINDS = {"boolean": "boolean", "int": "int", "long": "long", "double": "number"}


def main() -> int:
    """Write the table."""
    TABLE.write_text(made(), encoding="utf-8")
    print(f"{TABLE}: {len(TABLE.read_text(encoding='utf-8').splitlines()):,} options")
    return 0


def made() -> str:
    """Return the table as the installed Spark and the client beside it make it."""
    jvm = spark_session()._jvm
    forms = {**_of_spark(jvm), **_of_client(jvm)}
    return "".join(f"{key} {form}\n" for key, form in sorted(forms.items()))


def _load(jvm: Any, name: str) -> Any:
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return jvm.java.lang.Class.forName(name, True, loader)


def _of_spark(jvm: Any) -> dict[str, str]:
    for name in SPARK_OBJECTS:
        _load(jvm, name)
    entries = jvm.java.util.ArrayList(jvm.org.apache.spark.internal.config.ConfigEntry.listAllEntries())
    return {str(entry.key()): _form(entry) for entry in entries}


def _form(entry: Any) -> str:
    refusal = _refusal(entry, NO_VALUE)
    if listed := _listed(refusal):
        any_case = not _refusal(entry, listed[0].lower()) and not _refusal(entry, listed[0].upper())
        return ("~" if any_case else "") + "|".join(listed)
    found = re.search(r"It should be a/an '(\w+)", refusal)
    if found is None:
        return "text"
    kind = KINDS.get(found[1]) or {"time": "time", "bytes": "size"}[found[1]]
    if kind == "boolean":
        return kind
    # What refuses 0 and takes a small positive number refuses what is below, too.
    taken = [not _refusal(entry, probe) for probe in ("-5", "-1", "0")]
    if taken[0] or not any(not _refusal(entry, probe) for probe in ("5", "1", "0.5", "10s", "1g")):
        return kind
    least = {(False, True, True): "-1", (False, False, True): "0", (False, False, False): "1"}.get(
        (taken[0], taken[1], taken[2])
    )
    return kind if least is None or (kind == "number" and least == "1") else f"{kind}[{least},]"


def _listed(refusal: str) -> list[str]:
    """Return the values that a refusal lists, in order; none where it lists none, or values with commas."""
    if found := re.search(r"It should be one of '(.*)'\. SQLSTATE", refusal, re.DOTALL):
        values = found[1].split(", ")
        return [] if any("," in value for value in values) else sorted(values)
    found = re.search(r"Valid values are (.*?)\.? SQLSTATE", refusal, re.DOTALL)
    return sorted(set(re.findall(r"[\w-]+", found[1])) - {"and"}) if found else []


def _refusal(entry: Any, value: str) -> str:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        entry.valueConverter().apply(value)
    except PySparkException as error:
        return str(error)
    except Py4JJavaError as error:
        return str(error.java_exception.getMessage())
    return ""


def _of_client(jvm: Any) -> dict[str, str]:
    from py4j.java_gateway import get_field

    forms: dict[str, str] = {}
    classes, objects = (
        jvm.java.lang.reflect.Array.newInstance(_load(jvm, f"java.lang.{name}"), 0)
        for name in ("Class", "Object")
    )
    for name in ("admin.AdminClientConfig", "consumer.ConsumerConfig"):
        config = _load(jvm, f"org.apache.kafka.clients.{name}")
        keys = config.getMethod("configDef", classes).invoke(None, objects).configKeys().values()
        for key in jvm.java.util.ArrayList(keys):
            validator = get_field(key, "validator")
            said = validator.toString() if validator is not None else ""
            forms[f"kafka.{get_field(key, 'name')}"] = _client_form(get_field(key, "type").toString(), said)
    return forms


def _client_form(kind: str, validator: str) -> str:
    kind = {"SHORT": "int", "INT": "int", "LONG": "long", "DOUBLE": "number", "BOOLEAN": "boolean"}.get(
        kind, "text"
    )
    if span := re.fullmatch(r"\[([-\d.]+),\.\.\.,?([-\d.]*)\]", validator):
        return f"{kind}[{span[1]},{span[2]}]"
    if listed := re.fullmatch(r"(\(case insensitive\) )?\[(.*)\]", validator):
        values = "|".join(sorted(listed[2].split(", ")))
        return f"~{values}" if listed[1] else values
    return kind


if __name__ == "__main__":
    sys.exit(main())
