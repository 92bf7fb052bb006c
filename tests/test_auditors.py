"""Auditors: who reports which pair, against brute force over all pairs."""

import io
import itertools

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from scipy.spatial.distance import mahalanobis

import likewise as lw
from likewise.auditors import quota, veto, weighted
from likewise.errors import InvalidParameter, ReportRefused
from likewise.protocol import SKIPPED, Batch, Key, Report, Role

ALPHA, MARGIN = 0.2, 0.1


def key(t=1, seed=0):
    return Key(seed, Role.AUDITOR, t)


def batch_of(view):
    return Batch(np.empty((len(view), 0)), np.zeros(len(view)), view)


def random_rounds(n=150, k=5, seed=0):
    """(batch, probabilities, key): people near enough to each other that about half of the rounds violate."""
    rng = np.random.default_rng(seed)
    for t in range(1, n + 1):
        yield batch_of(rng.random((k, 2))), rng.random(k) ** 2, key(t)


def cityblock(view):
    return np.abs(view[:, None] - view).sum(axis=-1)


def stretched(factor):
    return lambda view: factor * cityblock(view)


def pairs_above(level, distance, batch, p):
    """Every ordered pair with π(i) − π(j) − d(i, j) above the level, in row-major order, with its excess."""
    d = distance(batch.view)
    pairs = itertools.permutations(range(len(p)), 2)
    excess = {(i, j): p[i] - p[j] - d[i, j] for i, j in pairs}
    return {pair: e for pair, e in sorted(excess.items()) if e > level}


def documented_pairs(choose, found):
    """Which of the violating pairs an auditor may name."""
    if not found:
        return [None]
    return {"worst": [max(found, key=found.get)], "first": [next(iter(found))], "random": list(found)}[choose]


def pair_of(report):
    return None if report is None else (report.favoured, report.disfavoured)


# One distance ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("margin", [0.0, MARGIN])
@pytest.mark.parametrize("choose", ["worst", "first", "random"])
def test_a_pair_is_reported_iff_one_is_above_the_level_and_it_is_the_documented_one(choose, margin):
    auditor = lw.MetricAuditor(cityblock, ALPHA, choose=choose, margin=margin)
    answers = set()
    for batch, p, at in random_rounds():
        found = pairs_above(ALPHA - margin, cityblock, batch, p)
        pair = pair_of(auditor.audit(batch, p, at))
        assert pair in documented_pairs(choose, found)
        answers.add(pair is None)
    assert answers == {True, False}


def test_a_report_below_alpha_is_reported_but_does_not_violate():
    auditor = lw.MetricAuditor(cityblock, ALPHA, margin=MARGIN)
    seen = set()
    for batch, p, at in random_rounds(400):
        report = auditor.audit(batch, p, at)
        if report is not None:
            assert report.violates is (pair_of(report) in pairs_above(ALPHA, cityblock, batch, p))
            seen.add(report.violates)
    assert seen == {True, False}


def test_with_a_margin_a_gap_between_the_level_and_alpha_is_enough_for_a_report():
    auditor = lw.MetricAuditor(cityblock, ALPHA, margin=MARGIN)
    report = auditor.audit(batch_of(np.zeros((2, 1))), np.array([0.45, 0.6]), key())
    assert report == Report(1, 0, violates=False)


def test_random_choice_gives_every_violating_pair_its_turn_and_the_same_one_again():
    p, batch = np.array([0.9, 0.8, 0.0]), batch_of(np.zeros((3, 1)))
    auditor = lw.MetricAuditor(cityblock, ALPHA, choose="random")
    pairs = [pair_of(auditor.audit(batch, p, key(t))) for t in range(1, 101)]
    assert set(pairs) == {(0, 2), (1, 2)}
    assert pairs == [pair_of(auditor.audit(batch, p, key(t))) for t in range(1, 101)]


def test_one_person_is_never_treated_differently():
    assert lw.MetricAuditor(cityblock, 0.0).audit(batch_of(np.zeros((1, 1))), np.ones(1), key()) is None


def test_a_gap_of_exactly_the_level_is_fine():
    auditor, two = lw.MetricAuditor(cityblock, 0.5), batch_of(np.zeros((2, 1)))
    assert auditor.audit(two, np.array([0.75, 0.25]), key()) is None
    assert auditor.audit(two, np.array([0.7501, 0.25]), key()) == Report(0, 1, violates=True)


