"""What runs in the background? Long work on whole logs, each a job, in a process of its own where it takes long."""
