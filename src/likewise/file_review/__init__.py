"""Comparative file review: any existing scorer or rule, compared pair by pair, with no learner involved.

scored       a file of people with a score, and what they may be compared by
draws        which pairs can be treated too differently at all; random ones of them; how many support a claim
reviewers    several people: who is asked about which pair, blind second verdicts, agreement
worksheet    drawn pairs as a table for people to fill in, and their answers back
answers      what the answers prove, with what it assumes
review       all of it together: ``likewise.audit``
live         the drawn pairs on the review page of a service
page         ``audit.html``, and ``review.html`` to judge pairs in a browser
"""

from likewise.file_review.answers import Claim
from likewise.file_review.review import Review, audit
from likewise.file_review.reviewers import Agreement, Assignment
from likewise.file_review.scored import ScoredPeople, scored_people
from likewise.file_review.worksheet import (
    read_answers,
    read_verdicts,
    write_reviewers_worksheet,
    write_verdicts,
    write_worksheet,
)

__all__ = [
    "Agreement",
    "Assignment",
    "Claim",
    "Review",
    "ScoredPeople",
    "audit",
    "read_answers",
    "read_verdicts",
    "scored_people",
    "write_reviewers_worksheet",
    "write_verdicts",
    "write_worksheet",
]
