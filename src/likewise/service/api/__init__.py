"""How do programs ask? Routes over HTTP, bodies, strict reading, and problems in one shape."""
