"""What a node of the graph computes: its arguments from trackers, and the trackers of its result. No single kind of value lives here."""
