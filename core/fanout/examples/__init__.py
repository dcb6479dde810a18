"""Scripts to read, to run and to start from: `fanout-tui --simulate EXAMPLE.py`."""
