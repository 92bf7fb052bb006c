"""What is proved, on the page: the letter, the appendix behind it, and the table of what it rests on."""

from __future__ import annotations

from html import escape

from likewise.certificates import Certificate, Status
from likewise.certificates.letter import paragraphs
from likewise.report.html import wrapped

MARKS = {Status.KEPT: "✓", Status.BROKEN: "✗", Status.UNCHECKED: "?"}


def letter(certificate: Certificate) -> str:
    """The letter, whose numbered claims are a list."""
    parts = []
    for lead, rest, items in paragraphs(str(certificate)):
        numbers = [item.partition(". ") for item in items]
        listed = "".join(f"<li>{escape(text)}</li>" for _, _, text in numbers)
        listed = f'<ol start="{numbers[0][0]}">{listed}</ol>' if numbers else ""
        parts.append(f"<p>{escape(f'{lead} {rest}'.strip())}</p>{listed}")
    return f'<div class="letter">{"".join(parts)}</div>'


def appendix(certificate: Certificate) -> str:
    """Every limit; the assumptions have a table of their own."""
    *limits, _ = certificate.appendix().split("\n\n")
    parts = []
    for part in limits:
        lead, rest, items = paragraphs(part)[0]
        listed = "".join(f"<li>{escape(item.partition('. ')[2])}</li>" for item in items)
        parts.append(f"<p><b>{escape(lead)}</b> {escape(rest)}</p>" + (f"<ul>{listed}</ul>" if listed else ""))
    return "".join(parts)


def assumptions(certificate: Certificate) -> str:
    """What each claim rests on, and what is known of it."""
    head = "<th>status</th><th>assumption</th><th>needed for</th><th>how we know</th>"
    rows = []
    for a in certificate.assumptions:
        needed = "; ".join(a.needed_for) or "the sharper limits on new people"
        cells = "".join(f"<td>{escape(text)}</td>" for text in (a.name, needed, a.detail or "recorded by the play"))
        mark = f'<span class="status {a.status.name.lower()}">{MARKS[a.status]} {a.status}</span>'
        rows.append(f"<tr><td>{mark}</td>{cells}</tr>")
    return wrapped(head, "".join(rows))
