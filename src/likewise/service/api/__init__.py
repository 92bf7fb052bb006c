"""HTTP for programs: routes, bodies, answers, strict reading, and problems in one shape."""
