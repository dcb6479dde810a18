"""What is kept: the journal, run folders, reports and what may be reused."""
