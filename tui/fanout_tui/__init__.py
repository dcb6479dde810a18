"""The command `fanout-tui` and its live screen."""
