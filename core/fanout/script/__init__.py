"""What a script sees: agents, results, phases, and how a script is run."""
