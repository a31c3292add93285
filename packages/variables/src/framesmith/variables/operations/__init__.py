"""What an operator, a comparison or a truth test does: which slots are called, and in which order."""
