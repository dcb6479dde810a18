"""What a run amounts to, and how that is written down."""
