"""What a run deploys: chosen on the people who were held out, and shown beside what else could be done with them.

They are looked at once, when the play is over. Nothing that was learned depends on them, so what is proved on them
speaks for new people.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from likewise.certificates.choice import Choice, Constant, choose
from likewise.environments import IID
from likewise.experiments.runs.setup import HeldOutPeople, Setup
from likewise.game import Transcript, play
from likewise.learners import Unconstrained
from likewise.policies import Floored, Mixture
from likewise.protocol import Distance, Key, Learner, Role
from likewise.scoreboard import Entry, Groups, Scoreboard, groups, scoreboard

AVERAGE, LAST_HALF, FINAL = "the average of all rounds", "the average of the last half", "the final policy"
NOT_DEPLOYED = "what was learned (not deployed)"
GROUPS_NOT_DEPLOYED = (
    "These are the groups under what was learned, which is not deployed; one answer for everybody treats all groups "
    "the same."
)
"""The row of a policy that was not shown to be better than one answer for everybody."""
SHARE = "share of labels"
"""Of the people on whom the class was fitted: it tells a learner which label is more common."""
NOBODY = f"Nobody was held out, so nothing was chosen and nothing is claimed about new people: we take {AVERAGE}."
UNFINISHED = f"The play is not over, so nothing was chosen yet: for now we take {AVERAGE}."


@dataclass(frozen=True, eq=False)
class Deployed:
    """What a play came to.

    Attributes
    ----------
    policy
        What is deployed, as a mixture of the class.
    headline
        The first line that anybody reads: what it is, and why.
    choice, scoreboard
        What held-out people prove, and the table; None if nobody was held out, or the play is not over.
    groups
        How groups fare under the policy that the table is about; None without sensitive columns as well.
    """

    policy: Mixture
    headline: str
    choice: Choice | None = None
    scoreboard: Scoreboard | None = None
    groups: Groups | None = None

    @property
    def learned(self) -> Mixture:
        """What is deployed; where that is one answer for everybody, the best that was learned."""
        return self.policy if self.choice is None else this_entry(self.choice)[1].policy


@dataclass(frozen=True, eq=False)
class Judged:
    """Held-out people, and how policies are judged on them.

    Attributes
    ----------
    people
        Everybody who was held out.
    distance, alpha
        How far apart two people are, and how much more than that their probabilities may differ.
    costs, delta
        What errors cost, and one minus the confidence.
    """

    people: HeldOutPeople
    distance: Distance | str
    alpha: float
    costs: tuple[float, float] = (1.0, 1.0)
    delta: float = 0.05

    def choice(self, candidates: dict[str, Mixture], *, with_pairs: bool = True) -> Choice:
        """What to deploy; ``with_pairs`` says whether the distance is that of whoever reviews."""
        held = self.people
        return choose(
            candidates, held.X, held.y, alpha=self.alpha, view=held.view, delta=self.delta, costs=self.costs,
            ids=held.ids, distance=self.distance if with_pairs else None,
        )  # fmt: skip

    def board(self, entries: dict[str, Entry], hypotheses: Any, this: str) -> Scoreboard:
        """The table of these policies."""
        held = self.people
        return scoreboard(
            entries, held.X, held.y, alpha=self.alpha, view=held.view, distance=self.distance, delta=self.delta,
            costs=self.costs, ids=held.ids, hypotheses=hypotheses, features=held.features, this=this,
        )  # fmt: skip

    def groups(self, entries: dict[str, Entry], this: str) -> Groups | None:
        """How groups fare under the policy ``this``, and the impact ratios of the others."""
        held, entry = self.people, entries[this]
        if held.sensitive is None:
            return None
        others = {name: other.policy for name, other in entries.items() if name != this}
        return groups(
            entry.policy, held.X, held.y, held.sensitive, others=others, delta=self.delta, ids=held.ids,
            chosen_from=entry.chosen_from,
        )  # fmt: skip


def plain(board: Scoreboard) -> dict[str, Any]:
    """A scoreboard as plain JSON values: its numbers, and what it looks like."""
    cells = [{"cells": list(cells), "bold": row.bold} for cells, row in zip(board.cells(), board.rows, strict=True)]
    return board.to_dict() | {"header": list(board.header()), "table": cells, "gain": board.gain}


def candidates(learner: Learner, t: Transcript) -> dict[str, Mixture]:
    """The learned policies of a play that may be deployed, by name."""
    policies = {AVERAGE: t.average_policy.mixture()}
    if t.last_half_policy is not None:
        policies[LAST_HALF] = t.last_half_policy.mixture()
    final = learner.act(t.state, Key(t.seed, Role.LEARNER, t.first + t.rounds))
    if isinstance(final, Floored):
        final = final.policy  # the floor is there to learn more; whoever deploys this learns no more
    return policies | {FINAL: final} if isinstance(final, Mixture) else policies


def as_mixture(choice: Choice, hypotheses: Any) -> Mixture:
    """What was chosen, over the class: a constant is a mixture like any other."""
    policy = choice.policy
    return Mixture(hypotheses, hypotheses.constant(policy.answer)) if isinstance(policy, Constant) else policy


def leans(learner: Any) -> bool:
    """Whether it starts near one answer, because it was told the share of labels 1 before it began."""
    return getattr(learner, "prior", None) in ("mostly 0", "mostly 1")


def told(learner: Learner) -> str:
    """What a learner is told, in a word or two."""
    words = "labels" if isinstance(learner, Unconstrained) else "pairs"
    return f"{words}, {SHARE}" if leans(learner) else words


def this_entry(choice: Choice, told: str = "pairs") -> tuple[str, Entry]:
    """The policy that a scoreboard is about, with its name: what was chosen, or else the best that was learned."""
    name, policy = "this policy", choice.policy
    if isinstance(policy, Constant):
        name, policy = NOT_DEPLOYED, min(choice.candidates, key=lambda candidate: candidate.error).policy
    return name, Entry(policy, told, chosen_from=len(choice.candidates))


def labels_alone(hypotheses: Any, people: IID, auditor: Any, T: int, seed: int, costs: Any = (1.0, 1.0)) -> Mixture:
    """What labels alone teach on the same people: the last half's average of a learner that never hears a report."""
    learner = Unconstrained(hypotheses, k=people.k, T=T, costs=costs)
    t = play(learner, people, auditor, T, seed=seed)
    return (t.last_half_policy or t.average_policy).mixture()


