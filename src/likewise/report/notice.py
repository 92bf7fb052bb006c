"""A notice for one person: why they have their probability, what the lot did, what would have changed it, whom to ask.

The reasons are those of ``policy.reasons``: amounts for columns of the file, which add up to the probability. What is
estimated says so. The changes are those of ``policy.what_if``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from likewise.errors import InvalidParameter, NotSupported, require, require_number, require_whole
from likewise.policies import thresholds_of
from likewise.reading import Change, Reasons
from likewise.wording import plural

WIDTH = 80
SURE = 1e-9
"""Probabilities this close to 0 or 1 leave nothing to a lot; sums of weights are rounded."""
NOBODY = "The notice was written without a name to ask. Ask whoever sent it to you."


@dataclass(frozen=True)
class Reason:
    """A column's part in a probability: what the person's value adds, and the most that it could have added.

    ``amount`` counts from the least that the column can add (then ``most`` is known), or from its mean over people
    compared with (then it is not).
    """

    column: str
    value: str
    amount: float
    most: float | None = None

    @property
    def lost(self) -> float:
        """How much more the column could have added; or by how much it is below the mean."""
        return max(0.0, -self.amount if self.most is None else self.most - self.amount)

    @property
    def text(self) -> str:
        """The column and the person's value; a cell is described by the value alone."""
        return self.value if self.column == "cell" else f"{self.column} {self.value}"

    def __str__(self) -> str:
        sign = "−" if self.amount < 0 else "+"
        most = "" if self.most is None else f" (at most +{self.most:.3f})"
        return f"{self.text}: {sign}{abs(self.amount):.3f}{most}"


