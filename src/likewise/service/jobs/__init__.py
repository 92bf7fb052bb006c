"""What runs apart? Long work on whole logs, in the background or in a process of its own."""
