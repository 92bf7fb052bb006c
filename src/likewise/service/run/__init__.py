"""The service over HTTP. Routes translate: who is asking, what is asked, and how the engine's answer is said.

``create_app`` builds the application; ``likewise serve`` runs it, as ``server_app``.
"""

from likewise.service.run.app import create_app, server_app

__all__ = ["create_app", "server_app"]
