"""Files and lists into partitions whose cuts stay where they are."""
