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
from sklearn.tree import DecisionTreeClassifier

import likewise as lw
from likewise.auditors.asked import Silent
from likewise.certificates import Status
from likewise.certificates.shown import ShownPeople, most_unfair
from likewise.errors import InvalidParameter
from likewise.report import words, write_report
from likewise.scoreboard import Row, Scoreboard
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
        "What is proved", "What happened", "Did the reports help?", "Who was reported", "One round, up close",
        "What fairness costs here", "How it was made", "Appendix: every limit", "What this rests on",
        "What this page can’t say", "Words on this page", "Parameters, and how to repeat it",
    ]  # fmt: skip
    assert "likewise play --again ." in page.sections[told[-1]]
    assert "compared by: age" in page.sections["How it was made"]


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
    assert f"{play.error_per_person:.3f} errors per draw" in page.text
    best = lw.best_in_hindsight(play, distance, ALPHA)
    assert f"{best.error / len(play.y):.3f} without any violation" in page.sections["What fairness costs here"]


def test_the_quarters_add_up_to_the_play(play):
    parts = words.quarters(play)
    assert sum(part.people for part in parts) == len(play.y)
    assert sum(part.violations for part in parts) == play.violations.sum()
    assert sum(part.error * part.people for part in parts) == pytest.approx(play.errors.sum())


def test_the_letter_and_each_assumption_with_its_status_are_there(page, play):
    certificate = lw.certify(play)
    *appendix, _ = certificate.appendix().split("\n\n")
    for text, heading in ((str(certificate).split("\n\n"), "What is proved"), (appendix, "Appendix: every limit")):
        said = re.sub(r"\s+", " ", page.sections[heading]).replace(" .", ".")
        assert len(text) > 2
        for part in text:
            assert re.sub(r" \d\. ", " ", " ".join(part.split())) in said
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
    assert found.source.count(escape(evil)) + found.source.count(escape(evil, quote=False)) >= 7
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
    assert "cost of errors per draw" in found.text
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
    assert "Who was reported" in found.sections
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


# The conclusion, the scoreboard and the people ------------------------------------------------------------------------


def row(name, error, bold=False, exact=False):
    limits = (None, None) if exact else (error - 0.02, error + 0.02)
    return Row(name, error, *limits, error, 0.01, 0.0, 0.02, 0.25, "pairs", bold, exact)


def board(share=0.62, why=""):
    rows = (row("one answer for <everybody>", 0.24), row("this policy", 0.21, bold=True), row("best", 0.2, exact=True))
    return Scoreboard(rows, 300, "On 300 people.", ALPHA, 0.05, share, why, 300, ("A note with <tags>.",))


@words_only
def test_the_first_paragraph_is_the_conclusion_with_the_share_of_the_possible_gain(play, tmp_path):
    lead = Page(write_report(tmp_path, play, scoreboard=board())).sections[""]
    assert "62% of what the best fair policy of any kind would gain over one answer for everybody, on 300" in lead
    lead = Page(write_report(tmp_path, play, scoreboard=board(None, "too little to win"))).sections[""]
    assert "No share of the possible gain is given: too little to win." in lead
    assert "%" not in lead
    lead = Page(write_report(tmp_path, play, scoreboard=board(-0.3))).sections[""]
    assert "It is expected to err more than one answer for everybody, on 300 people." in lead
    constant = min((play.y == 0).sum(), (play.y == 1).sum()) / len(play.y)
    lead = Page(write_report(tmp_path, play)).sections[""]
    assert f"In this play the policies had {play.error_per_person:.3f} errors per draw" in lead
    assert f"one answer for everybody would have had {constant:.3f}" in lead


@words_only
def test_where_a_constant_is_better_the_first_paragraph_says_so(tmp_path):
    found = told(tmp_path, ours(5), rounds=5, y=np.ones(200))
    assert (
        "Giving everybody the same answer would have been as good or better in this play: 0.000" in found.sections[""]
    )


