"""Parts of the recorder: rolling back, graphs inside of an operation, equal layers recorded once more."""
