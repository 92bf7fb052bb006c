"""Environments: where people come from.

An environment is encoded once for the learner's class (``encoded``) and then asked for one batch a round. One
that declares ``sees_policy`` is asked after the learner has acted and is shown π^t; a blind one never is.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidParameter, require, require_whole
from likewise.facts import EnvironmentFacts
from likewise.protocol import Batch, Floats, Key, Policy, Role, Round, Rows

Encode = Callable[[Any], Rows]
BLOCK = 256
"""Rounds whose people are drawn together."""


def as_labels(y: Any, people: int) -> Floats:
    """Labels as numbers, 0, 1 or NaN, one per person; or a refusal."""
    try:
        labels = np.asarray(y, dtype=float)
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"`y` must be 0, 1 or missing (NaN), got {np.asarray(y).ravel()[:3].tolist()}."
        ) from None
    require(labels.shape == (people,), "y", f"have one label for each of {people} people", f"shape {labels.shape}")
    fine = (labels == 0) | (labels == 1) | (labels != labels)
    if not fine.all():
        raise InvalidParameter(f"`y` must be 0, 1 or missing (NaN), got {labels[~fine][:3].tolist()}.")
    return labels


def as_weights(weight: Any, people: int) -> Floats:
    """Weights as numbers, at least 0, one per person; or a refusal."""
    weights = np.asarray(weight, dtype=float)
    require(weights.shape == (people,), "weight", f"hold a number for each of {people} people", weights.shape)
    wrong = weights[~(np.isfinite(weights) & (weights >= 0))]
    require(len(wrong) == 0, "weight", "hold numbers of at least 0", wrong[:1].tolist())
    return weights


def _batch(people: Any, encode: Encode, k: int | None) -> Batch:
    """A Batch from what a user's source gives: (X, y), (X, y, view) or a Batch."""
    if isinstance(people, Batch):
        batch = people._replace(y=as_labels(people.y, len(people.rows)))
        if people.weight is not None:
            batch = batch._replace(weight=as_weights(people.weight, len(batch.y)))
    else:
        X, y, *view = people
        X = X if hasattr(X, "columns") else np.asarray(X)
        batch = Batch(encode(X), as_labels(y, len(X)), view[0] if view else X)
    if not 1 <= len(batch.y) <= (k or len(batch.y)):
        raise InvalidParameter(f"`batch` must hold 1 to {k or 'any number of'} people, got {len(batch.y)}.")
    if len(batch.view) != len(batch.y):
        raise InvalidParameter(f"`view` must have a row for each of {len(batch.y)} people, got {len(batch.view)}.")
    return batch


ORDERS = ("draws", "passes")


def people_numbers(ids: Any | None, rows: int) -> NDArray[np.intp]:
    """A number for each row, 0, 1, 2, …, the same for the same id."""
    if ids is None:
        return np.arange(rows)
    import pandas as pd

    given = ids if isinstance(ids, pd.Series) else pd.Series(np.asarray(ids).ravel())
    require(len(given) == rows, "ids", f"name each of {rows} rows", len(given))
    require(not given.isna().any(), "ids", "be known for every row", f"{int(given.isna().sum())} missing")
    return np.asarray(pd.factorize(given)[0], dtype=np.intp)


def _table(part: Any) -> Any:
    """Rows as a dataframe, which knows how to compare any values."""
    import pandas as pd

    if hasattr(part, "columns"):
        return pd.DataFrame(part).reset_index(drop=True)
    return pd.DataFrame(np.asarray(part).reshape(len(part), -1))


def same_rows(*parts: Any) -> int:
    """How many rows are the same as an earlier one, in everything; without ids they may be one person.

    Examples
    --------
    >>> same_rows([[1.0], [2.0], [1.0]], [0, 1, 0])
    1
    """
    import pandas as pd

    return int(pd.concat([_table(part) for part in parts], axis=1).duplicated().sum())