@words_only
def test_the_scoreboard_is_shown_with_this_policy_in_bold_and_its_notes(play, tmp_path):
    found = Page(write_report(tmp_path, play, scoreboard=board()))
    said = found.sections["How good is it?"]
    assert "A note with <tags>." in said
    (bold,) = re.findall(r"<tr class='this'><th>(.*?)</th>", found.source)
    assert bold == "this policy"
    assert "one answer for &lt;everybody&gt;" in found.source


@words_only
def test_reported_people_are_shown_side_by_side_with_rows_and_marked_differences(play, tmp_path):
    values = np.column_stack([np.arange(200), np.arange(200) % 2])
    people = ShownPeople.of(
        play, ["age", "<b>odd</b>"], values, play.person, rows=np.arange(1001, 1201), source="a.csv"
    )
    found = Page(write_report(tmp_path, play, people=people, learner=LEARNER, distance=distance))
    widest = int(np.argmax(play.pair_gaps))
    high, low = play.person[play.pair_people[widest]]
    first, second = play.numbers_of(widest)
    card = re.search(r"<section class='card'>.*?</section>", found.source)[0]
    assert f"Round {play.report_rounds[widest] + 1}, people {first} and {second}" in card
    assert f"<th>row {1001 + high:,}</th><th>row {1001 + low:,}</th>" in card
    assert f"<tr class='differs'><th>age</th><td>{high}</td><td>{low}</td></tr>" in card
    kind = "same" if high % 2 == low % 2 else "differs"
    assert f"<tr class='{kind}'><th>&lt;b&gt;odd&lt;/b&gt;</th><td>{high % 2}</td><td>{low % 2}</td></tr>" in card
    assert f"Their probabilities were {play.pair_gaps[widest]:.2f} apart. Their distance is" in card
    assert found.source.count("<section class='card'>") == min(6, len(play.pairs))


@words_only
def test_the_most_unfairly_treated_are_listed_or_nobody_is(play, tmp_path):
    values = np.arange(200).reshape(-1, 1)
    people = ShownPeople.of(play, ["age"], values, play.person, rows=np.arange(1, 201), source="a.csv")
    p = np.linspace(0, 1, 20)
    unfair = most_unfair(p, np.zeros((20, 20)), ALPHA, places=np.arange(100, 120))
    said = Page(write_report(tmp_path, play, people=people, unfair=unfair)).sections["Who is treated most unfairly?"]
    assert "Among 20 held-out people" in said
    assert "1.00 beyond their distance" in said
    assert re.search(r"row 101\s+0\.00\s+18 of 19\s+100", said)
    fair = most_unfair(p, np.ones((20, 20)), ALPHA)
    found = Page(write_report(tmp_path, play, people=people, unfair=fair))
    assert "Nobody: of 20 held-out people" in found.sections["Who is treated most unfairly?"]


@words_only
def test_models_are_named_and_on_whom_they_were_fitted(tmp_path):
    models = [LogisticRegression().fit(X, Y), DecisionTreeClassifier(max_depth=2).fit(X, Y)]
    learner = ours(F=lw.Thresholds.scores(models, X, cuts=4))
    found = told(tmp_path, learner, fitted_on=250, split="1,000 people: 250 to fit, 250 to play, 500 held out")
    made = re.sub(r"\s+", " ", found.sections["How it was made"])
    assert "cut-offs on the scores of logistic regression and decision tree, fitted on 250 people who took no" in made
    assert "500 held out" in made


@words_only
def test_whether_the_reports_helped_is_answered_in_the_first_sentence(play, tmp_path):
    found = Page(write_report(tmp_path, play, learner=LEARNER, distance=distance))
    said = found.sections["Did the reports help?"].strip().removeprefix("Did the reports help?").strip()
    assert re.match(r"(Yes|Mostly|Only partly|No): of \d+ reported pairs, the last policy keeps \d+ within", said)
