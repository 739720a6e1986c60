"""The cost of views on the wire: `python -m benchmarks.bench_views_wire [--only NAME …] [--quick]`.

    bytes      the bytes a client receives of 1 KB JSON records of which 1 % match, from the topic and a view
    scan       processor time of the server for each record it looks at, read from stored batches
    latency    from produce to consume, on Kafka, on the plain topic, with a client that filters, on views
    beside     one question asked of Apache Kafka, of the plain topic and of a view: bytes, time, processors
    thousand   1,000 views with one waiting consumer each: memory, processor time idle and under load

Raw sockets do the counting, librdkafka measures latencies.  The gateway runs with its defaults.
"""

from __future__ import annotations

import argparse

from benchmarks.views_wire import beside, latency, scan, sizes, thousand

PARTS = {
    "bytes": sizes.measure,
    "scan": scan.measure,
    "latency": latency.measure,
    "beside": beside.measure,
    "thousand": thousand.measure,
}


def main() -> None:
    """Measure the parts asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="fewer records and less time")
    arguments = parser.parse_args()
    for name in arguments.only:
        print(f"--- {name}", flush=True)
        PARTS[name](lambda line: print(line, flush=True), quick=arguments.quick)


if __name__ == "__main__":
    main()
