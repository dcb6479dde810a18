"""What draws: lines of spans onto strips, nothing decided here."""
