"""What torch and the interpreter keep for the process or the thread, and a trace turns, silences or waits for."""
