"""`framesmith demo`: real models are compiled, their results compared with eager, the cost of compiling and calling measured.

`models` and `cases` say what is run, `compare` whether it came out right, `measure` what it cost, `run` does one case
after the other, `report` shows the table. Nothing of the compiler lives here, and nothing of it imports this package.
"""
