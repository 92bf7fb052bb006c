"""Bring your own online classifier: scikit-learn's SGD behind the literal reduction R_C.

Any classifier that learns round by round can learn from an auditor. ``literal`` turns a report into C copies of the
favoured person with label 0 and C copies of the disfavoured one with label 1, and the classifier simply learns from
them. Its probabilities are the policy: π(x) = ``predict_proba``.

No theorem covers this classifier. The paper needs a learner with small regret on the reduced batches, and we know of no
proof of that for averaged SGD on the log loss. What this prints is a measurement, on made-up people.

    python examples/own_classifier.py            1200 rounds
    python examples/own_classifier.py 300        fewer rounds, in a quarter of the time
"""

import sys

import numpy as np
from sklearn.linear_model import SGDClassifier

import likewise as lw
from likewise.reduction import error, literal

ROUNDS, PEOPLE, SEED = int(sys.argv[1]) if sys.argv[1:] else 1200, 8, 0
data = lw.datasets.synthetic()
environment = lw.IID(data.features, data.y, k=PEOPLE, view=data.view)
auditor = lw.MetricAuditor(data.distance, alpha=0.1)


def run(copies: int) -> tuple[np.ndarray, np.ndarray]:
    """Error and violation of each round if a report becomes this many copies; 0 ignores the auditor."""
    classifier = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.05, average=True, random_state=SEED)
    errors, violations = np.zeros(ROUNDS), np.zeros(ROUNDS, dtype=bool)
    for t in range(1, ROUNDS + 1):
        batch = environment.batch(lw.Key(SEED, lw.Role.ENVIRONMENT, t), None, None)
        probabilities = classifier.predict_proba(batch.rows)[:, 1] if t > 1 else np.full(PEOPLE, 0.5)
        answer = auditor.audit(batch, probabilities, lw.Key(SEED, lw.Role.AUDITOR, t))
        reports = () if answer is None else (answer,)
        errors[t - 1], violations[t - 1] = error(probabilities, batch.y), bool(reports)
        # Without a report R_C pads with copies that cancel in the linear loss. In the log loss they would not.
        X, y = literal(batch.rows, batch.y, reports, C=copies if reports else 0, filler=batch.rows[0])
        classifier.partial_fit(X, y, classes=[0, 1])
    return errors, violations


quarter = ROUNDS // 4
print(f"{ROUNDS} rounds of {PEOPLE} people, {quarter} rounds a quarter.")
print(f"{'':<20}{'error per person':^20}{'rounds with a violation':^28}")
print(f"{'':<20}{'first':>9}{'last':>9}{'first':>14}{'last quarter':>16}")
for name, copies in (("labels only", 0), ("2 copies a report", 2), ("8 copies a report", 8)):
    errors, violations = run(copies)
    first, last = errors[:quarter].mean() / PEOPLE, errors[-quarter:].mean() / PEOPLE
    print(f"{name:<20}{first:>9.3f}{last:>9.3f}{violations[:quarter].sum():>14}{violations[-quarter:].sum():>16}")
