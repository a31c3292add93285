"""What a program switches in torch: settings, and context managers written in C."""
