"""How an entry ends, as source text: a returned value, or a native operation and the continuation behind it."""
