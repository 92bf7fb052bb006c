"""Ready-made experiments: real data, whole plays, tables and pictures."""
