"""Values of numpy: scalars are constants, arrays can be read."""
