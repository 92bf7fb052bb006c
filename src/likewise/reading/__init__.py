"""Reading a policy: what it is made of, why a person has their probability, and what would change it.

decimals    numbers as people write them
columns     the file's columns and their units
boxes       cut-offs and cells in words
reading     a class, its weights and its columns, together
steps       a mixture of cut-offs as a sum of step functions: the scorecard
rules       ``policy.rules()``
models      models whose scores are cut: names, columns, sums over columns
shapley     a function of many columns, split among them
scores      the split of models' scores
reasons     ``policy.reasons(X)``
what_if     ``policy.what_if(person)``
used        the columns that a class may read at all
"""

from likewise.reading.columns import Encoder
from likewise.reading.reading import Reading, reading_of
from likewise.reading.reasons import Reasons, reasons_of
from likewise.reading.rules import Rule, rules_of
from likewise.reading.scores import ModelPart
from likewise.reading.steps import Scorecard, Steps, scorecard_of
from likewise.reading.used import columns_used
from likewise.reading.what_if import Change, changes_of

__all__ = [
    "Change",
    "Encoder",
    "ModelPart",
    "Reading",
    "Reasons",
    "Rule",
    "Scorecard",
    "Steps",
    "changes_of",
    "columns_used",
    "reading_of",
    "reasons_of",
    "rules_of",
    "scorecard_of",
]
