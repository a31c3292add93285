"""The main job of the command line: real models compiled, compared with eager, and measured.

`models` and `cases` say what is run, `compare` whether it came out right, `measure` what it cost, `run` does one case
after the other, `report` shows the table. Nothing of the compiler lives here, and nothing of it imports this package.
"""
