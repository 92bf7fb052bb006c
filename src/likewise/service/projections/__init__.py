"""What do pages draw from? Rows told from the log, which may be lost at any time."""
