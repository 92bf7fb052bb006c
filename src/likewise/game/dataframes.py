"""A transcript as dataframes of pandas: by round, and by reported pair."""

from __future__ import annotations

import numpy as np
import pandas as pd

from likewise.game.transcript import Transcript


def by_round(t: Transcript) -> pd.DataFrame:
    """One row per round."""
    drawn = {
        "accepted": None if t.decisions is None else t.round_sums(t.decisions.astype(np.intp)),
        "turned_down": t.turned_down,
        "violating": t.violating,
        "review_probability": t.review_probabilities,
        "drawn": t.drawn,
        "cleared": None if t.drawn is None else t.cleared,
    }
    return pd.DataFrame(
        {
            "round": t.first + np.arange(t.rounds),
            "people": t.sizes,
            "error": t.errors,
            "reviewed": t.reviewed,
            "reports": t.report_counts,
            "gap": np.where(t.reported, t.gaps, np.nan),
            "violation": t.violations,
            "penalty": t.penalties,
            "lagrangian": t.lagrangian,
        }
        | {name: column for name, column in drawn.items() if column is not None}
    )


def by_report(t: Transcript) -> pd.DataFrame:
    """One row per reported pair; ``violates`` is missing where nobody can know."""
    violates = pd.array(t.violates != 0, dtype="boolean")
    violates[t.violates < 0] = pd.NA
    return pd.DataFrame(
        {
            "round": t.first + t.report_rounds,
            "favoured": t.pairs[:, 0],
            "disfavoured": t.pairs[:, 1],
            "gap": t.pair_gaps,
            "violates": violates,
            "false": t.false,
            "penalty": t.pair_penalties,
        }
        | ({} if t.stated is None else {"stated": t.stated})
    )
