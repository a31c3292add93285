"""What serves a call: sessions, compiled units with their entries, and what is learnt when no entry fits."""
