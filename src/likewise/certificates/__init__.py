"""Certificates: checkable claims with numbers and assumptions, from what was observed."""

from likewise.certificates.assumptions import Assumption, Claim, Status
from likewise.certificates.brackets import Bracket, brackets
from likewise.certificates.certificate import Certificate, Generalisation, Redraw, Regret
from likewise.certificates.certifying import certify
from likewise.certificates.choice import Candidate, Choice, choose
from likewise.certificates.heldout import (
    FairnessEvaluation,
    HoldoutCertificate,
    evaluate_fairness,
    holdout_certificate,
)
from likewise.certificates.reviews import Detection, Reviews
from likewise.certificates.shown import MostUnfair, ShownPeople, most_unfair

__all__ = [
    "Assumption",
    "Bracket",
    "Candidate",
    "Certificate",
    "Choice",
    "Claim",
    "Detection",
    "FairnessEvaluation",
    "Generalisation",
    "HoldoutCertificate",
    "MostUnfair",
    "Redraw",
    "Regret",
    "Reviews",
    "ShownPeople",
    "Status",
    "brackets",
    "certify",
    "choose",
    "evaluate_fairness",
    "holdout_certificate",
    "most_unfair",
]
