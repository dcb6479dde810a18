"""How calls reach the service, what comes back, and what may go wrong."""