def test_named_metrics_are_those_of_scipy():
    rng = np.random.default_rng(3)
    VI = np.array([[2.0, 0.3], [0.3, 0.5]])
    auditor = lw.MetricAuditor("mahalanobis", ALPHA, VI=VI)
    by_hand = lw.MetricAuditor(lambda view: [[mahalanobis(a, b, VI) for b in view] for a in view], ALPHA)
    reports = []
    for t in range(1, 60):
        batch, p = batch_of(0.3 * rng.random((4, 2))), rng.random(4)
        reports.append(auditor.audit(batch, p, key(t)))
        assert reports[-1] == by_hand.audit(batch, p, key(t))
    assert any(reports)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("cityblock", {}, 7.0),
        ("euclidean", {}, 5.0),
        ("chebyshev", {}, 4.0),
        ("cityblock", {"w": [2.0, 0.5]}, 8.0),
        ("minkowski", {"p": 1}, 7.0),
        ("seuclidean", {"V": [9.0, 16.0]}, np.sqrt(2.0)),
    ],
)
def test_a_metric_by_name_takes_its_options(name, options, expected):
    distance = lw.MetricAuditor(name, ALPHA, **options).distance
    d = distance(pd.DataFrame({"a": [0.0, 3.0], "b": [0.0, 4.0]}))
    np.testing.assert_allclose(d, [[0.0, expected], [expected, 0.0]])


BAD_AUDITORS = {
    "an unknown metric": (lambda: lw.MetricAuditor("kindness", ALPHA), "`distance` must .* got 'kindness'"),
    "no distance": (lambda: lw.MetricAuditor(3.0, ALPHA), "`distance` must be a callable or the name"),
    "an alpha above one": (lambda: lw.MetricAuditor(cityblock, 1.5), r"`alpha` must be in \[0, 1\], got 1.5"),
    "a margin above alpha": (lambda: lw.MetricAuditor(cityblock, 0.1, margin=0.2), "`margin` must be in"),
    "an unknown choice": (lambda: lw.MetricAuditor(cityblock, 0.1, choose="best"), "`choose` must be one of"),
    "a misspelt option": (lambda: lw.MetricAuditor("cityblock", 0.1, margn=0.1), "margn"),
    "an option that nobody reads": (lambda: lw.MetricAuditor(cityblock, 0.1, margn=0.1), "margn"),
    "a drifting number": (lambda: lw.DriftingAuditor(3.0, 0.1), "`distance` must be a callable of view and round"),
    "misses above one": (lambda: lw.NoisyAuditor(lw.MetricAuditor("cityblock", 0.1), misses=2), "`misses` must be"),
    "false reports below zero": (
        lambda: lw.NoisyAuditor(lw.MetricAuditor("cityblock", 0.1), false_reports=-1),
        "`false_reports` must be in",
    ),
    "a script with a wide margin": (lambda: lw.ScriptedAuditor([], 0.1, margin=0.2), "`margin` must be in"),
    "a person with a high alpha": (lambda: lw.AskAuditor(2.0), "`alpha` must be in"),
}


@pytest.mark.parametrize("what", BAD_AUDITORS)
def test_a_bad_parameter_gets_one_sentence(what):
    build, sentence = BAD_AUDITORS[what]
    with pytest.raises(InvalidParameter, match=sentence):
        build()


@pytest.mark.parametrize(
    ("distances", "got"),
    [
        ([[0.0, -1.0], [-1.0, 0.0]], "smallest entry -1.0"),
        ([[0.0, np.nan], [np.nan, 0.0]], "smallest entry nan"),
        ([0.0, 1.0], r"shape \(2,\)"),
        (np.zeros((3, 3)), r"shape \(3, 3\)"),
    ],
)
def test_distances_that_are_none_are_refused(distances, got):
    auditor = lw.MetricAuditor(lambda view: distances, ALPHA)
    with pytest.raises(InvalidParameter, match=f"`distance` must give 2 × 2 distances, at least 0, got {got}"):
        auditor.audit(batch_of(np.zeros((2, 1))), np.array([1.0, 0.0]), key())


def test_a_drifting_auditor_judges_by_the_distance_of_the_round():
    auditor = lw.DriftingAuditor(lambda view, t: t * cityblock(view), ALPHA)
    seen = set()
    for batch, p, at in random_rounds():
        fixed = lw.MetricAuditor(stretched(at.t), ALPHA)
        assert auditor.audit(batch, p, at) == fixed.audit(batch, p, at)
        seen.add((at.t > 5, fixed.audit(batch, p, at) is None))
    assert {(False, False), (True, True)} <= seen
    assert auditor.facts().fixed is False


# Noise -----------------------------------------------------------------------------------------------------------


def answers_of(auditor, n=2000):
    return [auditor.audit(batch, p, at) for batch, p, at in random_rounds(n)]


