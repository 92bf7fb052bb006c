"""What do pages draw from? Rows computed from the log, which may be lost at any time."""
