"""What is in memory? The state of each log, and the one way to add to it.

To read in one sitting, in this order: ``idempotency`` (a key is answered once), ``timers`` (what time makes due),
``position`` (the latest state and the durable one), ``stream`` (a command is decided, written and answered; the locks),
``streams`` (all of them), ``heads`` (what was signed of them).
"""
