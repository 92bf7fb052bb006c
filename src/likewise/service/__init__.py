"""The service: the same learners behind a log that loses nothing and that an outsider can check.

Reading order: ``events`` (facts, past tense), ``settings`` (of a stream), ``model`` (its class and learner), ``state``,
``commands``, ``rounds`` (the two pure functions ``decide`` and ``evolve``), ``chain`` (hashes and signatures),
``store`` (the log on disk), ``engine`` (the shell that drives all of this), ``standing`` and ``certificate`` (what is
claimed), ``export`` and ``verify`` (what is checked). Needs ``pip install "likewise[service]"``.
"""
