"""Real clients against a real broker: the gateway, or Apache Kafka to prove that the claims are Kafka's."""
