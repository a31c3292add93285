"""The tracker of a tensor: its slots, attributes and methods, and how an existing tensor is wrapped."""
