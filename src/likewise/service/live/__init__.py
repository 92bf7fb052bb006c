"""What is in memory? The state of each log, and the one way to add to it."""
