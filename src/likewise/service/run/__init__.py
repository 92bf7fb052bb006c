"""How is it started? The application with its routes and pages, backups, and the demo.

``create_app`` builds the application; ``likewise serve`` runs it, as ``server_app``.
"""

from likewise.service.run.app import create_app, server_app

__all__ = ["create_app", "server_app"]
