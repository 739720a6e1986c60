"""librdkafka's settings for the loads; all others are librdkafka's defaults."""

from __future__ import annotations

from benchmarks.clients.jobs import ConsumeJob, ProduceJob, SmallRecordsJob

QUEUE_KIB = 64 * 1024
"""The queue of the producer: 0.2 s of a fast broker's work, and a short tail with a slow one."""


def producer_settings(job: ProduceJob) -> dict[str, str]:
    """Return the settings of a producer job."""
    return {
        "bootstrap.servers": job.bootstrap,
        "acks": str(job.acks),
        "linger.ms": str(job.linger_ms),
        "batch.size": str(job.batch_bytes),
        "queue.buffering.max.kbytes": str(QUEUE_KIB),
        "queue.buffering.max.messages": "10000000",
        "delivery.report.only.error": "true",
    }


def consumer_settings(job: ConsumeJob) -> dict[str, str]:
    """Return the settings of a consumer job."""
    return {
        "bootstrap.servers": job.bootstrap,
        "auto.offset.reset": "error",
        # By default a full queue stops fetching for a second, which would be measured as the broker's time.
        "queued.min.messages": "10000000",
        "queued.max.messages.kbytes": str(256 * 1024),
        "fetch.queue.backoff.ms": "1",
    }


def small_settings(job: SmallRecordsJob) -> dict[str, str]:
    """Return the settings of producers that send each record in a request of its own."""
    return {
        "bootstrap.servers": job.bootstrap,
        "acks": str(job.acks),
        "linger.ms": "0",
        "batch.num.messages": "1",
        "max.in.flight": str(job.in_flight),
    }
