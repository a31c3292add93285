"""Parts of the recorder: moments to go back to, nested graphs, operations recorded once more."""