def deployed(setup: Setup, t: Transcript) -> Deployed:
    """Choose on the held-out people what to deploy, once the play is over."""
    s, held, average = setup.settings, setup.held_out, t.average_policy.mixture()
    if t.rounds < s.T:
        return Deployed(average, UNFINISHED)
    if len(held.y) == 0:
        return Deployed(average, NOBODY)
    judged = Judged(held, setup.data.metric, s.alpha, s.costs, s.delta)
    choice = judged.choice(candidates(setup.learner, t), with_pairs=not setup.asked)
    name, learned = this_entry(choice, told(setup.learner))
    alone = labels_alone(setup.hypotheses, setup.compared_people(), setup.simulated(), s.T, s.seed, s.costs)
    entries = {name: learned, "labels alone": Entry(alone, "labels")}
    if held.today is not None:
        entries["today's rule"] = Entry(held.today)
    board = judged.board(entries, setup.hypotheses, name)
    if setup.asked:
        board = dataclasses.replace(board, notes=(*board.notes, _whose(setup)))
    by_group = _about(judged.groups(entries, name), name)
    return Deployed(as_mixture(choice, setup.hypotheses), choice.headline, choice, board, by_group)


def _about(by_group: Groups | None, name: str) -> Groups | None:
    """Groups under a policy that is not deployed say so."""
    if by_group is None or name != NOT_DEPLOYED:
        return by_group
    return dataclasses.replace(by_group, notes=(GROUPS_NOT_DEPLOYED, *by_group.notes))


def _whose(setup: Setup) -> str:
    return (
        "Unfair pairs are counted by the measure of the data set, not by the reviewer's, which is written down "
        f"nowhere. {setup.data.distance_described}"
    )
