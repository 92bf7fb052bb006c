"""Certificates: checkable claims with numbers and assumptions, from what was observed."""

from likewise.certificates.brackets import Bracket, brackets
from likewise.certificates.certificate import Assumption, Certificate, Generalisation, Regret, certify
from likewise.certificates.heldout import (
    FairnessEvaluation,
    HoldoutCertificate,
    evaluate_fairness,
    holdout_certificate,
)

__all__ = [
    "Assumption",
    "Bracket",
    "Certificate",
    "FairnessEvaluation",
    "Generalisation",
    "HoldoutCertificate",
    "Regret",
    "brackets",
    "certify",
    "evaluate_fairness",
    "holdout_certificate",
]