def test_noise_loses_and_invents_reports_at_its_rates_and_marks_what_it_invents():
    truth = answers_of(lw.MetricAuditor(cityblock, ALPHA))
    noisy = answers_of(lw.NoisyAuditor(lw.MetricAuditor(cityblock, ALPHA), misses=0.3, false_reports=0.1))
    lost = [answer is None for was, answer in zip(truth, noisy, strict=True) if was is not None]
    invented = [answer for was, answer in zip(truth, noisy, strict=True) if was is None]
    kept = [(was, answer) for was, answer in zip(truth, noisy, strict=True) if None not in (was, answer)]
    assert abs(np.mean(lost) - 0.3) < 4 * np.sqrt(0.21 / len(lost))
    false = [answer for answer in invented if answer is not None]
    assert abs(len(false) / len(invented) - 0.1) < 4 * np.sqrt(0.09 / len(invented))
    assert min(len(false), len(kept)) > 10
    assert all(answer.false and answer.violates is False for answer in false)
    assert all(was == answer and not answer.false for was, answer in kept)


def test_a_false_report_names_the_higher_probability_first():
    noisy = lw.NoisyAuditor(lw.MetricAuditor(cityblock, 1.0), false_reports=1.0)
    pairs = set()
    for batch, p, at in random_rounds(300, k=3):
        report = noisy.audit(batch, p, at)
        assert p[report.favoured] > p[report.disfavoured]
        pairs.add(pair_of(report))
    assert len(pairs) == 6


def test_a_false_report_needs_two_people():
    noisy = lw.NoisyAuditor(lw.MetricAuditor(cityblock, ALPHA), false_reports=1.0)
    assert noisy.audit(batch_of(np.zeros((1, 1))), np.ones(1), key()) is None


def test_a_skipped_round_stays_skipped_under_noise():
    skipping = lw.ScriptedAuditor([], ALPHA)
    assert lw.NoisyAuditor(skipping, misses=1.0, false_reports=1.0).audit(None, None, key()) is SKIPPED


def test_only_an_auditor_who_misses_nothing_is_exhaustive():
    auditor = lw.MetricAuditor(cityblock, ALPHA)
    assert lw.NoisyAuditor(auditor, false_reports=0.5).facts().exhaustive is True
    assert lw.NoisyAuditor(auditor, misses=0.1).facts().exhaustive is False
    assert lw.NoisyAuditor(lw.DriftingAuditor(cityblock, ALPHA)).facts().fixed is False


# Panels ----------------------------------------------------------------------------------------------------------

FACTORS = (0.3, 0.8, 1.2, 2.0)
BRUTE_RULES = {
    "any": ("any", lambda votes: any(votes)),
    "all": ("all", lambda votes: all(votes)),
    "majority": ("majority", lambda votes: sum(votes) > len(votes) / 2),
    "three quarters": (quota(0.75), lambda votes: sum(votes) >= 3),
    "weights": (weighted([3, 1, 1, 2], 4), lambda votes: np.dot([3, 1, 1, 2], votes) >= 4),
    "any with a veto": (veto([2], quota(0.5)), lambda votes: sum(votes) >= 2 and votes[2]),
}


def panel(rule, margin=MARGIN, choose="worst"):
    return lw.Panel([lw.MetricAuditor(stretched(c), ALPHA, margin=margin) for c in FACTORS], rule, choose=choose)


def verdicts(level, rule, batch, p):
    """The pairs that the rule objects to when everybody votes at this level."""
    found = [pairs_above(level, stretched(c), batch, p) for c in FACTORS]
    return {pair for pair in itertools.permutations(range(len(p)), 2) if rule([pair in votes for votes in found])}


@pytest.mark.parametrize("name", BRUTE_RULES)
def test_a_panel_reports_iff_its_rule_objects_to_some_pair(name):
    rule, brute = BRUTE_RULES[name]
    auditor, answers = panel(rule), set()
    for batch, p, at in random_rounds():
        objected = verdicts(ALPHA - MARGIN, brute, batch, p)
        report = auditor.audit(batch, p, at)
        assert pair_of(report) in (objected or {None})
        assert report is None or report.violates is (pair_of(report) in verdicts(ALPHA, brute, batch, p))
        answers.add(report is None)
    assert answers == {True, False}


@pytest.mark.parametrize("name", BRUTE_RULES)
def test_the_excess_of_a_panel_is_the_highest_level_at_which_it_still_objects(name):
    rule, brute = BRUTE_RULES[name]
    auditor = panel(rule)
    for batch, p, at in random_rounds(10, k=4):
        excess = auditor.excess(batch, p, at.t)
        for i, j in itertools.permutations(range(4), 2):
            assert (i, j) in verdicts(excess[i, j] - 1e-9, brute, batch, p)
            assert (i, j) not in verdicts(excess[i, j] + 1e-9, brute, batch, p)


