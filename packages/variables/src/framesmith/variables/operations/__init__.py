"""What an operator, a call or an iteration means: which slots are asked, and in which order."""
