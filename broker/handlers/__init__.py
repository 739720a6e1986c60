"""One file per Kafka API that Kawal serves."""
