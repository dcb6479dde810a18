"""An agent's steps: its opening, its calls, its tools, its checks."""
