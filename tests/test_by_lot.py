"""Rounds drawn for review: recorded, kept, continued, and what ``certify`` then says of all rounds."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import likewise as lw
from likewise import errors, theory
from likewise.checks import check_auditor, check_learner
from likewise.theory import Gold, Overlap

DATA = lw.datasets.synthetic(800)
F = lw.Thresholds.quantiles(DATA.people, cuts=8)
PEOPLE = lw.IID(DATA.people, DATA.y, k=4, view=DATA.view)


def metric(alpha: float = 0.1) -> lw.MetricAuditor:
    return lw.MetricAuditor(DATA.distance, alpha=alpha)


def played(auditor, T=200, seed=3, **options) -> lw.Transcript:
    return lw.play(lw.AdaHedge(F, k=4, alpha=auditor.alpha, T=400), PEOPLE, auditor, T=T, seed=seed, **options)


def truly_violating(t: lw.Transcript, auditor) -> np.ndarray:
    """Which rounds the auditor would report, drawn or not."""
    keys = [lw.Key(t.seed, lw.Role.AUDITOR, i + 1) for i in range(t.rounds)]
    seen = (t.round(i) for i in range(t.rounds))
    return np.array(
        [auditor.audit(r.batch, r.probabilities, key) is not None for r, key in zip(seen, keys, strict=True)]
    )


# What is recorded ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["gap", "largest", "equal"])
def test_a_round_is_cleared_drawn_or_not_reviewed_by_its_lot(by):
    t = played(lw.ByLot(metric(), share=0.3, by=by))
    spread = np.array([np.ptp(r.probabilities) for r in t])
    assert np.array_equal(t.cleared, spread <= t.level)
    assert np.array_equal(t.largest_gaps, spread)
    assert np.array_equal(t.reviewed, t.cleared | t.drawn)
    assert not (t.reported & ~t.drawn).any()
    assert not (t.drawn & t.cleared).any()
    assert (t.review_probabilities[t.cleared] == 0).all()
    assert t.review_probabilities[~t.cleared].min() >= theory.review_floor(0.3, by)


def test_the_recorded_probability_is_the_rule_and_the_lot_that_of_the_key():
    t = played(lw.ByLot(metric(), share=0.3))
    earlier: list[float] = []
    for i in np.flatnonzero(~t.cleared):
        gap = float(t.largest_gaps[i])
        q = theory.review_probability(gap, earlier, 0.3)
        assert t.review_probabilities[i] == q
        assert t.drawn[i] == (lw.Key(t.seed, lw.Role.REVIEW, int(i) + 1).generator().random() < q)
        earlier.append(gap)


def test_full_review_learns_what_the_auditor_alone_teaches():
    alone, all_drawn = played(metric()), played(lw.ByLot(metric(), share=1.0))
    assert np.array_equal(alone.shown, all_drawn.shown)
    assert np.array_equal(alone.pairs, all_drawn.pairs)
    assert theory.review_limit(all_drawn.review_count) == alone.reported.sum()


def test_what_is_learned_does_not_use_rounds_that_were_not_drawn():
    t = played(lw.ByLot(metric(), share=0.1))
    learner = lw.AdaHedge(F, k=4, alpha=0.1, T=400)
    state = learner.init()
    for seen in t:
        state = learner.update(state, seen)
    assert np.array_equal(state.losses, t.state.losses)
    assert truly_violating(t, metric())[~t.drawn & ~t.cleared].any()  # some were missed, and not learned


def test_a_round_knows_its_lot():
    t = played(lw.ByLot(metric(), share=0.3), T=20)
    assert [r.lot.drawn for r in t] == t.drawn.tolist()
    assert [r.lot.cleared for r in t] == t.cleared.tolist()
    assert all(r.lot is None for r in played(metric(), T=5))
    frame = t.to_frame()
    assert frame["drawn"].tolist() == t.drawn.tolist()
    assert frame["cleared"].tolist() == t.cleared.tolist()


# Kept and continued ----------------------------------------------------------------------------------------


def test_saved_loaded_and_continued_it_is_the_same_play(tmp_path):
    whole = played(lw.ByLot(metric(), share=0.2), T=400)
    first = played(lw.ByLot(metric(), share=0.2), T=330)
    first.save(tmp_path / "first.npz")
    loaded = lw.Transcript.load(tmp_path / "first.npz")
    later = played(lw.ByLot(metric(), share=0.2), T=70, state=loaded)
    both = loaded + later
    for name in ("shown", "pairs", "review_probabilities", "drawn", "largest_gaps", "reviewed"):
        assert np.array_equal(getattr(whole, name), getattr(both, name))
    assert whole.review_count == both.review_count
    assert both.facts.auditor.review_floor == theory.review_floor(0.2)


def test_a_plan_after_a_time_of_full_review():
    first = played(metric(), T=100)
    later = played(lw.ByLot(metric(), share=0.1), T=100, state=first)
    both = first + later
    assert both.review_probabilities[:100].tolist() == [1.0] * 100
    assert both.facts.auditor.review_floor == theory.review_floor(0.1)
    parts = theory.review_limit(first.review_count) + theory.review_limit(later.review_count)
    assert theory.review_limit(both.review_count) == parts


def test_the_same_rounds_asked_again_get_the_same_lots():
    auditor = lw.ByLot(metric(), share=0.2)
    a, b = played(auditor, T=350), played(auditor, T=350)
    assert np.array_equal(a.review_probabilities, b.review_probabilities)
    assert np.array_equal(a.drawn, b.drawn)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_it_passes_the_checks_of_auditors(share):
    view = np.asarray(DATA.view)
    assert "repeatable" in check_auditor(lw.ByLot(metric(), share), view)
    assert "answers" in check_auditor(lw.ByLot(lw.DecisionAuditor("cityblock", 0.1, theta=0.5), share), view)
    assert "levels" in check_auditor(lw.ByLot(lw.NoisyAuditor(metric(), misses=0.3), share), view)


def test_a_learner_passes_its_checks_with_reviews_by_lot():
    assert "storage" in check_learner(lw.AdaHedge(F, k=4, alpha=0.1), PEOPLE, lw.ByLot(metric(), 0.5))


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(errors.InvalidParameter, match="`share`"):
        lw.ByLot(metric(), share=0)
    with pytest.raises(errors.InvalidParameter, match="`by`"):
        lw.ByLot(metric(), share=0.5, by="size")
    with pytest.raises(errors.InvalidParameter, match="already"):
        lw.ByLot(lw.ByLot(metric(), share=0.5), share=0.5)


def test_unanswered_rounds_count_as_found():
    silent = lw.ScriptedAuditor({}, alpha=0.1)
    t = played(lw.ByLot(silent, share=0.2), T=100)
    count = t.review_count
    assert count.unanswered == t.drawn.sum() > 0
    assert theory.review_limit(count) >= count.unanswered
    assert "not answered" in str(lw.certify(t))


# What is claimed -------------------------------------------------------------------------------------------


def test_the_limit_covers_all_rounds_of_plays_that_react():
    """The learner learns only what was found, so what violates depends on the lots."""
    missed = 0
    for seed in range(60):
        auditor = metric()
        t = played(lw.ByLot(auditor, share=0.15), T=120, seed=seed)
        missed += lw.certify(t).reviews.limit < truly_violating(t, auditor).sum()
    assert missed / 60 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 60)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["gap", "largest", "equal"])
def test_the_limit_covers_all_rounds_of_many_plays(by):
    missed = 0
    for seed in range(400):
        auditor = metric()
        t = played(lw.ByLot(auditor, share=0.15, by=by), T=300, seed=seed)
        missed += theory.review_limit(t.review_count) < truly_violating(t, auditor).sum()
    assert missed / 400 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_reviewers_of_known_detection_are_covered_once_it_is_measured():
    """They miss 40 %: the corrected limit covers what is really there."""
    rng, missed = np.random.default_rng(0), 0
    for seed in range(40):
        sharp, noisy = metric(), lw.NoisyAuditor(metric(), misses=0.4)
        t = played(lw.ByLot(noisy, share=0.4), T=150, seed=seed)
        found = int(rng.binomial(40, 0.6))
        reviews = lw.certify(t, gold=Gold(found=found, missed=40 - found)).reviews
        truth = truly_violating(t, sharp).sum()
        missed += reviews.corrected < truth
        assert reviews.corrected >= reviews.limit
    assert missed / 40 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 40)


def test_felt_rounds_of_an_auditor_of_decisions_are_covered_and_the_two_lots_are_apart():
    """Which pairs are decided differently, and which rounds are drawn, come from different roles."""
    auditor = lw.DecisionAuditor(DATA.distance, 0.1, theta=0.1)
    missed = 0
    for seed in range(30):
        t = played(lw.ByLot(auditor, share=0.3), T=120, seed=seed)
        alone = [auditor.audit(r.batch, r.decisions.astype(float), lw.Key(seed, lw.Role.AUDITOR, i + 1), _pairs(r, t))
                 for i, r in enumerate(t)]  # fmt: skip
        felt = sum(answer is not None for answer in alone)
        reviews = lw.certify(t).reviews
        assert reviews.felt
        missed += reviews.limit < felt
    assert missed / 30 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 30)


def _pairs(r, t):
    p, yes = r.probabilities, r.decisions
    return np.argwhere((yes[:, None] & ~yes) & (p[:, None] - p > t.level))


def test_lots_of_review_do_not_change_with_lots_of_decision():
    without, with_lots = (played(lw.ByLot(metric(), share=0.3), T=100, lot=lot) for lot in (None, "round"))
    assert np.array_equal(without.drawn, with_lots.drawn)
    draws = np.array([lw.Key(3, lw.Role.REVIEW, t).generator().random() for t in range(1, 2001)])
    lots = np.array([lw.Key(3, lw.Role.LOT, t).generator().random() for t in range(1, 2001)])
    assert abs(np.corrcoef(draws, lots)[0, 1]) < 3 / math.sqrt(2000)


def test_hidden_rounds_by_lot_are_estimated_by_share_and_gap():
    auditor = lw.DecisionAuditor(DATA.distance, 0.1, theta=0.1)
    t = played(lw.ByLot(auditor, share=0.3), T=200)
    hidden = lw.certify(t).hidden
    expected = (1 / (t.review_probabilities[t.report_rounds] * t.pair_gaps)).sum()
    assert hidden.estimate == pytest.approx(expected)
    assert hidden.limit >= t.reported.sum()


# In words --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gold", [None, Gold(found=45, missed=1)])
@pytest.mark.parametrize("overlap", [None, Overlap(30, 3, 4, 400)])
@pytest.mark.parametrize("person", [False, True])
def test_the_letter_claims_it_in_two_hundred_words(gold, overlap, person):
    auditor = lw.ByLot(_Person() if person else metric(), 0.3)
    t = lw.play(lw.Unconstrained(F, k=4), PEOPLE, auditor, T=150, seed=1)
    certificate = lw.certify(t, gold=gold, overlap=overlap)
    text = " ".join(str(certificate).split())
    assert len(text.split()) <= 200
    r = certificate.reviews
    assert f"Of all 150 rounds at most {r.limit} held a pair" in text
    assert ("rounds violate" in text) is (r.corrected is not None) is (gold is not None or overlap is not None)
    assert r.corrected is None or f"at most {r.corrected:,} rounds violate" in text
    assert ("provided that lots were drawn as recorded" in text) is person


class _Person(lw.MetricAuditor):
    """Somebody of whom nothing is known."""

    def __init__(self) -> None:
        super().__init__(DATA.distance, 0.1)

    def facts(self) -> lw.AuditorFacts:
        return lw.AuditorFacts("somebody")


def test_the_appendix_has_the_assumed_shares_and_the_assumptions():
    certificate = lw.certify(played(lw.ByLot(metric(), share=0.3)), overlap=Overlap(30, 3, 4, 400))
    text = " ".join(certificate.appendix().split())
    for share, limit in certificate.reviews.assumed[1:]:
        assert f"{limit:,} if they find {share:.0%}" in text
    agreed = lw.theory.positive_agreement(Overlap(30, 3, 4, 400))
    between = f"between {agreed.low:.0%} and {agreed.high:.0%}"
    assert f"90% ({between}) of reports were confirmed by the other" in text
    for name in ("lots were drawn as recorded", "does not depend on the lot", "independently of each other"):
        assert name in text
    assert json.loads(json.dumps(certificate.to_dict()))["reviews"]["limit"] == certificate.reviews.limit


def test_a_play_in_which_everything_was_reviewed_claims_nothing_new():
    assert lw.certify(played(metric(), T=50)).reviews is None
    assert "Of all" not in str(lw.certify(played(lw.ByLot(metric(), share=1.0), T=50)))


def test_full_review_by_measured_reviewers_is_corrected():
    t = played(metric(), T=150)
    reviews = lw.certify(t, gold=Gold(found=40, missed=4)).reviews
    assert reviews.limit == t.reported.sum() < reviews.corrected


def test_rounds_that_wait_are_shown_beside_the_limit():
    t = played(lw.ByLot(metric(), share=0.3), T=60)
    count = theory.count_rounds(0.1, [(0.1, "undrawn")] * 30)
    certificate = lw.certify(t, review_count=count, waiting=5)
    assert certificate.reviews.rounds == 30
    assert "5 later rounds wait for an answer" in " ".join(certificate.appendix().split())


def test_new_people_by_lot_are_claimed_from_the_lots():
    once = lw.Stream(
        [(DATA.people[i : i + 4], DATA.y[i : i + 4], np.asarray(DATA.view)[i : i + 4]) for i in range(0, 800, 4)]
    )
    t = lw.play(lw.AdaHedge(F, k=4, alpha=0.1), once, lw.ByLot(metric(), share=0.5), T=200)
    (limit,) = lw.certify(t).redraw.fairness if lw.certify(t).redraw else lw.certify(t).fairness
    found, floor = t.review_probabilities[t.reported].tolist(), theory.review_floor(0.5)
    assert limit.theorem == "drawn by lot, at any time"
    assert limit.sum_of_betas == pytest.approx(theory.sum_of_betas_by_lot(found, floor, 0.05))
