"""The fakes of inputs and their symbolic sizes, by torch's ShapeEnv, and what was decided about them."""
