"""`python -m framesmith.frontend`: the command line, as `framesmith` is where the package is installed."""

import os
import sys

from framesmith.frontend import cli

if __name__ == "__main__":
    try:
        sys.exit(cli.main())
    except BrokenPipeError:
        # `where ... | head`: nobody reads on; what is left in the buffer would be reported at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