@dataclass(frozen=True)
class Notice:
    """What a person may be told about a decision; ``str()`` is the text, ``to_dict`` the JSON, ``page`` the print.

    Attributes
    ----------
    about
        Whom it is about.
    probability
        Of a yes.
    decision, lot
        The answer and the number that was drawn, if they are known.
    base, compared_with
        What everybody starts with: the least that anybody can have, or the mean of so many people.
    reasons
        Every column that matters, those that cost most first; none where the policy can't be split by columns.
    estimated
        Whether the split by column is estimated; its sum never is.
    changes
        What would have raised the probability, one column at a time; the largest first.
    unexplained
        Why there are no reasons, if there are none.
    contact
        Whom to ask.
    policy
        Which policy it was, and where it comes from, in words.
    decided_at
        When, if it is known.

    Examples
    --------
    >>> from likewise import Mixture, Thresholds
    >>> policy = Mixture(Thresholds([[18, 65]], names=["age"]), np.array([0.0, 0.1, 0.6, 0.0, 0.0, 0.3]))
    >>> told = notice(policy, [[17.0]], about="Ada", decision=False, contact="the loans desk")
    >>> print(told.lottery)
    The probability of a yes was 0.400, and a lot decided: two draws for the same values would differ with probability
    0.48. The answer was no.
    >>> [str(reason) for reason in told.reasons], [str(change) for change in told.changes]
    (['age 17: +0.000 (at most +0.600)'], ['age ≥ 18 instead of 17: 1.000 (+0.600)'])
    """

    about: str
    probability: float
    decision: bool | None
    lot: float | None
    base: float
    compared_with: int
    reasons: tuple[Reason, ...]
    estimated: bool
    changes: tuple[Change, ...]
    unexplained: str = ""
    contact: str = ""
    policy: str = ""
    decided_at: str = ""
    top: int = field(default=4, repr=False)

    # Sentences ----------------------------------------------------------------------------------------------------

    @property
    def drawn(self) -> float:
        """2π(1 − π): the probability that two draws for the same values differ; 0 if nothing was left to a lot."""
        return 0.0 if self.certain else 2 * self.probability * (1 - self.probability)

    @property
    def certain(self) -> bool:
        """Whether the probability is 0 or 1."""
        return min(self.probability, 1 - self.probability) <= SURE

    @property
    def lottery(self) -> str:
        """What part of the answer was drawn."""
        answer = "" if self.decision is None else f" The answer was {'yes' if self.decision else 'no'}."
        if self.certain:
            always = "yes" if self.probability > 0.5 else "no"
            return f"Nothing was left to a lot: everybody with the same values gets a {always}.{answer}"
        number = (
            "" if self.lot is None else f" The number drawn was {self.lot:.3f}; below {self.probability:.3f} is a yes."
        )
        return (
            f"The probability of a yes was {self.probability:.3f}, and a lot decided: two draws for the same values "
            f"would differ with probability {self.drawn:.2f}.{number}{answer}"
        )

    @property
    def start(self) -> str:
        """What amounts are counted from, and that they add up."""
        if self.unexplained:
            return self.unexplained
        if not self.reasons:
            return f"No column made a difference: the probability is {self.base:.3f}, as it is for others."
        whose = (
            f"the mean of {plural(self.compared_with, 'other person', 'other people')}, {self.base:.3f}"
            if self.compared_with
            else f"what everybody has, {self.base:.3f}"
        )
        mark = " The split by column is estimated; the sum is exact." if self.estimated else ""
        return f"The probability is a sum: {whose}, and an amount for each column.{mark}"

    @property
    def against(self) -> tuple[Reason, ...]:
        """What cost most."""
        return tuple(reason for reason in self.reasons if reason.lost >= 0.0005)[: self.top]

    @property
    def in_favour(self) -> tuple[Reason, ...]:
        """What added most."""
        added = sorted(self.reasons, key=lambda reason: -reason.amount)
        return tuple(reason for reason in added if reason.amount >= 0.0005)[: self.top]

    def change_text(self, change: Change) -> str:
        """A change in a sentence; with the number that was drawn, whether it would have turned the answer."""
        turned = self.lot is not None and self.decision is False and change.probability > self.lot
        return f"{change}{'; with the same lot, a yes' if turned else ''}"

    @property
    def caution(self) -> str:
        """What the changes don't say."""
        if not self.changes:
            return "No change of a single column would have raised the probability noticeably."
        tried = "" if all(change.nearest for change in self.changes) else " Only values of other people were tried."
        return (
            "One column changes and everything else stays the same; whether anybody can change so, the policy doesn't "
            f"know.{tried}"
        )

    @property
    def asked(self) -> str:
        """Whom to ask."""
        return f"Ask {self.contact.rstrip('.')}." if self.contact else NOBODY

    def parts(self) -> list[tuple[str, str, list[str]]]:
        """Headings, their sentence, and their lines: the same in every form."""
        listed = [
            ("The decision", self.lottery, []),
            ("Why", self.start, []),
            ("What counted against", "", [str(reason) for reason in self.against]),
            ("What counted in favour", "", [str(reason) for reason in self.in_favour]),
            ("What would have changed it", self.caution, [self.change_text(change) for change in self.changes]),
            ("Whom to ask", self.asked, []),
            ("Which policy", " ".join(filter(None, [self.policy, self.decided_at])), []),
        ]
        return [(heading, text, lines) for heading, text, lines in listed if text or lines]

    # Forms --------------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        blocks = [f"Notice about {self.about}" if self.about else "Notice about a decision"]
        for heading, text, lines in self.parts():
            wrapped = textwrap.wrap(f"{heading}. {text}", WIDTH) if text else [f"{heading}:"]
            wrapped += [line for one in lines for line in textwrap.wrap(one, WIDTH, initial_indent="  - ",
                                                                     subsequent_indent="    ")]  # fmt: skip
            blocks.append("\n".join(wrapped))
        return "\n\n".join(blocks)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain JSON values; sentences included."""
        plain = {name: value for name, value in asdict(self).items() if name != "top"}
        plain["reasons"] = [asdict(reason) for reason in self.reasons]
        plain["changes"] = [change._asdict() for change in self.changes]
        sentences = {"lottery": self.lottery, "start": self.start, "caution": self.caution, "asked": self.asked}
        return plain | {"drawn": self.drawn, "sentences": sentences}


def notice(
    policy: Any,
    person: Any,
    *,
    compared_with: Any = None,
    about: str = "",
    id: str | None = None,
    secret: bytes | None = None,
    decision: bool | None = None,
    lot: float | None = None,
    contact: str = "",
    made_by: str = "",
    decided_at: str = "",
    top: int = 4,
    by: float = 0.05,
) -> Notice:
    """What one person may be told about their decision: reasons, the lottery, what would have changed it, whom to ask.

    Parameters
    ----------
    policy
        The policy that decided: a ``Mixture``, a ``FinishedPolicy``, an average.
    person
        One row, as the policy takes it.
    compared_with
        People to compare with, who took no part in learning: needed for a policy on models' scores. Without any,
        amounts count from the least that anybody can have.
    about
        Whom the notice is about; the id by default.
    id, secret
        Of ``policy.decide``: with both, the lot and the decision are computed again.
    decision, lot
        The answer that was given and the number that was drawn, if they are known otherwise.
    contact
        Whom to ask: a name, an address.
    made_by, decided_at
        Which policy it was, and when it decided, in words.
    top
        How many reasons are told, of either kind.
    by
        By how much a change must raise the probability to be told.

    Examples
    --------
    >>> from likewise import Mixture, Thresholds
    >>> policy = Mixture(Thresholds([[18, 65]], names=["age"]), np.array([0.0, 0.1, 0.6, 0.0, 0.0, 0.3]))
    >>> told = notice(policy, [[40.0]], about="Ada", contact="the loans desk")
    >>> told.lottery
    'Nothing was left to a lot: everybody with the same values gets a yes.'
    """
    require_whole(top, "top", 1)
    for value, name in ((decision, "decision"), (lot, "lot")):
        require(value is None or secret is None, name, "be left out with `secret`, which tells it", value)
    p = np.asarray(policy.probability(person), dtype=float)
    require(p.shape == (1,), "person", "be one row", f"shape {p.shape}")
    probability = float(np.clip(p[0], 0.0, 1.0))
    if secret is not None:
        require(id is not None, "id", "be given with `secret`", id)
        lot = float(thresholds_of([id], secret)[0])
        decision = lot < probability
    if lot is not None:
        require_number(lot, "lot", 0, 1)
    reasons, why = _reasons(policy, person, compared_with)
    changes = () if reasons is None else _raising(policy, person, compared_with, by)
    return Notice(
        about or (id or ""), probability, decision, lot,
        *_listed(reasons), changes[:top], why, contact, made_by, decided_at, top,
    )  # fmt: skip


def _reasons(policy: Any, person: Any, compared_with: Any) -> tuple[Reasons | None, str]:
    try:
        return policy.reasons(person, compared_with=compared_with), ""
    except (NotSupported, InvalidParameter) as error:
        return None, f"No reasons can be given. {error}"


def _listed(reasons: Reasons | None) -> tuple[float, int, tuple[Reason, ...], bool]:
    if reasons is None:
        return 0.0, 0, (), False
    amounts, most = reasons.amounts[0], reasons.most
    every = [
        Reason(name, reasons.values[0][j], float(amounts[j]), None if most is None else float(most[j]))
        for j, name in enumerate(reasons.columns)
    ]
    mattering = [reason for reason in every if reason.amount != 0.0 or reason.lost > 0.0]
    costly_first = sorted(mattering, key=lambda reason: -reason.lost)
    return float(reasons.base), reasons.compared_with, tuple(costly_first), reasons.estimated


def _raising(policy: Any, person: Any, compared_with: Any, by: float) -> tuple[Change, ...]:
    changes: Sequence[Change] = policy.what_if(person, by, compared_with=compared_with)
    return tuple(change for change in changes if change.difference > 0)
