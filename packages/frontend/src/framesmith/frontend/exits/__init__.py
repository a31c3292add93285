"""How an entry ends, written as source: a returned value, or a native operation and the continuation behind it."""
