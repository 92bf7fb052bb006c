"""Several reviewers, one round: what their verdicts teach, what is still to be asked, and of whom. Pure functions.

A verdict is a pair, "none" or a skip, given without knowing of the others'. What was asked afterwards about a pair that
somebody else named is an opinion: yes, too different; no; or a skip. ``settle`` turns all of it into an outcome:

* one verdict is taken as it is; a skip goes to a colleague;
* ``"any"``: every pair that somebody named is accepted;
* ``"adjudicated"``, where two judged: a pair is accepted when a second person upholds it, and dropped when two say no.
  "None" is a no to every pair. Who named another pair said nothing about this one, so each is asked about the other's
  pair. A third decides where it stands one to one, unless another pair of the round was upheld already: a second pair
  of the same round teaches nothing more.

Accepted pairs share the round's penalty evenly, and then every theorem holds word for word (Theorem P).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from likewise.errors import require
from likewise.theory import Overlap

Pair: TypeAlias = tuple[int, int]
"""Positions of two people in the batch, the favoured one first."""

RULES = ("adjudicated", "any")


class Verdict(NamedTuple):
    """What a reviewer said of a round, without knowing what others said.

    Attributes
    ----------
    by
        Who.
    pair
        The pair that was named; None for "no pair" (or a skip).
    skipped
        Did not judge: not the same as "none".
    """

    by: str
    pair: Pair | None = None
    skipped: bool = False


class Opinion(NamedTuple):
    """What a reviewer answered when asked about one pair: too different (True), not (False), or a skip (None)."""

    by: str
    pair: Pair
    objects: bool | None


class Question(NamedTuple):
    """Something that is still to be asked.

    Attributes
    ----------
    what
        ``"verdict"``: a blind look at the whole round. ``"opinion"``: is ``pair`` too different, yes or no?
    pair
        The pair asked about; None for a verdict.
    of
        Who must be asked; None for anybody but those in ``but``.
    but
        Who must not be asked: they have judged, or skipped.
    """

    what: str
    pair: Pair | None = None
    of: str | None = None
    but: frozenset[str] = frozenset()


class Outcome(NamedTuple):
    """What the verdicts of a round come to.

    Attributes
    ----------
    settled
        Whether nothing is left to ask.
    accepted
        The pairs to learn, each with an equal part of the penalty. Empty until the round is settled.
    questions
        What is still to be asked.
    """

    settled: bool
    accepted: tuple[Pair, ...] = ()
    questions: tuple[Question, ...] = ()


def settle(
    verdicts: Sequence[Verdict],
    opinions: Sequence[Opinion] = (),
    *,
    wanted: int = 1,
    rule: str = "adjudicated",
) -> Outcome:
    """What is learned from a round, or what has to be asked first.

    Parameters
    ----------
    verdicts
        In the order they came, late ones included; of several by one reviewer the last counts.
    opinions
        Answers about pairs that others named; again the last one counts.
    wanted
        How many blind verdicts the round was drawn for.
    rule
        ``"adjudicated"`` or ``"any"``.

    Examples
    --------
    >>> settle([Verdict("ann", (0, 3))])
    Outcome(settled=True, accepted=((0, 3),), questions=())
    >>> two = [Verdict("ann", (0, 3)), Verdict("ben", (1, 3))]
    >>> [(question.of, question.pair) for question in settle(two, wanted=2).questions]
    [('ben', (0, 3)), ('ann', (1, 3))]
    >>> settle(two, [Opinion("ben", (0, 3), True), Opinion("ann", (1, 3), False)], wanted=2).accepted
    ((0, 3),)
    """
    require(rule in RULES, "rule", f"be one of {', '.join(map(repr, RULES))}", rule)
    require(wanted in (1, 2), "wanted", "be 1 or 2", wanted)
    last = {verdict.by: verdict for verdict in verdicts}
    given = [verdict for verdict in last.values() if not verdict.skipped]
    if len(given) < wanted:
        question = Question("verdict", but=frozenset(last))
        return Outcome(False, questions=(question,) * (wanted - len(given)))
    pairs = named_pairs(given)
    if not pairs or rule == "any" or len(given) == 1:
        return Outcome(True, pairs)
    votes = {pair: _votes(pair, given, opinions) for pair in pairs}
    questions = _mutual(votes, given)
    upheld = tuple(pair for pair in pairs if _yes(votes[pair]) >= 2)
    if not questions and not upheld:
        questions = [_to_a_third(pair, votes[pair], last) for pair in pairs if _no(votes[pair]) < 2]
    return Outcome(False, questions=tuple(questions)) if questions else Outcome(True, upheld)


def close(verdicts: Sequence[Verdict], opinions: Sequence[Opinion] = ()) -> tuple[Pair, ...]:
    """The pairs to learn where a round must be closed before it is settled: all that were named and not dropped by two.

    What is settled later is a correction.

    Examples
    --------
    >>> close([Verdict("ann", (0, 3)), Verdict("ben")])
    ((0, 3),)
    """
    given = [verdict for verdict in {verdict.by: verdict for verdict in verdicts}.values() if not verdict.skipped]
    return tuple(pair for pair in named_pairs(given) if _no(_votes(pair, given, opinions)) < 2)


def named_pairs(verdicts: Iterable[Verdict]) -> tuple[Pair, ...]:
    """The different pairs that were named, in the order of the verdicts."""
    return tuple(dict.fromkeys(verdict.pair for verdict in verdicts if verdict.pair is not None))


# Agreement -------------------------------------------------------------------------------------------------


def overlap(
    rounds: Iterable[tuple[Sequence[Verdict], Sequence[Opinion]]], *, upheld: bool = False, of: str | None = None
) -> Overlap:
    """How two blind verdicts of the same round compare, counted over rounds that were drawn for a second review.

    Rounds with fewer than two verdicts are left out, and of more the first two count. Give all rounds that were drawn
    for two, whatever the first said, and no others: rounds that got a second verdict *because* of the first are no
    sample. With ``upheld`` a report counts only if its pair was accepted in the end, and rounds that are not settled
    yet are left out: this is what detection is estimated from. ``of`` one reviewer: only rounds that they judged, and
    they come first.

    Examples
    --------
    >>> ann, ben = Verdict("ann", (0, 3)), Verdict("ben")
    >>> overlap([([ann, ben], []), ([ann, ben._replace(pair=(0, 3))], [])])
    Overlap(both=1, first=1, second=0, neither=0, same_pair=1)
    """
    counts = Overlap()
    for verdicts, opinions in rounds:
        given = [verdict for verdict in {one.by: one for one in verdicts}.values() if not verdict.skipped][:2]
        outcome = settle(verdicts, opinions, wanted=2)
        if of is not None:
            given.sort(key=lambda verdict: verdict.by != of)
        if len(given) < 2 or (upheld and not outcome.settled) or of not in (None, given[0].by):
            continue
        counting = outcome.accepted if upheld else named_pairs(given)
        counts = counts.add(*(verdict.pair if verdict.pair in counting else None for verdict in given))
    return counts


# Votes on a pair -------------------------------------------------------------------------------------------

Votes: TypeAlias = dict[str, bool | None]
"""Who finds a pair too different; None for those who were asked and skipped."""


def _votes(pair: Pair, given: Sequence[Verdict], opinions: Sequence[Opinion]) -> Votes:
    votes: Votes = {opinion.by: opinion.objects for opinion in opinions if opinion.pair == pair}
    for verdict in given:
        if verdict.pair == pair or (verdict.pair is None and votes.get(verdict.by) is None):
            votes[verdict.by] = verdict.pair == pair
    return votes


def _yes(votes: Votes) -> int:
    return sum(vote is True for vote in votes.values())


def _no(votes: Votes) -> int:
    return sum(vote is False for vote in votes.values())


def _mutual(votes: dict[Pair, Votes], given: Sequence[Verdict]) -> list[Question]:
    """Each who named another pair is asked about this one, while it is open."""
    return [
        Question("opinion", pair, of=verdict.by)
        for pair, those in votes.items()
        for verdict in given
        if verdict.pair not in (None, pair) and verdict.by not in those and _yes(those) < 2 and _no(those) < 2
    ]


def _to_a_third(pair: Pair, votes: Votes, seen: Iterable[str]) -> Question:
    return Question("opinion", pair, but=frozenset(votes) | frozenset(seen))
