"""What a suggested class is made of, and what each part brings to the best fair policy, as a table of the page."""

from __future__ import annotations

from html import escape

from likewise.classes import Contributions, Suggestion
from likewise.report.html import table
from likewise.wording import plural

NOT_KNOWN = (
    "What each part brings to the best fair policy is unknown here: to compute it takes a written measure of who is "
    "alike, and the reviewer has written none down."
)


def introduction(suggestion: Suggestion, brought: Contributions | None) -> str:
    """What the table says, and of whom; or why it can't say it."""
    made = (
        f"Rules are cut-offs on {plural(len(suggestion.hypotheses.cuts), 'score')}, fitted on "
        f"{plural(suggestion.people, 'person', 'people')}."
    )
    if brought is None:
        return f"{made} {NOT_KNOWN}"
    return (
        f"{made} “Errors so far” is the least error per person of a mixture of this part and those above it, if it has "
        f"to be fair on every pair of every round, with the tolerance {brought.alpha:g}; “errors without it” is that "
        "of all other parts. These mixtures are chosen in hindsight, knowing every label and every distance. One "
        f"answer for everybody errs {brought.constant:.4f} per person, counted as here on the "
        f"{plural(brought.people, 'person', 'people')} of the play with a label."
    )


def as_page(suggestion: Suggestion, brought: Contributions | None) -> str:
    """The table, what was done differently, and what the class's files hold of people."""
    heads = ["part", "what it is for", "scores"]
    rows: list[list[object]] = [[part.name, part.described, len(part.scores)] for part in suggestion.parts]
    if brought is not None:
        heads += ["errors so far", "errors without it"]
        rows = [
            [*row, f"{line.so_far:.4f}", f"{line.without:.4f}"] for row, line in zip(rows, brought.lines, strict=True)
        ]
    notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in suggestion.notes)
    held = "".join(f"<li>{escape(held)}</li>" for held in suggestion.holds)
    return f"{table(heads, rows)}{notes}<p>What its files hold of the people whom it was fitted on:</p><ul>{held}</ul>"
