"""What an environment promises: batches of 1 to k people, the same for the same key, blind where it says so."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import asdict
from numbers import Real
from typing import Any

import numpy as np

from likewise.checks.promises import SEED, expect, is_json, passed
from likewise.errors import CheckFailed
from likewise.facts import EnvironmentFacts
from likewise.hypotheses import EnumerableClass
from likewise.policies import Mixture
from likewise.protocol import Batch, Environment, Key, Report, Role, Round


def check_environment(fresh: Callable[[], Environment], F: EnumerableClass, rounds: int = 20) -> list[str]:
    """Check an environment on its first rounds; ``fresh`` makes it, as a stream can be read only once.

    Policies of ``F`` are shown to an environment that sees them.

    >>> import likewise as lw
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1])
    >>> check_environment(lambda: lw.IID(X, y, k=2), lw.Thresholds([[0.5]]))
    ['sizes', 'labels', 'repeatable', 'blind', 'encoded', 'facts']
    """
    batches = _asked(fresh().encoded(F.encode), F, rounds)
    expect(len(batches) > 0, "an environment has people for at least one round")
    return passed(
        [
            ("sizes", lambda: _check_sizes(batches, fresh().k)),
            ("labels", lambda: _check_labels(batches)),
            (
                "repeatable",
                lambda: _check_again(batches, _asked(fresh().encoded(F.encode), F, rounds), "the same keys"),
            ),
            ("blind", lambda: _check_blind(fresh, F, batches, rounds)),
            ("encoded", lambda: _check_encoded(fresh, F, rounds)),
            ("facts", lambda: _check_environment_facts(fresh())),
        ]
    )


def _asked(environment: Environment, F: EnumerableClass, rounds: int, hidden: Any = None) -> list[Batch]:
    """The batches of some rounds, with made-up policies and history. A blind environment is given ``hidden``."""
    batches: list[Batch] = []
    previous: Round | None = None
    for t in range(1, rounds + 1):
        rng = np.random.default_rng([SEED, t])
        shown = Mixture(F, F.geometry.gibbs(rng.normal(size=F.geometry.dim), 1.0))
        batch = environment.batch(
            Key(SEED, Role.ENVIRONMENT, t), previous, shown if environment.sees_policy else hidden
        )
        if batch is None:
            break
        batches.append(batch)
        reports = (Report(1, 0),) if t % 3 == 0 and len(batch.y) > 1 else ()
        previous = Round(batch, rng.random(len(batch.y)), reports)
    return batches


def _same_people(a: Batch, b: Batch) -> bool:
    """The same labels and view, whatever the rows."""
    same_labels = np.array_equal(a.y, b.y, equal_nan=True)
    return same_labels and np.asarray(a.view).tolist() == np.asarray(b.view).tolist()


def _check_sizes(batches: list[Batch], k: int | None) -> bool:
    for batch in batches:
        people = len(batch.y)
        expect(len(batch.rows) == people == len(batch.view), "a batch has a row, a label and a view for each person")
        expect(people >= 1 and (k is None or people <= k), "a batch holds 1 to k people")
    return True


def _check_labels(batches: list[Batch]) -> bool:
    labels = np.concatenate([batch.y for batch in batches])
    return expect(np.isin(labels[~np.isnan(labels)], (0.0, 1.0)).all(), "labels are 0, 1 or missing (NaN)")


def _check_again(batches: list[Batch], again: list[Batch], when: str) -> bool:
    same = len(batches) == len(again) and all(
        _same_people(a, b) and np.array_equal(a.rows, b.rows) for a, b in zip(batches, again, strict=True)
    )
    return expect(same, f"{when} give the same people")


class _Hidden:
    """Takes the place of a policy, and notices any look at it."""

    def __getattr__(self, name: str) -> Any:
        raise CheckFailed(
            f"Broken promise: a blind environment never looks at the policy; this one asked for `{name}`."
        )


def _check_blind(fresh: Callable[[], Environment], F: EnumerableClass, batches: list[Batch], rounds: int) -> bool:
    environment = fresh().encoded(F.encode)
    if environment.sees_policy:
        return False
    return _check_again(batches, _asked(environment, F, rounds, _Hidden()), "a policy that must not matter and none")


def _check_encoded(fresh: Callable[[], Environment], F: EnumerableClass, rounds: int) -> bool:
    """Whether a code for each person is the code of the person who came; a source of ready batches encodes itself."""
    plain, coded = _asked(fresh(), F, rounds), _asked(fresh().encoded(_codes), F, rounds)
    expect(len(plain) == len(coded), "an encoded environment has as many rounds")
    for a, b in zip(plain, coded, strict=True):
        expect(_same_people(a, b), "encoding changes neither labels nor view")
        ready = np.array_equal(a.rows, b.rows)
        expect(ready or np.array_equal(_codes(a.rows), b.rows), "an encoded environment gives the same people, encoded")
    return True


def _codes(X: Any) -> Any:
    people = np.asarray(X, dtype=object)
    return np.array([zlib.crc32(repr([_number(v) for v in np.ravel(person)]).encode()) for person in people])


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, Real) else str(value)


def _check_environment_facts(environment: Environment) -> bool:
    facts = environment.facts()
    expect(isinstance(facts, EnvironmentFacts), "facts are EnvironmentFacts")
    independent = not (environment.sees_policy and facts.iid)
    expect(independent, "an environment that chooses people by the policy does not draw them i.i.d.")
    return expect(is_json(asdict(facts)), "facts are plain JSON values")
