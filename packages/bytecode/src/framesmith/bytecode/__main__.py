"""`python -m framesmith.bytecode doctor`: what this Python's opcodes have that the package does not know."""

import sys

from framesmith.bytecode.doctor import main

sys.exit(main(sys.argv[1:]))
