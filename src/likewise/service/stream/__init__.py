"""What is a round, and what may become of it? Pure: no clock, no disk, no HTTP, no threads."""