class IID:
    """People of a file: rows drawn with replacement, or everybody once in a random order, pass after pass.

    Draws with replacement are independent draws from these rows, and a play of them proves nothing about other people.
    The first pass does, if the rows are independent draws from a population: everybody in it is new.

    Parameters
    ----------
    X, y
        The population: an array or dataframe, and labels 0, 1 or NaN.
    k
        People in a batch.
    view
        What the auditor compares by, one row per person; ``X`` itself by default.
    ids
        Who each row is; rows with the same id are one person. By default each row is a person of its own.
    order
        ``"draws"``: independent draws of rows, with replacement. ``"passes"``: distinct people in random order, and
        when fewer than k are left, all in a new random order. Of a person with several rows, each pass shows one.
    weight
        How much the errors of each row count; by default everybody counts once.

    Examples
    --------
    >>> IID([[0.0], [1.0]], [0, 1], k=2).facts().drawn
    'again'
    >>> people = IID([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], k=2, order="passes")
    >>> sorted(people.draws(seed=0, first=1, rounds=2).ravel().tolist())
    [0, 1, 2, 3]
    """

    sees_policy = False

    def __init__(
        self,
        X: Any,
        y: Any,
        k: int,
        view: Any | None = None,
        *,
        ids: Any | None = None,
        order: str = "draws",
        weight: Any | None = None,
    ) -> None:
        require_whole(k, "k")
        self.X = X if hasattr(X, "columns") else np.asarray(X)
        self.y = as_labels(y, len(self.X))
        self.k = k
        if view is None:
            view = self.X
        self._framed = hasattr(view, "iloc")
        self.view: Any = view if self._framed else np.asarray(view)
        require(
            len(self.view) == len(self.X) > 0,
            "view",
            f"have a row for each of {len(self.X)} people",
            len(self.view),
        )
        self.weight = None if weight is None else as_weights(weight, len(self.y))
        require(order in ORDERS, "order", f"be one of {ORDERS}", order)
        self.order = order
        self._named = ids is not None
        self.person = people_numbers(ids, len(self.y))
        self.people = int(self.person.max()) + 1
        enough = order == "draws" or self.people >= k
        require(enough, "k", f"be at most the {self.people} people of a pass", k)
        self._by_person = np.argsort(self.person, kind="stable")
        self._pass: tuple[Key, NDArray[np.intp]] | None = None
        self._rows: Rows = self.X
        self._encode: Encode | None = None
        self._drawn: tuple[tuple[int, int, int], list[Batch]] | None = None

    def encoded(self, encode: Encode) -> IID:
        """The population, encoded once; for several plays over one class, encode it once and pass it to each."""
        if self._encode == encode:
            return self
        twin = copy.copy(self)
        twin._rows, twin._encode, twin._drawn = encode(self.X), encode, None
        return twin

    def batch(self, key: Key, previous: Round | None, policy: Policy | None) -> Batch:
        """k people drawn for round ``key.t``."""
        number, place = divmod(key.t - 1, BLOCK)
        block = (key.seed, key.role, number)
        if self._drawn is None or self._drawn[0] != block:
            self._drawn = block, self._block(Key(*block))
        batch = self._drawn[1][place]
        return batch._replace(view=self.view.iloc[batch.view]) if self._framed else batch

    def draws(self, seed: int, first: int, rounds: int) -> NDArray[np.intp]:
        """(rounds, k): who comes in rounds ``first``, ``first + 1``, …"""
        blocks = range((first - 1) // BLOCK, (first + rounds - 2) // BLOCK + 1)
        start = (first - 1) % BLOCK
        drawn = [self._draw(Key(seed, Role.ENVIRONMENT, block)) for block in blocks]
        return np.concatenate(drawn)[start : start + rounds]

    @property
    def first_pass(self) -> int | None:
        """The number of rounds in which nobody has come before; None for draws with replacement."""
        return self.people // self.k if self.order == "passes" else None

    def _draw(self, key: Key) -> NDArray[np.intp]:
        """The draws of BLOCK rounds at once, as making a generator costs more than using it."""
        if self.first_pass is not None:
            return self._of_passes(key, self.first_pass)
        return key.generator().integers(len(self.y), size=(BLOCK, self.k))

    def _of_passes(self, key: Key, rounds: int) -> NDArray[np.intp]:
        """BLOCK rounds out of passes of so many rounds each."""
        first = key.t * BLOCK
        number, start = divmod(first, rounds)
        passes = [self._order(Key(key.seed, key.role, number + i)) for i in range((start + BLOCK - 1) // rounds + 1)]
        return np.concatenate(passes)[start : start + BLOCK]

    def _order(self, key: Key) -> NDArray[np.intp]:
        """(rounds, k): the rows of one pass. The last one is kept, as the rounds of a pass come one after another."""
        if self._pass is None or self._pass[0] != key:
            rng = key.generator()
            order, rounds = rng.permutation(self.people), self.people // self.k
            if self.people < len(self.y):
                counts = np.bincount(self.person)
                places = (np.cumsum(counts) - counts)[order] + rng.integers(counts[order])
                order = self._by_person[places]
            self._pass = key, order[: rounds * self.k].reshape(rounds, self.k)
        return self._pass[1]

    def _block(self, key: Key) -> list[Batch]:
        """The batches of a block, gathered together; a dataframe, which is slow to pick from, leaves its positions."""
        chosen = self._draw(key)
        view = chosen if self._framed else self.view.take(chosen, axis=0)
        rows = np.asarray(self._rows).take(chosen, axis=0)
        weights = itertools.repeat(None) if self.weight is None else self.weight[chosen]
        return list(map(Batch, rows, self.y[chosen], view, self.person[chosen], weights))

    def compiled(self) -> tuple[Rows, Floats, Floats] | None:
        """Rows, labels and view as plain arrays of numbers for a compiled play; None where they are not."""
        if self._framed or self.view.dtype.kind not in "fiub":
            return None
        view = self.view if self.view.ndim == 2 else self.view.reshape(len(self.y), -1)
        view = np.ascontiguousarray(view, dtype=float)
        # A sum is NaN if a number is, and needs no array of answers; infinities of both signs ask for a closer look.
        missing = np.isnan(view.sum()) and bool(np.isnan(view).any())
        return None if missing else (self._rows, self.y, view)

    def facts(self) -> EnvironmentFacts:
        """Draws from these rows are i.i.d.; of a pass over people nobody knows, unless the people were such draws."""
        again = {"draws": "again", "passes": "passes"}[self.order]
        # Rows that are the same and have no ids may be one person. Only who knows the file can say.
        unclear = self.order == "passes" and not self._named and self._same_rows() > 0
        people = None if unclear else self.people
        iid = True if self.order == "draws" else None
        return EnvironmentFacts("IID", iid, False, len(self.y), people, again)

    def _same_rows(self) -> int:
        return same_rows(self.X, self.y, *([] if self.view is self.X else [self.view]))


@dataclass
class Stream:
    """People as they come: any iterable of (X, y), (X, y, view) or ``Batch``, one item a round.

    Parameters
    ----------
    source
        The iterable; it is read once, a batch at a time. A continued play reads on.
    k
        The largest batch, if it is known.
    iid
        Whether the people are known to be independent draws from one population, each of whom comes once.

    Examples
    --------
    >>> Stream([([[0.0], [1.0]], [0, 1])], k=2).facts()
    EnvironmentFacts(name='Stream', iid=None, sees_policy=False, population=None, people=None, drawn=None)
    """

    source: Iterable[Any]
    k: int | None = None
    iid: bool | None = None
    encode: Encode = np.asarray

    sees_policy = False

    def __post_init__(self) -> None:
        if self.k is not None:
            require_whole(self.k, "k")
        self.source = iter(self.source)

    @classmethod
    def csv(cls, path: str | Path, *, label: str, k: int, view: list[str] | None = None) -> Stream:
        """Rows of a CSV file in order, k a round; ``view`` names the columns that the auditor compares by."""
        import pandas as pd

        def tables() -> Iterator[Any]:
            with pd.read_csv(path, chunksize=k * 1000) as reader:
                yield from reader

        return cls(_chunks(tables(), label, k, view), k)

    @classmethod
    def parquet(cls, path: str | Path, *, label: str, k: int, view: list[str] | None = None) -> Stream:
        """Rows of a parquet file in order, k a round."""
        from pyarrow.parquet import ParquetFile

        tables = (table.to_pandas() for table in ParquetFile(path).iter_batches(batch_size=k * 1000))
        return cls(_chunks(tables, label, k, view), k)

    def encoded(self, encode: Encode) -> Stream:
        """The same stream; each batch is encoded as it comes."""
        return replace(self, encode=encode)

    def batch(self, key: Key, previous: Round | None, policy: Policy | None) -> Batch | None:
        """The next batch, or None at the end."""
        assert isinstance(self.source, Iterator)
        people = next(self.source, None)
        return None if people is None else _batch(people, self.encode, self.k)

    def facts(self) -> EnvironmentFacts:
        """What the user said of it."""
        return EnvironmentFacts("Stream", iid=self.iid, sees_policy=False, drawn="once" if self.iid else None)


def _chunks(tables: Iterable[Any], label: str, k: int, view: list[str] | None) -> Iterator[Any]:
    """(X, y, view) of k rows at a time; the last batch of a table may be smaller."""
    for table in tables:
        unknown = [name for name in (label, *(view or ())) if name not in table.columns]
        require(not unknown, "label and view", f"be among the columns {list(table.columns)}", unknown)
        for start in range(0, len(table), k):
            rows = table.iloc[start : start + k]
            X = rows.drop(columns=label)
            yield X, rows[label].to_numpy(), X if view is None else rows[view]


class Moment(NamedTuple):
    """What an adversary knows when it chooses a batch.

    Attributes
    ----------
    t
        The round, counted from 1.
    previous
        The round before, with its probabilities and reports; None in the first one.
    policy
        π^t, if the adversary declared that it sees it; otherwise None.
    key
        Names its random numbers; ``key.generator()`` draws them.
    """

    t: int
    previous: Round | None
    policy: Policy | None
    key: Key


@dataclass(frozen=True)
class Adversary:
    """People chosen by a function, round by round, knowing the history and, if declared, π^t.

    Parameters
    ----------
    function
        From a ``Moment`` to (X, y), (X, y, view) or a ``Batch``; None ends the play.
    sees_policy
        Whether it is shown π^t. FTPL refuses an adversary that is.
    k
        The largest batch, if it is known.

    Examples
    --------
    >>> def alternate(moment):
    ...     return [[0.0]], [moment.t % 2]
    >>> Adversary(alternate, k=1, sees_policy=False).facts()
    EnvironmentFacts(name='Adversary', iid=False, sees_policy=False, population=None, people=None, drawn=None)
    """

    function: Callable[[Moment], Any]
    _: KW_ONLY
    sees_policy: bool
    k: int | None = None
    encode: Encode = np.asarray

    def __post_init__(self) -> None:
        if self.k is not None:
            require_whole(self.k, "k")
        require(callable(self.function), "function", "be a callable", self.function)

    def encoded(self, encode: Encode) -> Adversary:
        """The same adversary; each batch is encoded as it comes."""
        return replace(self, encode=encode)

    def batch(self, key: Key, previous: Round | None, policy: Policy | None) -> Batch | None:
        """What the function chooses."""
        people = self.function(Moment(key.t, previous, policy if self.sees_policy else None, key))
        return None if people is None else _batch(people, self.encode, self.k)

    def facts(self) -> EnvironmentFacts:
        """Not i.i.d."""
        return EnvironmentFacts("Adversary", iid=False, sees_policy=self.sees_policy)
