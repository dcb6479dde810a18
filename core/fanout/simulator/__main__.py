"""`python -m fanout.simulator`: serve a simulated account until told to stop."""

import sys

from fanout.simulator.serving import main

if __name__ == "__main__":
    sys.exit(main())
