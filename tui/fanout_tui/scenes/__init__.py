"""Fixed moments of an invented run, for pictures and tests."""