@pytest.mark.parametrize("name", BRUTE_RULES)
def test_the_worst_pair_of_a_panel_has_the_largest_excess(name):
    rule, _ = BRUTE_RULES[name]
    auditor = panel(rule)
    for batch, p, at in random_rounds():
        report = auditor.audit(batch, p, at)
        excess = auditor.excess(batch, p, at.t)
        assert report is None or excess[pair_of(report)] == excess.max()


def test_the_first_pair_of_a_panel_is_the_first_that_it_objects_to():
    auditor = panel("majority", choose="first")
    for batch, p, at in random_rounds():
        objected = sorted(verdicts(ALPHA - MARGIN, BRUTE_RULES["majority"][1], batch, p))
        assert pair_of(auditor.audit(batch, p, at)) == (objected[0] if objected else None)


def test_every_vote_of_every_round_is_kept():
    auditor = panel("all")
    for batch, p, at in random_rounds(40):
        auditor.audit(batch, p, at)
        for member, c in enumerate(FACTORS):
            votes = {(int(i), int(j)) for i, j in np.argwhere(auditor.votes[at.t][member])}
            assert votes == set(pairs_above(ALPHA - MARGIN, stretched(c), batch, p))
    assert sorted(auditor.votes) == list(range(1, 41))


def test_a_quota_is_of_heads_and_not_of_binary_fractions():
    votes = np.array([[True], [True], [True], [False], [False]])
    assert quota(0.6)(votes).all()
    assert not quota(0.61)(votes).any()


@pytest.mark.parametrize(
    "rule",
    [lambda votes: votes.sum(axis=0) == 1, lambda votes: ~votes[0], lambda votes: votes[0] ^ votes[1]],
)
def test_a_rule_that_a_vote_can_undo_is_refused(rule):
    with pytest.raises(InvalidParameter, match="`rule` must be monotone, got one that a vote of member"):
        panel(rule)


def member(alpha=ALPHA):
    return lw.MetricAuditor(cityblock, alpha)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: lw.Panel([]), "`members` must be a list of auditors"),
        (lambda: lw.Panel([member(0.1), member(0.2)]), "`members` must have the same alpha and margin"),
        (lambda: lw.Panel([member()], rule="loudest"), "`rule` must be one of"),
        (lambda: quota(0.0), r"`share` must be in \(0, 1\]"),
        (lambda: weighted([1.0, -1.0], 1.0), "`weights` must be at least 0"),
        (lambda: lw.Panel([member()], rule=weighted([1.0, 1.0], 1.0)), "weights"),
        (lambda: lw.Panel([member()], rule=veto([3], quota(0.5))), "member"),
    ],
)
def test_a_panel_that_cannot_vote_is_refused(build, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        build()


def test_a_panel_is_as_exhaustive_and_as_fixed_as_its_members():
    drifting = lw.DriftingAuditor(lambda view, t: cityblock(view), ALPHA)
    assert lw.Panel([member(), member()]).facts().fixed is True
    assert lw.Panel([member(), drifting]).facts().fixed is False


# Scripts and play ------------------------------------------------------------------------------------------------

X = np.random.default_rng(5).random((30, 2))
Y = (X[:, 0] > 0.5).astype(float)


def played(auditor, T=80):
    learner = lw.Hedge(lw.Thresholds.quantiles(X, cuts=4), T=T, k=4)
    return lw.play(learner, lw.IID(X, Y, k=4), auditor, seed=3)


@pytest.mark.parametrize("margin", [0.0, MARGIN])
def test_a_script_of_a_transcripts_reports_gives_the_same_transcript(margin):
    first = played(lw.MetricAuditor(cityblock, ALPHA, margin=margin))
    second = played(lw.ScriptedAuditor(first.reports, ALPHA, margin=margin))
    assert first.reported.any()
    assert first.reports == second.reports
    np.testing.assert_array_equal(first.shown, second.shown)
    np.testing.assert_array_equal(first.penalties, second.penalties)


def test_rounds_that_a_script_does_not_reach_are_not_reviewed():
    transcript = played(lw.ScriptedAuditor({2: None, 5: SKIPPED}, ALPHA), T=20)
    np.testing.assert_array_equal(np.flatnonzero(transcript.reviewed), [1])
    assert not transcript.reported.any()


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        (Report(0, 4), "must name two of 4 people, got 0 and 4"),
        (Report(-1, 0), "must name two of 4 people, got -1 and 0"),
        (Report(2, 2), r"must exceed α − margin = 0.2 to be a violation, got 0 for people 2 and 2"),
    ],
)
def test_play_refuses_a_report_that_cannot_be_true(report, sentence):
    with pytest.raises(ReportRefused, match=sentence):
        played(lw.ScriptedAuditor([report], ALPHA))


