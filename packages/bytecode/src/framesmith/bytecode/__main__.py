"""`python -m framesmith.bytecode`: `doctor` compares this Python's opcodes with the known ones; `dis` lists a function."""

import sys

from framesmith.bytecode import doctor, listing

if len(sys.argv) == 3 and sys.argv[1] == "dis":
    sys.exit(listing.main(sys.argv[2]))
sys.exit(doctor.main(sys.argv[1:]))
