"""report.html: one file that fetches nothing, says what happened with the play's numbers, and works for any play."""

from __future__ import annotations

import base64
import itertools
import re
from html import escape, unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import likewise as lw
from likewise.auditors.people import Silent
from likewise.certificates import Status
from likewise.errors import InvalidParameter
from likewise.report import words, write_report
from likewise.wording import plural


def made_up():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2))
    return X, (X[:, 0] + 0.5 * rng.normal(size=200) > 0).astype(float)


X, Y = made_up()
F = lw.Thresholds.quantiles(X, cuts=5)
ALPHA, K, T = 0.1, 4, 80
VOID = {"meta", "img", "br"}


def distance(view):
    return np.abs(view[:, None, 1] - view[None, :, 1])


AUDITOR = lw.MetricAuditor(distance, ALPHA)
LEARNER = lw.AdaHedge(F, T=T, k=K, alpha=ALPHA)


class Page(HTMLParser):
    """A page as a browser reads it: tags, what they fetch, and the words of each section."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.fetched, self.open, self.images, self.captions = [], [], [], [], []
        self.sections, self.heading = {"": ""}, ""
        self.size = path.stat().st_size
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        assert self.open == [], "every tag is closed"

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append(tag)
        self.fetched += [given[name] for name in ("src", "href", "data", "action") if name in given]
        if tag == "img":
            self.images.append(given)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "h2":
            self.heading = "?"
        if tag == "figcaption":
            self.captions.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if "style" in self.open:
            return
        if "h2" in self.open:
            self.heading = text
            self.sections[text] = ""
        elif "figcaption" in self.open:
            self.captions[-1] += text
        self.sections[self.heading] = self.sections.get(self.heading, "") + " " + text

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.sections.values()))


@pytest.fixture(scope="module")
def play():
    return lw.play(LEARNER, lw.IID(X, Y, k=K), AUDITOR)


@pytest.fixture(scope="module")
def page(play, tmp_path_factory):
    options = {"learner": LEARNER, "distance": distance, "compare_by": ["age"], "parameters": {"rounds": T}}
    folder = tmp_path_factory.mktemp("run")
    return Page(write_report(folder, play, title="A run", data="People.", again="likewise play --again .", **options))


def test_it_fetches_nothing_and_runs_nothing(page):
    assert page.fetched
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.fetched)
    assert not {"script", "link", "iframe", "object", "form", "base"} & set(page.tags)
    assert not re.search(r"@import|url\(|https?://", page.source)
    for image in page.images:
        svg = base64.b64decode(image["src"].partition(",")[2]).decode()
        assert not re.search(r"<script|<image|@import|url\((?!#)|href=\"(?!#)", svg), "pictures fetch nothing either"


def test_it_tells_the_story_in_order(page):
    told = [heading for heading in page.sections if heading]
    assert told == [
        "What was decided, and who looked on", "What happened", "One round, up close", "Did the reports help?",
        "What fairness costs here", "What is proved", "What this rests on", "What this page can’t say",
        "Words on this page", "Parameters, and how to repeat it",
    ]  # fmt: skip
    assert "likewise play --again ." in page.sections[told[-1]]
    assert "compared by: age" in page.sections[told[0]]


def test_every_picture_has_a_caption_and_the_same_words_for_who_can_not_see_it(page):
    assert len(page.images) == len(page.captions) == 5
    for image, caption in zip(page.images, page.captions, strict=True):
        assert caption.endswith(".")
        assert image["alt"].replace("-", "−") == caption.replace("-", "−")


def test_its_numbers_are_the_plays(page, play):
    quarter = T // 4
    early, late = (int(play.violations[part].sum()) for part in (slice(0, quarter), slice(T - quarter, T)))
    assert f"{int(play.violations.sum())} of them count as violations" in page.text
    assert f"{early} in the first quarter, {late} in the last" in page.text
    assert f"{play.error_per_person:.3f} errors per person" in page.text
    best = lw.best_in_hindsight(play, distance, ALPHA)
    assert f"{best.error / len(play.y):.3f} without any violation" in page.sections["What fairness costs here"]


def test_the_quarters_add_up_to_the_play(play):
    parts = words.quarters(play)
    assert sum(part.people for part in parts) == len(play.y)
    assert sum(part.violations for part in parts) == play.violations.sum()
    assert sum(part.error * part.people for part in parts) == pytest.approx(play.errors.sum())


def test_the_letter_and_each_assumption_with_its_status_are_there(page, play):
    certificate = lw.certify(play)
    *letter, _ = str(certificate).split("\n\n")
    proved = re.sub(r"\s+", " ", page.sections["What is proved"]).replace(" .", ".")
    assert len(letter) > 2
    for part in letter:
        assert " ".join(part.split()) in proved
    rests = page.sections["What this rests on"]
    for assumption in certificate.assumptions:
        assert re.search(f"{assumption.status}\\s+{re.escape(assumption.name)}", rests)


def test_names_from_outside_stay_words(play, tmp_path):
    evil = "<script>alert('x')</script>&\"<img src=x onerror=y>"
    path = write_report(
        tmp_path,
        play,
        learner=LEARNER,
        title=evil,
        data=evil,
        decision=evil,
        compare_by=[evil, 3],
        parameters={evil: evil, "nested": {evil: [evil]}},
        again=evil,
    )
    found = Page(path)
    assert "script" not in found.tags
    assert len(found.images) == 4
    assert found.source.count(escape(evil)) + found.source.count(escape(evil, quote=False)) >= 8
    assert evil in unescape(found.source)


@pytest.mark.usefixtures("undrawn")
def test_names_from_outside_in_a_transcript_stay_words_too(play, tmp_path):
    class Named(lw.MetricAuditor):
        def facts(self):
            return lw.AuditorFacts("<b>me</b>", details={"distance": "<i>mine</i>"})

    t = lw.play(LEARNER, lw.IID(X, Y, k=K), Named(distance, ALPHA))
    found = Page(write_report(tmp_path, t, learner=LEARNER))
    assert "i" not in found.tags
    assert "The reviewer was <b>me</b>." in found.text


def test_the_same_play_gives_the_same_page(play, tmp_path):
    pages = [write_report(tmp_path / name, play, learner=LEARNER, distance=distance) for name in ("a", "b.html")]
    assert [path.name for path in pages] == ["report.html", "b.html"]
    assert pages[0].read_bytes() == pages[1].read_bytes()


# Any play -----------------------------------------------------------------------------------------------------


@pytest.fixture
def undrawn(monkeypatch):
    """Leaves the drawing out where only words are looked at: the pictures of such plays are drawn in test_figures."""
    monkeypatch.setattr("likewise.report.page.svg", lambda figure: b"<svg/>")


words_only = pytest.mark.usefixtures("undrawn")


def told(tmp_path, learner, auditor=AUDITOR, rounds=20, y=Y, k=K, **options):
    t = lw.play(learner, lw.IID(X, y, k=k), auditor, rounds)
    return Page(write_report(tmp_path, t, learner=learner, **options))


def ours(T=20, k=K, **options):
    return lw.AdaHedge(options.pop("F", F), T=T, k=k, alpha=ALPHA, **options)


@words_only
def test_a_play_without_a_report(tmp_path):
    found = told(tmp_path, ours(), lw.ScriptedAuditor([None] * 20, ALPHA))
    assert "treated too differently in 0 rounds" in found.text
    assert "No pair was reported" in found.sections["Did the reports help?"]
    assert "needs a written distance" in found.sections["What fairness costs here"]


@words_only
def test_rounds_that_nobody_reviewed_are_counted(tmp_path):
    found = told(tmp_path, ours(), lw.ScriptedAuditor({3: None}, ALPHA))
    assert "Nobody reviewed 19 rounds." in found.text
    assert "nobody reviewed it" in found.sections["One round, up close"]


@words_only
def test_missing_labels_are_said(tmp_path):
    found = told(tmp_path, ours(costs=(1.0, 2.0)), y=np.where(np.arange(200) % 3 == 0, np.nan, Y))
    assert "cost of errors per person" in found.text
    assert re.search(f"{Status.BROKEN}\\s+every label is known", found.sections["What this rests on"])
    assert "No label is known." in told(tmp_path, ours(), y=np.full(200, np.nan), distance=distance).text


@pytest.mark.parametrize(("rounds", "k"), [(1, 4), (1, 1), (3, 1)])
def test_the_smallest_plays(tmp_path, rounds, k):
    found = told(tmp_path, ours(rounds, k), rounds=rounds, k=k, distance=distance)
    assert f"In {plural(rounds, 'round')} a policy gave" in found.text
    assert len(found.images) == 5


@words_only
def test_cells_are_counted_without_being_listed(tmp_path):
    found = told(tmp_path, ours(F=lw.Cells.grid(X, bins=8)), distance=distance)
    assert "the 2^64 ways to say yes or no to each of 64 groups" in found.text


@words_only
def test_estimators_have_no_exact_hindsight_and_it_is_said(tmp_path):
    F = lw.EstimatorClass(LogisticRegression(), pool=X)
    found = told(tmp_path, lw.SmoothedFTPL(F, T=8, k=K, draws=2), rounds=8, distance=distance)
    assert "reached only by fitting" in found.sections["What fairness costs here"]
    assert "no theorem promised anything" in found.sections["What happened"]
    assert len(found.images) == 4


@words_only
def test_a_class_without_a_constant_may_have_no_fair_policy_and_it_is_said(tmp_path):
    F = lw.FiniteClass([lambda X: X[:, 0] > 0, lambda X: X[:, 1] > 0], constants=())
    found = told(tmp_path, ours(F=F), distance=distance)
    assert "perhaps no fair policy" in found.sections["What fairness costs here"]


@words_only
def test_what_only_a_person_knows_is_not_checkable(tmp_path):
    answers = itertools.cycle(["1 4", "s", ""])
    auditor = lw.AskAuditor(ALPHA, ask=lambda prompt: next(answers), console=Silent())
    # The leader is sure of everybody, so that nobody's gap is too small to be reported.
    learner = lw.FollowTheLeader(lw.FiniteClass([lambda X: X[:, 0] > 0], pool=X), k=K)
    batch = (np.array([[1.0, 0], [2, 0], [-1, 0], [-2, 0]]), np.array([1.0, 1, 0, 0]))
    t = lw.play(learner, lw.Stream([batch] * 13), lw.ScriptedAuditor([None] * 13, ALPHA), 1)
    t = t + lw.play(learner, lw.Stream([batch] * 12), auditor, 12, state=t)
    assert t.reported.any()
    found = Page(write_report(tmp_path, t, learner=learner))
    assert "taken at its word" in found.text
    assert len(re.findall(str(Status.UNCHECKED), found.sections["What this rests on"])) >= 3


@words_only
def test_false_reports_break_the_assumption(tmp_path):
    found = told(tmp_path, ours(60), lw.NoisyAuditor(AUDITOR, 0.1, 0.5), 60, distance=distance)
    assert re.search(f"{Status.BROKEN}\\s+reports are truthful", found.sections["What this rests on"])
    assert "made up with probability 0.5" in found.text


@words_only
def test_a_saved_play_is_told_the_same(play, tmp_path, page):
    play.save(tmp_path / "t.npz")
    loaded = lw.Transcript.load(tmp_path / "t.npz")
    found = Page(write_report(tmp_path, loaded, learner=LEARNER, distance=distance))
    assert found.captions == page.captions


@words_only
def test_without_the_learner_or_the_beginning_what_is_missing_is_said(play, tmp_path):
    found = Page(write_report(tmp_path, play))
    assert "no theorem's line is drawn" in found.text
    assert "later policies are not known" in found.text
    anytime = lw.AdaHedge(F, k=K, alpha=ALPHA)
    first = lw.play(anytime, lw.IID(X, Y, k=K), AUDITOR, 10)
    later = lw.play(anytime, lw.IID(X, Y, k=K), AUDITOR, 10, state=first)
    found = Page(write_report(tmp_path, later, learner=anytime))
    assert "later part of a play" in found.text
    assert "11 to 13" in found.text


def test_the_page_does_not_grow_with_the_play(play, tmp_path, page):
    long = lw.AdaHedge(F, T=4000, k=K, alpha=ALPHA)
    t = lw.play(long, lw.IID(X, Y, k=K), lw.MetricAuditor("cityblock", ALPHA), 4000)
    found = Page(write_report(tmp_path, t, learner=long))
    assert found.size < 1.5 * page.size < 1_000_000


def test_a_frontier_needs_its_distance_and_a_report_its_play(play, tmp_path):
    with pytest.raises(InvalidParameter, match="`distance` must be given with `frontier`"):
        write_report(tmp_path, play, frontier=lw.frontier(play, distance, [ALPHA]))
    with pytest.raises(InvalidParameter, match="`transcript` must be what `play` returns, got 'int'"):
        write_report(tmp_path, 3)
    assert not list(tmp_path.iterdir()), "nothing is half-done"