class Backwards(lw.MetricAuditor):
    """Names the disfavoured person first."""

    def audit(self, batch, probabilities, key):
        report = super().audit(batch, probabilities, key)
        return None if report is None else Report(report.disfavoured, report.favoured)


def test_play_refuses_a_pair_in_the_wrong_order():
    with pytest.raises(ReportRefused, match="favoured first"):
        played(Backwards(cityblock, ALPHA))


def test_play_takes_the_false_reports_of_simulated_noise_and_counts_no_violation():
    transcript = played(lw.NoisyAuditor(lw.MetricAuditor(stretched(100.0), ALPHA), false_reports=0.5))
    assert transcript.false.any()
    assert (transcript.pair_gaps[transcript.false] <= ALPHA).any()
    assert not transcript.violations[transcript.report_rounds[transcript.false]].any()


# A person at the terminal ----------------------------------------------------------------------------------------

PEOPLE = pd.DataFrame({"name": ["Ada", "Ben", "Cy", "Dee"], "age": [31.0, 42.5, 29.0, 60.0]})
CHANCES = np.array([0.30, 0.90, 0.55, 0.10])  # Ben, Cy, Ada, Dee


class Person:
    """Types the given lines, and remembers what was shown."""

    def __init__(self, *lines):
        self.lines = list(lines)
        self.screen = io.StringIO()
        self.prompts = []

    def ask(self, prompt):
        self.prompts.append(prompt)
        return self.lines.pop(0)

    def answers(self, view=PEOPLE, chances=CHANCES):
        console = Console(file=self.screen, width=100)
        auditor = lw.AskAuditor(alpha=0.3, margin=0.05, ask=self.ask, console=console)
        return auditor.audit(batch_of(view), chances, key(t=12))


def test_a_person_sees_everybody_with_the_highest_probability_first():
    person = Person("")
    person.answers()
    shown = person.screen.getvalue()
    rows = [line.replace("│", " ").split() for line in shown.splitlines() if "│" in line]
    assert rows == [
        ["1", "0.90", "Ben", "42.5"],
        ["2", "0.55", "Cy", "29"],
        ["3", "0.30", "Ada", "31"],
        ["4", "0.10", "Dee", "60"],
    ]
    assert "Round 12" in shown
    assert "name" in shown


@pytest.mark.parametrize("line", ["1 3", "3 1", "1,3", " 3 , 1 "])
def test_a_person_names_two_rows_in_any_order(line):
    assert Person(line).answers() == Report(1, 0, violates=None)


@pytest.mark.parametrize(("line", "answer"), [("", None), ("   ", None), ("s", SKIPPED)])
def test_a_person_may_find_nothing_or_not_look(line, answer):
    assert Person(line).answers() is answer


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("1", "Please type two different numbers from 1 to 4"),
        ("1 2 3", "Please type two different numbers from 1 to 4"),
        ("0 2", "Please type two different numbers from 1 to 4"),
        ("1 5", "Please type two different numbers from 1 to 4"),
        ("Ben Dee", "Please type two different numbers from 1 to 4"),
        ("² 4", "Please type two different numbers from 1 to 4"),
        ("2 2", "Please name two different people."),
        ("3 4", "Their probabilities differ by 0.20; up to 0.25 is never too different."),
    ],
)
def test_an_answer_that_makes_no_sense_is_asked_again_with_a_reason(line, sentence):
    person = Person(line, "1 4")
    assert person.answers() == Report(1, 3)
    assert sentence in person.screen.getvalue()
    assert len(person.prompts) == 2


def test_people_without_column_names_are_numbered():
    person = Person("")
    person.answers(view=np.arange(8.0).reshape(4, 2))
    assert "x0" in person.screen.getvalue()
    assert "x1" in person.screen.getvalue()


def test_what_is_known_of_a_person_or_a_script_is_nothing():
    for auditor in (lw.AskAuditor(0.1), lw.ScriptedAuditor([], 0.1)):
        assert (auditor.facts().exhaustive, auditor.facts().fixed) == (None, None)


def test_text_with_brackets_is_shown_as_it_is():
    person = Person("")
    person.answers(view=PEOPLE.assign(name=["[red]", "[/x]", "a", "b"]))
    assert "[red]" in person.screen.getvalue()
