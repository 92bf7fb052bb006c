"""Fits scores to a sample of people, in a process of its own, which reads no database and no key.

It reads {features, sample, label} as JSON from its standard input, so that people are on no disk and in no list of
processes, and writes the scores as a line of JSON, or the reason why there are none.
"""

from __future__ import annotations

import json
import os
import sys

from likewise.errors import LikewiseError
from likewise.service.jobs.process import say, say_refused
from likewise.service.stream.sample import fitted_scores
from likewise.service.stream.settings import Feature


def main() -> None:
    """What the child does."""
    os.nice(10)
    given = json.loads(sys.stdin.buffer.read())
    try:
        say(result=fitted_scores([Feature(**plain) for plain in given["features"]], given["sample"], given["label"]))
    except LikewiseError as error:
        say_refused(error)


if __name__ == "__main__":
    main()
