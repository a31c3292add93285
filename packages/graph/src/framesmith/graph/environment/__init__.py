"""State of the thread or the process that a trace reads, sets and puts back: autocast, gradient and inference mode, devices, warnings."""
