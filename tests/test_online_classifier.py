"""Any online classifier as a learner: what it is taught, what regret it has, and that plays continue and are kept."""

import dataclasses

import numpy as np
import pytest
from river import linear_model, naive_bayes, preprocessing
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB

import likewise as lw
from likewise.errors import InvalidParameter, NotSupported
from likewise.hypotheses import WithFeatures
from likewise.report import write_report

DATA = lw.datasets.synthetic(3000)
X = DATA.features
F = lw.Thresholds.quantiles(X, cuts=6)
AUDITOR = lw.MetricAuditor(DATA.distance, alpha=0.1)


def people(k=4, **options):
    return lw.IID(X, DATA.y, k=k, view=DATA.view, **options)


def sgd(**options):
    return SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.05, **options)


def river():
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


CLASSIFIERS = {
    "partial_fit": (sgd(), {}),
    "partial_fit, copies": (sgd(average=True), {"copies": True}),
    "partial_fit, answers only": (SGDClassifier(loss="hinge"), {}),
    "naive Bayes": (GaussianNB(), {}),
    "river": (river(), {}),
    "river, no weights": (naive_bayes.GaussianNB(), {}),
    "river, answers only": (linear_model.PAClassifier(), {}),
}


def learner(name, F=F, **options):
    classifier, special = CLASSIFIERS[name]
    return lw.OnlineClassifier(F, classifier=classifier, **special | {"k": 4, "penalty": 6} | options)


OFTEN = ("partial_fit", "river", "river, no weights")
SELDOM = [pytest.param(name, marks=pytest.mark.slow) for name in CLASSIFIERS if name not in OFTEN]


@pytest.mark.parametrize("name", [*OFTEN, *SELDOM])
def test_it_keeps_the_promises_of_a_learner(name):
    ran = lw.checks.check_learner(learner(name), people(), AUDITOR, T=10)
    assert {"pure", "any order", "permutation", "several reports", "storage", "another process"} <= set(ran)


@pytest.mark.parametrize("name", ["partial_fit", "partial_fit, copies", "river"])
def test_a_thousand_rounds_are_kept_certified_and_continued_to_the_same_bits(name, tmp_path):
    teach = learner(name, T=1000)
    half = lw.play(teach, people(order="passes"), AUDITOR, T=500, seed=2)
    half.save(tmp_path / "half.npz")
    stored = lw.Transcript.load(tmp_path / "half.npz")
    other = learner(name, T=1000)  # knows nothing of the first half but its lessons
    rest = lw.play(other, people(order="passes"), AUDITOR, seed=2, state=stored)
    whole = lw.play(teach, people(order="passes"), AUDITOR, seed=2)
    np.testing.assert_array_equal((half + rest).shown, whole.shown)
    assert whole.rounds == 1000
    certificate = lw.certify(whole)
    assert certificate.black_box
    assert "mixture of the " in str(certificate)
    assert "an online classifier decided" in certificate.appendix()
    assert certificate.regret[0].by_lagrangian == pytest.approx(whole.lagrangian_regret)
    assert certificate.regret[0].best <= certificate.regret[0].by_lagrangian + 1e-9
    # It learns: the regret per round is small, and reports have become rare.
    assert whole.lagrangian_regret < 0.5 * whole.rounds
    assert whole.violations.mean() < 0.2


@pytest.mark.parametrize("name", ["partial_fit", "partial_fit, copies", "river, no weights"])
def test_the_regret_of_the_play_is_the_classifiers_own_on_what_it_was_taught(name):
    """The paper's reduction: Σ Err(π^t, reduced) − min_f Σ Err(f, reduced) is the Lagrangian regret, whoever plays."""
    teach = learner(name)
    t = lw.play(teach, people(), lw.MetricAuditor(DATA.distance, alpha=0.02), T=150, seed=4)
    assert t.reported.sum() > 3
    lessons, paid = t.state, 0.0
    rows = lessons.rows.reshape(len(lessons.y), -1)
    starts = np.concatenate([[0], lessons.ends]).astype(int)
    state = teach.init()
    for i, round_ in enumerate(t):
        policy = teach.act(state, None)
        taught = slice(starts[i], starts[i + 1])
        given = policy.probability(rows[taught])
        paid += float(lessons.w[taught] @ np.abs(given - lessons.y[taught]))
        state = teach.update(state, round_)
    answers = F.predict(rows)
    best = float((np.abs(answers - lessons.y) @ lessons.w).min())
    assert paid - best == pytest.approx(t.lagrangian_regret)


def test_regret_is_measured_as_by_the_class_itself():
    t = lw.play(learner("partial_fit"), people(), AUDITOR, T=80, seed=1)
    alone = dataclasses.replace(t, rows=t.hypotheses.compared_rows(t.rows), hypotheses=F)
    assert alone.lagrangian_regret == t.lagrangian_regret
    mine, theirs = (lw.best_in_hindsight(each, DATA.distance, 0.1).error for each in (t, alone))
    assert mine == pytest.approx(theirs)


