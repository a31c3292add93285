"""A function executed symbolically: frames, the interpreter and its opcodes, where a frame can be resumed, what is finalised."""
