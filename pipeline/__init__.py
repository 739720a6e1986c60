"""The data pipeline on Spark: jobs that users keep."""
