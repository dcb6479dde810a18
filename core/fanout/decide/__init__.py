"""What decides: pure functions and small ledgers; no clock, no chance, no I/O."""
