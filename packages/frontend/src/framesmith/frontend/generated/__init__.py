"""The functions that framesmith writes: dispatchers, entries, tail calls. Nothing here knows how an entry was traced."""
