"""``audit.html``: what was found, pair by pair; and ``review.html``: the drawn pairs, to be judged in a browser.

Both are single files that open offline. ``review.html`` sends nothing anywhere: a button saves the answers as a file,
which ``likewise audit FOLDER --answers`` takes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape

from likewise.certificates.shown import ShownPerson, UnfairPair
from likewise.file_review.answers import Claim
from likewise.file_review.review import Review
from likewise.file_review.reviewers import Agreement, Pair
from likewise.file_review.worksheet import ANSWER, sides
from likewise.report.html import document, table
from likewise.report.reported_people import card, deck
from likewise.report.scores import by_group

NOT_SAID = (
    "It compares scores that were given. It doesn't know why, and whether the score is any good.",
    "The written distance is a guess at what may justify a difference: another one finds other pairs.",
    "Two people who are far apart in the columns to compare by are never counted, however they were treated.",
    "It is no verdict that the scorer is fair, unfair or lawful.",
)
SCRIPT = """
const {rows, reviewer} = JSON.parse(document.getElementById("pairs").textContent), answers = {};
document.querySelectorAll("fieldset").forEach((field, i) => field.addEventListener("change", event => {
  answers[i] = event.target.value;
  document.getElementById("done").textContent = Object.keys(answers).length;
}));
document.getElementById("save").addEventListener("click", () => {
  const who = reviewer ? [reviewer] : [];
  const lines = rows.map(([number, a, b], i) => [number, a, b, ...who, answers[i] ?? ""].join(","));
  const head = ["pair", "row A", "row B", ...(reviewer ? ["reviewer"] : []), "ANSWER"].join(",");
  const text = [head, ...lines].join("\\n") + "\\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
  link.download = reviewer ? `answers-${reviewer}.csv` : "answers.csv";
  link.click();
});
""".replace("ANSWER", ANSWER)


def audit_page(
    review: Review, title: str, claim: Claim | None = None, again: str = "", agreement: Agreement | None = None
) -> str:
    """The whole page; with a claim, what people's answers proved comes first."""
    proved = [] if claim is None else [claim.sentence]
    sections = [
        f'<header><h1>{escape(title)}</h1><p class="lead">{escape(" ".join([*proved, review.headline]))}</p></header>',
        _section("Who is compared, and by what", review.people.described, review.people.comparison.described,
                 *review.people.notes),
        _claimed(review, claim),
        "" if agreement is None else _section("How far do reviewers agree?", agreement.sentence),
        _ranked(review),
        _behind(review),
        _section("What the written distance says of new people", review.about_new_people),
        "" if review.groups is None else _section("How do groups fare?") + by_group(review.groups),
        f'{_section("What this page can’t say")}<ul>{"".join(f"<li>{escape(line)}</li>" for line in NOT_SAID)}</ul>',
        f"{_section('How to repeat it')}<pre>{escape(again)}</pre>" if again else "",
    ]  # fmt: skip
    return document(title, *sections)


def _section(heading: str, *texts: str) -> str:
    return f'<h2 class="flow">{escape(heading)}</h2>' + "".join(f"<p>{escape(text)}</p>" for text in texts if text)


def _claimed(review: Review, claim: Claim | None) -> str:
    if claim is None:
        how = "People judge the drawn pairs on review.html or in worksheet.csv; their answers are read with --answers."
        return _section("What has to be judged", review.cleared, review.sample, how)
    listed = "".join(f"<li>{escape(line)}</li>" for line in claim.assumptions)
    return f"{_section('What reviewers found', claim.sentence, review.cleared)}<p>This assumes:</p><ul>{listed}</ul>"


def _ranked(review: Review) -> str:
    among = f"{len(review.compared):,} people" + (" by lot" if len(review.compared) < len(review.people) else "")
    if not review.ranked.pairs:
        return _section("Compared to whom?", f"Among {among}, no two are further apart than their distance + α.")
    text = f"Among {among}, these pairs are furthest beyond their distance. Nobody is in two of them. {_rows(review)}"
    return _section("Compared to whom?", text) + deck([_card(review, pair) for pair in review.ranked.pairs])


def _rows(review: Review) -> str:
    return "Rows are those of the file; row 1 is the first person."


def _card(review: Review, pair: UnfairPair) -> str:
    high, low = pair.probabilities
    note = f"Their scores are {high - low:.2f} apart. Their distance is {pair.distance:.2f}."
    return card(
        f"{pair.excess:.2f} beyond their distance", note, review.people.shown,
        [_shown(review, place) for place in (pair.favoured, pair.disfavoured)],
        [review.people.given[place] for place in (pair.favoured, pair.disfavoured)],
    ).replace("<th>probability</th>", "<th>score</th>", 1)  # fmt: skip


def _shown(review: Review, place: int) -> ShownPerson:
    return ShownPerson(int(review.people.rows[place]), review.people.person(place))


def _behind(review: Review) -> str:
    people = review.ranked.people
    if not people:
        return ""
    names = ["row", "score", "behind", *review.people.shown]
    rows: list[Sequence[str]] = [
        (f"{review.people.rows[ranked.person]:,}", review.people.given[ranked.person],
         f"{ranked.behind:,} of {review.ranked.compared - 1:,}", *review.people.person(ranked.person))
        for ranked in people
    ]  # fmt: skip
    text = "Each of the others has a score that is higher by more than the distance between the two and the tolerance."
    return _section("Who is behind the most others?", text) + table(names, rows)


def review_page(review: Review, title: str, pairs: Sequence[Pair] | None = None, reviewer: str = "") -> str:
    """The drawn pairs, or a reviewer's own, with a question each; the answers are saved by a button."""
    drawn = zip(review.drawn.pairs, sides(review.drawn, review.seed), strict=True)
    asked = [(k, both) for k, (pair, both) in enumerate(drawn, start=1) if pairs is None or pair in set(pairs)]
    rows = [[number, *(int(review.people.rows[i]) for i in both)] for number, both in asked]
    cards = [_question(review, number, both) for number, both in asked]
    how = (
        "Each card has two people and the scores that they were given. Is the difference between their scores larger "
        "than what you see of them can justify? Judge each pair by itself. Leave out what you can't say: it counts "
        "as not judged."
    )
    data = json.dumps({"rows": rows, "reviewer": reviewer}).replace("<", "\\u003c")
    save = (
        f'<p><b id="done">0</b> of {len(rows):,} judged. <button id="save" type="button">Save the answers</button></p>'
        f'<script type="application/json" id="pairs">{data}</script><script>{SCRIPT}</script>'
    )
    head = f"<header><h1>{escape(title)}</h1><p>{escape(how)}</p></header>"
    return document(title, head, deck(cards) if cards else "<p>There is nothing to judge.</p>", save)


def _question(review: Review, number: int, both: tuple[int, int]) -> str:
    shown = card(
        f"Pair {number:,}", "", review.people.shown, [_shown(review, place) for place in both],
        [review.people.given[place] for place in both],
    ).replace("<th>probability</th>", "<th>score</th>", 1)  # fmt: skip
    buttons = "".join(
        f'<label><input type="radio" name="p{number}" value="{value}"> {words}</label> '
        for value, words in (("yes", "too different"), ("no", "fine"))
    )
    return shown.replace("</section>", f"<fieldset><legend>Treated</legend>{buttons}</fieldset></section>")
