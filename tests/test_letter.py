"""The letter: at most 200 words and three claims, each with what it assumes, and the conclusion first."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import likewise as lw
from likewise.certificates import Candidate, Choice, Claim, Status
from likewise.certificates.letter import paragraphs
from test_certificates import NOTHING_ERRORS, NOTHING_FAIR, STATUSES, TOWN, play_of

CASES = [*STATUSES, "skipped", "one person"]


@cache
def certificate_of(case):
    return lw.certify(play_of(case))


def flat(text):
    return " ".join(text.split())


def claims_in(text):
    """(number, what is claimed, with what its group assumes) of each claim."""
    return [(int(item[0]), f"{lead} {rest} {item[3:]}") for lead, rest, items in paragraphs(text) for item in items]


def choice_of(people=300, beats=True, unfair=0.02, costs=(1.0, 1.0), same_rows=0, tolerance=None):
    """A choice among three policies, as `choose` makes it."""
    claimed = people >= 100 and not same_rows

    def candidate(name, error):
        return Candidate(
            name,
            policy=None,
            error=error,
            error_limit=error + 0.0211 if claimed else None,
            unfair=unfair,
            unfair_limit=unfair + 0.0111 if claimed and unfair is not None else None,
            beats_constants=beats and claimed,
        )

    learned = tuple(candidate(name, error) for name, error in (("the average", 0.2301), ("the last half", 0.2101)))
    return Choice(
        recommended="the last half" if beats and claimed else "always no",
        policy=None,
        candidates=learned,
        constant=0,
        constant_error=0.2411,
        constant_error_limit=0.2712 if claimed else None,
        people=people,
        labelled=people,
        alpha=0.1,
        delta=0.05,
        tolerance=tolerance,
        costs=costs,
        same_rows=same_rows,
    )


CHOICES = {
    "enough": {},
    "no distance": {"unfair": None},
    "dominated": {"beats": False},
    "dominated, no distance": {"beats": False, "unfair": None},
    "costs": {"costs": (1.0, 5.0)},
    "too few": {"people": 20},
    "too few, costs": {"people": 99, "costs": (2.0, 1.0)},
    "perhaps one person": {"same_rows": 7},
    "not shown to be fair enough": {"tolerance": 0.01, "beats": False},
}


# How long it is -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_the_letter_has_at_most_200_words_and_three_claims(case):
    certificate = certificate_of(case)
    for letter in (str(certificate), *(str(certificate.with_choice(choice_of(**o))) for o in CHOICES.values())):
        assert len(letter.split()) <= 200
        numbers = [number for number, _ in claims_in(letter)]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) <= 3
        assert max(map(len, letter.splitlines())) <= 88
        assert "appendix" in letter.splitlines()[-1]


def test_no_combination_of_assumptions_makes_the_letter_too_long():
    """Every status of every assumption, with numbers of many digits, costs, and people who came again or not."""
    certificate = certificate_of("person")
    names = range(len(certificate.assumptions))
    rng = np.random.default_rng(0)
    combinations = [*itertools.product([*Status], repeat=2), *rng.choice([*Status], size=(150, len(names)))]
    shortened = 0
    for i, statuses in enumerate(combinations):
        chosen = [Status(str(s)) for s in np.resize(np.asarray(statuses, dtype=object), len(names))]
        assumptions = tuple(
            a._replace(status=status, detail=f"{a.detail or 'some reason of a dozen words that nobody has read'} 1,234")
            for a, status in zip(certificate.assumptions, chosen, strict=True)
        )
        longer = replace(
            certificate,
            assumptions=assumptions,
            rounds=1_000_000,
            draws=6_000_000,
            people=6_000_000 if i % 2 else 1234,
            costs=(1.0, 1.0) if i % 3 else (1.0, 5.0),
            rounds_once=None if i % 5 else 1234,
            constant_error=0.0 if i % 7 == 0 else certificate.error,
            error=3e6,
        )
        text = str(longer)
        assert len(text.split()) <= 200, text
        shortened += len(claims_in(text)) < len(claims_in(str(certificate)))
    assert shortened > 0, "or no letter had to leave a claim to its appendix"


# What it claims -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_every_claim_carries_what_it_assumes(case):
    certificate = certificate_of(case)
    needed = {"errs on a new person": Claim.ERRORS, "two new people": Claim.FAIRNESS, "mixture": Claim.REGRET}
    said = claims_in(str(certificate))
    for _, text in said:
        if "behind one answer for everybody" in text:  # counted, from labels that are known
            assert "provided" not in text
            continue
        (claim,) = [claim for words, claim in needed.items() if words in text.rpartition(":")[2]]
        for assumption in certificate.rests_on(claim, Status.UNCHECKED):
            assert assumption.name in text
        if claim is not Claim.REGRET:
            assert "95% confidence" in text
            assert not certificate.rests_on(claim, Status.BROKEN)
    about_new = flat(" ".join(text for _, text in said if "new p" in text))
    assert ("errs on a new person" in about_new) == (case not in NOTHING_ERRORS)
    assert not ("treats two new people" in about_new and case in NOTHING_FAIR)


@pytest.mark.parametrize("case", CASES)
def test_its_numbers_are_the_certificates_rounded_away_from_what_they_claim(case):
    certificate, letter = certificate_of(case), flat(str(certificate_of(case)))
    for limit in re.findall(r"errs on a new person with probability at most ([\d.]+\d)", letter):
        assert 0 <= float(limit) - certificate.error_on_new_people < 1e-3
    for beta in re.findall(r"beyond their distance with probability at most ([\d.]+)%", letter):
        assert 0 <= float(beta) / 100 - certificate.fairness[0].beta < 1e-3
    for saved in re.findall(r"saved more than ([\d,]+) errors", letter):
        assert 0 <= float(saved) - certificate.regret[0].best < 1
    for more in re.findall(r"at least ([\d,]+) more errors", letter):
        assert 0 <= -certificate.regret[0].best - float(more) < 1
    assert re.search("saved more than|more errors|made fewer errors", letter)


@pytest.mark.parametrize("case", sorted(NOTHING_ERRORS & NOTHING_FAIR))
def test_where_nothing_is_claimed_about_new_people_it_is_said_first_and_why(case):
    certificate = certificate_of(case)
    first = flat(str(certificate).split("\n\n")[0])
    why = [a.name for a in certificate.assumptions if a.status == "broken"]
    assert any(f"Nothing is claimed about new people. This does not hold: {name}" in first for name in why)


def test_a_play_that_one_answer_for_everybody_beats_says_so_in_the_first_line():
    """Labels that are nearly always 1, and a policy that starts at a coin."""
    X, y = TOWN.X, np.ones(len(TOWN.X))
    F = lw.Thresholds.quantiles(X, cuts=3)
    t = lw.play(lw.Hedge(F, T=20, k=3), lw.IID(X, y, k=3), lw.MetricAuditor(TOWN.near, 0.3))
    certificate = lw.certify(t)
    assert certificate.constant_error == 0 < certificate.error
    assert flat(str(certificate)).startswith("We advise against using this policy: giving everybody the same answer")
    assert f"0.000 instead of {t.error_per_person:.3f} per draw" in flat(str(certificate))


def test_the_constant_error_is_that_of_the_better_constant_with_its_costs():
    t = play_of("missing labels")
    zeros, ones = int((t.y == 0).sum()), int((t.y == 1).sum())
    assert lw.certify(t).constant_error == min(zeros, ones)
    F = lw.Thresholds.quantiles(TOWN.X, cuts=3)
    costly = lw.play(lw.Hedge(F, T=9, k=3, costs=(0.5, 3.0)), TOWN.iid(), lw.MetricAuditor(TOWN.near, 0.3))
    assert lw.certify(costly).constant_error == min(0.5 * (costly.y == 0).sum(), 3 * (costly.y == 1).sum())


# What held-out people prove -----------------------------------------------------------------------------------------


def letter_with(case="all kept", **options):
    return str(certificate_of(case).with_choice(choice_of(**options)))


def test_with_held_out_people_the_claims_are_theirs():
    letter = letter_with()
    assert flat(letter).startswith("We recommend “the last half”")
    shared = "300 people took no part in learning. With 95% confidence all of these hold at once, provided that new"
    assert shared in flat(letter)
    claims = [text.rpartition(": ")[2] for _, text in claims_in(letter)]
    assert claims == [
        "It errs on a new person with probability at most 0.232.",
        "It treats two new people more than 0.1 beyond their distance with probability at most 3.2%.",
        "It errs less than giving everybody the same answer.",
    ]


def test_without_a_distance_the_third_claim_is_about_the_play():
    texts = [text for _, text in claims_in(letter_with(unfair=None))]
    assert len(texts) == 3
    assert "two new people" not in " ".join(texts)
    assert "mixture" in texts[2]


def test_a_dominated_policy_is_advised_against_in_the_first_line():
    letter = letter_with(beats=False)
    first = flat(letter.split("\n\n")[0])
    assert "We recommend “always no”" in first
    assert "errs less" not in flat(letter)
    texts = [text.rpartition(": ")[2] for _, text in claims_in(letter)]
    assert texts[0] == "Always answering no errs on a new person with probability at most 0.272."
    assert texts[1].startswith("The learned policy “the last half” errs on a new person")


def test_too_few_held_out_people_claim_nothing_and_say_how_many_it_takes():
    letter = flat(letter_with("drawn again", people=20))
    assert letter.startswith("Nothing is claimed about new people.")
    assert "20 people were held out" in letter
    assert "hold out at least" in letter
    assert letter.count("Nothing is claimed about new people.") == 1
    assert not re.search(r"new (person|people) .* at most", letter)


def test_too_few_held_out_people_leave_the_claims_of_the_first_pass():
    letter = flat(letter_with("all kept", people=20))
    assert "Nothing is claimed" not in letter
    assert "Too few people were held out to speak for new people." in letter
    assert "Proved about new people" in letter


def test_the_appendix_has_every_candidate_and_the_json_the_choice():
    certificate = certificate_of("all kept").with_choice(choice_of())
    said = flat(certificate.appendix())
    for candidate in certificate.choice.candidates:
        assert f"{candidate.name}: errors {candidate.error:.3f}" in said
    assert "In brackets are limits for new people" in said
    assert "In brackets" not in certificate_of("all kept").with_choice(choice_of(people=20)).appendix()
    assert certificate.to_dict()["choice"]["recommended"] == "the last half"
    assert certificate_of("all kept").to_dict()["choice"] is None
    again = Choice.from_dict(json.loads(json.dumps(certificate.to_dict()["choice"])))
    assert again.to_dict() == choice_of().to_dict()
    assert str(certificate_of("all kept").with_choice(again)) == letter_with()
    assert str(lw.certify(play_of("all kept"), choice=choice_of())) == letter_with()


def test_never_far_behind_a_constant_is_a_claim_of_its_own():
    limited = replace(certificate_of("drawn again"), behind_constant=12.3)
    texts = [text for _, text in claims_in(str(limited))]
    assert len(texts) == 2
    assert "At the end of no round had it fallen behind one answer for everybody by more than 13 errors." in texts[1]
    ahead = replace(certificate_of("drawn again"), behind_constant=-0.5)
    assert "From the first round to the last it was never behind one answer for everybody." in str(ahead).replace(
        "\n", " "
    )
    full = replace(certificate_of("all kept"), behind_constant=12.3)
    assert str(full) == str(certificate_of("all kept")), "three claims are enough"
