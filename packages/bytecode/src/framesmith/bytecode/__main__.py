"""`python -m framesmith.bytecode`: `doctor` compares this Python's opcodes with the known ones; `dis` lists a function."""

import os
import sys

from framesmith.bytecode import doctor, listing

try:
    if len(sys.argv) == 3 and sys.argv[1] == "dis":
        sys.exit(listing.main(sys.argv[2]))
    sys.exit(doctor.main(sys.argv[1:]))
except BrokenPipeError:
    # `dis ... | head`: nobody reads on; what is left in the buffer would be reported at exit
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
