"""Read, edit, write and verify CPython bytecode, with the standard library only."""
