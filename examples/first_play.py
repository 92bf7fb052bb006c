"""A first play: made-up people, cut-offs on their features, and an auditor who knows a distance but only reports pairs.

Two learners decide about the same people: one learns from labels only, the other from the auditor too.
"""

import likewise as lw

data = lw.datasets.synthetic()
F = lw.Thresholds.quantiles(data.people, cuts=16)
environment = lw.IID(data.people, data.y, k=4, view=data.view)
auditor = lw.MetricAuditor(data.distance, alpha=0.1)

print(f"{data.described}\n{F.size} hypotheses, 2,000 rounds of 4 people.")
for learner in (lw.Unconstrained(F, k=4, T=2000), lw.AdaHedge(F, k=4, T=2000, alpha=0.1)):
    t = lw.play(learner, environment, auditor, seed=0)
    name, error, violations = type(learner).__name__, t.error_per_person, int(t.violations.sum())
    print(f"{name:>13}: error {error:.3f} per person, {violations:4} rounds with a violation")
