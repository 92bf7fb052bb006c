"""Who may do what? Tokens, sessions, the table of roles, and how often anybody may ask."""
