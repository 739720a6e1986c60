"""The demo: real flights through a gateway and Spark to Parquet, with a crash half way, compared exactly."""
