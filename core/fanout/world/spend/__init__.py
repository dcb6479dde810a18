"""Before something is spent: waves, their forecast, the question, budgets."""
