"""A stream whose class is fitted to a sample of people: features, people, and the settings that follow."""

from __future__ import annotations

from functools import cache

import numpy as np

from likewise.service.stream.sample import fitted_scores, with_scores
from likewise.service.stream.settings import Choices, Feature, Review, Waits

HOMES = ("own", "rent", "squat")
FEATURES = (
    Feature(name="income", compare=True),
    Feature(name="debt"),
    Feature(name="home", kind="category", levels=HOMES, compare=True),
    Feature(name="sex", kind="category", levels=("f", "m"), sensitive=True),
)
CHOICES = {
    "name": "loans",
    "features": FEATURES,
    "alpha": 0.1,
    "k": 4,
    "waits": Waits(grace=0),
    "review": Review(ask_all=True),
}


def sample(n=120, seed=0):
    """People with labels; nobody squats."""
    rng = np.random.default_rng(seed)
    income, debt = rng.normal(40_000, 9_000, n), rng.exponential(5.0, n)
    homes, sexes = rng.integers(0, 2, n), rng.integers(0, 2, n)
    repaid = income / 9_000 - debt / 5 + homes + rng.normal(size=n) > 3.6
    return [
        {
            "income": float(income[i]),
            "debt": float(debt[i]),
            "home": HOMES[homes[i]],
            "sex": "fm"[sexes[i]],
            "repaid": int(repaid[i]),
        }
        for i in range(n)
    ]


def features_of(person):
    """A person of the sample without the label."""
    return {name: value for name, value in person.items() if name != "repaid"}


def asked(rows, prefix=""):
    """People of a request."""
    return [{"id": f"{prefix}{i}", "features": features_of(person)} for i, person in enumerate(rows)]


@cache
def scores():
    """Fitted once, as fitting is what takes time."""
    return fitted_scores(FEATURES, sample(), "repaid", jobs=1)


def settings(**changes):
    """Of a stream whose policies cut these scores."""
    return with_scores(Choices(**CHOICES | changes), scores())
