"""The people of a run as its readers see them: what the reviewer saw, in the units of the file, with their rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.auditors import named_metric
from likewise.certificates.shown import MostUnfair, ShownPeople, most_unfair
from likewise.experiments.runs.setup import Setup, shown_columns, source_name
from likewise.game import Transcript

MOST = 2000
"""Held-out people who are compared with each other, at most: a random choice of them."""


def shown_people(setup: Setup, transcript: Transcript) -> ShownPeople:
    """Everybody of the file, and who of them came in which round; nothing but the columns that the reviewer saw."""
    data, t = setup.data, transcript
    columns = shown_columns(setup.settings, data)
    came = setup.people.draws(setup.settings.seed, t.first, t.rounds).ravel()
    source = source_name(setup.settings)
    return ShownPeople.of(
        t, columns, data.people[columns], setup.split.play[came], rows=data.row_numbers, source=source
    )


def unfair_people(setup: Setup, policy: Any) -> MostUnfair | None:
    """Whom a policy treats most unfairly among the people who were held out, by the data set's distance."""
    held, s = setup.held_out, setup.settings
    if len(held.y) < 2:
        return None
    firsts = np.arange(len(held.y)) if held.ids is None else np.sort(np.unique(held.ids, return_index=True)[1])
    chosen = np.sort(np.random.default_rng(s.seed).permutation(firsts)[:MOST])
    metric = setup.data.metric
    distances = (named_metric(metric) if isinstance(metric, str) else metric)(held.view[chosen])
    places = setup.split.held_out[chosen]
    return most_unfair(policy.probability(held.X[chosen]), distances, s.alpha, places=places)
