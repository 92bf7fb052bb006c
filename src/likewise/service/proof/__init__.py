"""How does an outsider check? Without installing anything (``standalone``), and by running the learner again."""