@pytest.mark.parametrize("F", [F, lw.Cells.grid(X, bins=3, features=[0, 1]), lw.FiniteClass([lambda X: X[:, 0] > 0])])
def test_a_class_with_features_is_the_class(F):
    wide = WithFeatures(F)
    ran = lw.checks.check_hypothesis_class(wide, X[:60])
    assert {"losses", "predictions", "probability", "to_dict"} <= set(ran)
    rows = wide.encode(X[:50])
    np.testing.assert_array_equal(wide.features(rows), X[:50])
    np.testing.assert_array_equal(wide.compared_rows(rows), F.encode(X[:50]))
    again = lw.hypotheses.from_dict(wide.to_dict(), models=getattr(F, "models", None))
    np.testing.assert_array_equal(again.encode(X[:50]), rows)


def test_weights_and_copies_teach_the_same_loss():
    """Err(f) on the lessons is L_C(f), but for a constant, for every hypothesis: with weights and with R_C's copies."""
    rng = np.random.default_rng(0)
    for reports in ((), (lw.Report(1, 0),), (lw.Report(1, 0), lw.Report(2, 0))):
        rows = WithFeatures(F).encode(X[rng.choice(len(X), 4)])
        y = np.array([1.0, 0.0, np.nan, 1.0])
        round_ = lw.Round(lw.Batch(rows, y, None), rng.random(4), reports)
        s = lw.reduction.signed_weights(y, reports, 7)
        expected = F.losses(WithFeatures(F).compared_rows(rows), s)
        for copies in (False, True):
            teach = lw.OnlineClassifier(F, classifier=sgd(), k=4, penalty=7, copies=copies)
            lessons = teach.update(teach.init(), round_)
            examples = lessons.rows.reshape(len(lessons.y), -1)
            losses = np.abs(F.predict(examples) - lessons.y) @ lessons.w
            times = 2 if copies and len(reports) == 2 else 1  # 7 copies can't be shared by two pairs
            np.testing.assert_allclose(losses - losses[0], times * (expected - expected[0]), atol=1e-12)


def test_the_average_policy_can_be_learned_again_from_a_saved_play(tmp_path):
    teach = learner("partial_fit")
    t = lw.play(teach, people(), AUDITOR, T=60, seed=0)
    t.save(tmp_path / "play.npz")
    again = lw.Transcript.load(tmp_path / "play.npz")
    assert again.average_policy.lost == 60
    average = learner("partial_fit").average_policy(again.state)
    np.testing.assert_array_equal(average.probability(X[:200]), t.average_policy.probability(X[:200]))


def test_a_policy_stays_as_it_was_when_the_play_goes_on():
    teach = learner("river")
    first = lw.play(teach, people(), AUDITOR, T=20, seed=0)
    policy = teach.act(first.state, None)
    before = policy.probability(X[:50])
    lw.play(teach, people(), AUDITOR, T=20, seed=0, state=first)
    np.testing.assert_array_equal(policy.probability(X[:50]), before)


def test_reports_lower_violations_compared_with_labels_alone():
    heard = lw.play(learner("partial_fit", penalty=8), people(k=4), AUDITOR, T=400, seed=0)
    ignored = lw.play(learner("partial_fit", penalty=0), people(k=4), AUDITOR, T=400, seed=0)
    assert heard.violations[200:].sum() < ignored.violations[200:].sum()


def test_a_report_page_can_be_written(tmp_path):
    teach = learner("partial_fit")
    t = lw.play(teach, people(), AUDITOR, T=60, seed=0)
    page = write_report(tmp_path / "report.html", t, learner=teach, distance=DATA.distance).read_text(encoding="utf-8")
    assert "SGDClassifier" in page
    assert "nothing was proved in advance" in page


def test_before_anything_is_learned_everybody_has_a_half():
    teach = learner("partial_fit")
    assert teach.act(teach.init(), None).probability(X[:3]).tolist() == [0.5] * 3
    assert teach.bound(0.1) is None
    assert teach.observed_bound(teach.init()) is None


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"classifier": LogisticRegression()}, InvalidParameter, "`classifier` must have partial_fit"),
        ({"classifier": None}, InvalidParameter, "`classifier` must have partial_fit"),
        ({"classifier": naive_bayes.GaussianNB(), "copies": False}, InvalidParameter, "takes no weights"),
        ({"classifier": sgd(), "copies": True, "costs": (1.0, 2.0)}, NotSupported, r"`costs` must be \(1, 1\)"),
        ({"classifier": sgd(), "copies": True, "penalty": 2.5}, InvalidParameter, "whole number of copies"),
        ({"classifier": sgd(), "penalty": -1}, InvalidParameter, "`penalty` must be at least 0"),
    ],
)
def test_bad_input_gets_one_sentence(options, error, sentence):
    with pytest.raises(error, match=sentence):
        lw.OnlineClassifier(F, **{"k": 4} | options)


def test_a_classifier_in_the_place_of_the_class_is_told_its_name():
    with pytest.raises(InvalidParameter, match="got SGDClassifier; name it as `classifier=`"):
        lw.OnlineClassifier(sgd())


def test_a_class_that_does_not_say_how_long_its_rows_are_is_refused():
    class Odd(lw.FiniteClass.__mro__[1]):
        geometry = F.geometry
        encode = losses = probability = predict_rows = to_dict = lambda *parts: None

    with pytest.raises(InvalidParameter, match="nothing else says how long its rows are"):
        WithFeatures(Odd())
