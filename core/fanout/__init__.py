"""Run a fan-out of Claude agents; what a script imports."""
