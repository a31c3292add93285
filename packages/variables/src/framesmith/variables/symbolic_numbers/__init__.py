"""Numbers that may differ from call to call: sizes, and the ints and floats that the policy makes dynamic."""
