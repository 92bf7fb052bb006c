"""What is known of the roles of a play."""

import itertools
import json

import pytest

import likewise as lw
from likewise.errors import InvalidParameter
from likewise.facts import AuditorFacts, EnvironmentFacts, LearnerFacts, PlayFacts, all_known

KNOWN = (True, False, None)


def facts(**changes):
    given = {
        "learner": LearnerFacts("Hedge", 10, (1.0, 2.0), {"name": "Hedge", "T": 10, "costs": [1.0, 2.0]}),
        "environment": EnvironmentFacts("IID", iid=True, sees_policy=False, population=40),
        "auditor": AuditorFacts("MetricAuditor", True, True, True, {"distance": "near"}),
        "alpha": 0.1,
    }
    return PlayFacts(**(given | changes))


@pytest.mark.parametrize("values", list(itertools.product(KNOWN, repeat=3)))
def test_what_fails_for_one_fails_and_what_is_unknown_of_one_is_unknown(values):
    assert all_known(values) is (False if False in values else None if None in values else True)


def test_facts_come_back_from_json():
    noisy = AuditorFacts("NoisyAuditor", False, None, True, {"around": {"name": "Panel"}, "misses": 0.1})
    for one in (facts(), facts(auditor=noisy, margin=0.05, seed=2**63, first=7)):
        assert PlayFacts.from_dict(json.loads(json.dumps(one.to_dict()))) == one


def test_a_play_that_goes_on_with_the_same_roles_knows_the_same():
    assert facts().then(facts(first=11)) == facts()


@pytest.mark.parametrize("first", list(itertools.product(KNOWN, repeat=2)))
@pytest.mark.parametrize("second", list(itertools.product(KNOWN, repeat=2)))
def test_of_two_auditors_only_what_is_known_of_both_is_known_and_never_that_they_agree(first, second):
    both = AuditorFacts("one", *first, fixed=True).then(AuditorFacts("other", *second, fixed=True))
    assert both.truthful is all_known([first[0], second[0]])
    assert both.exhaustive is all_known([first[1], second[1]])
    assert (both.name, both.fixed) == ("one, then other", None)


def test_two_populations_are_not_one():
    both = EnvironmentFacts("IID", True, False, 40).then(EnvironmentFacts("IID", True, False, 50))
    assert both == EnvironmentFacts("IID, then IID", iid=False, sees_policy=False)


@pytest.mark.parametrize(("first", "second", "sees"), [(True, False, True), (False, False, False), (None, True, None)])
def test_an_environment_that_once_saw_the_policy_saw_it(first, second, sees):
    both = EnvironmentFacts("a", None, first).then(EnvironmentFacts("b", None, second))
    assert (both.iid, both.sees_policy) == (None, sees)


@pytest.mark.parametrize("change", [{"alpha": 0.2}, {"margin": 0.05}, {"seed": 1}])
def test_another_play_is_no_continuation(change):
    with pytest.raises(
        InvalidParameter, match=f"`later` must continue the same play, got {list(change)}".replace("[", r"\[")
    ):
        facts().then(facts(**change))


@pytest.mark.parametrize("role", ["auditor", "environment"])
def test_a_part_whose_facts_are_of_another_kind_is_refused_before_the_first_round(role):
    class Auditor(lw.MetricAuditor):
        def facts(self):
            return {"name": "me"} if role == "auditor" else super().facts()

    class People(lw.IID):
        def facts(self):
            return {"name": "me"} if role == "environment" else super().facts()

    learner = lw.Hedge(lw.Thresholds([[0.5]]), k=1, T=3)
    with pytest.raises(InvalidParameter, match=f"`{role}` must give {role.capitalize()}Facts as its facts"):
        lw.play(learner, People([[0.0], [1.0]], [0, 1], k=1), Auditor("cityblock", 0.1))
