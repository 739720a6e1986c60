"""One file per Kafka API: its request and response declarations for every version."""
