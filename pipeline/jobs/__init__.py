"""One file per pipeline job."""
