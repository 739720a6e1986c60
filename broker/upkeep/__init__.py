"""Background work on stored records: retention, compaction, removal."""
