"""Bring your own online classifier: scikit-learn's SGD behind the paper's literal reduction R_C.

Any classifier that learns round by round can learn from an auditor. ``lw.OnlineClassifier`` turns a report into C
copies of the favoured person with label 0 and C copies of the disfavoured one with label 1, and the classifier simply
learns from them. Its probabilities are the policy: π(x) = ``predict_proba``. Everything else is as with any learner: a
transcript, a certificate, a play that can be stopped and continued.

No theorem covers this classifier. The paper needs a learner with small regret on the reduced batches, and we know of no
proof of that for averaged SGD on the log loss. So the regret is measured, against cut-offs on the same columns.

    python examples/own_classifier.py            1200 rounds
    python examples/own_classifier.py 300        fewer rounds, in a quarter of the time
"""

import sys

from sklearn.linear_model import SGDClassifier

import likewise as lw

ROUNDS, PEOPLE = int(sys.argv[1]) if sys.argv[1:] else 1200, 8
data = lw.datasets.synthetic()
people = lw.IID(data.features, data.y, k=PEOPLE, view=data.view)
auditor = lw.MetricAuditor(data.distance, alpha=0.1)
F = lw.Thresholds.quantiles(data.features, cuts=16)

quarter = ROUNDS // 4
print(f"{ROUNDS} rounds of {PEOPLE} people, {quarter} rounds a quarter.")
print(f"{'':<20}{'regret':>9}{'error per person':^20}{'rounds with a violation':^28}")
print(f"{'':<20}{'a round':>9}{'first':>9}{'last':>9}{'first':>14}{'last quarter':>16}")
for name, copies in (("labels only", 0), ("2 copies a report", 2), ("8 copies a report", 8)):
    classifier = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.05, average=True)
    learner = lw.OnlineClassifier(F, classifier=classifier, k=PEOPLE, penalty=copies, copies=True)
    t = lw.play(learner, people, auditor, ROUNDS)
    first, last = t.errors[:quarter].mean() / PEOPLE, t.errors[-quarter:].mean() / PEOPLE
    early, late = t.violations[:quarter].sum(), t.violations[-quarter:].sum()
    print(f"{name:<20}{t.lagrangian_regret / ROUNDS:>9.3f}{first:>9.3f}{last:>9.3f}{early:>14}{late:>16}")
