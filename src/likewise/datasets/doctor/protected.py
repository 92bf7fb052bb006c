"""Protected attributes, by the name of a column or by its values: they are never a label to suggest.

A name is split into words: ``applicant_sex`` is about sex, ``Essex`` is not. The list follows what laws against
discrimination name (sex, race, age, religion, disability, origin, family). A column that is missed here is only not
mentioned: this list proves nothing about the columns that are not on it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from likewise.datasets.columns import Column
from likewise.datasets.doctor.finding import Finding, several

WORDS = {
    "sex": "sex gender male female man woman men women transgender pregnant pregnancy geschlecht sexe sexo genero",
    "race": "race racial ethnic ethnicity black white hispanic hispan latino latina asian caucasian african skin "
    "ethn ethnie etnia hautfarbe",
    "age": "age aged dob birth birthday birthdate birthyear yob geburtsdatum geburtsjahr edad",
    "religion": "religion religious faith muslim christian jewish hindu konfession",
    "disability": "disability disabled disab handicap handicapped behinderung discapacidad",
    "origin": "nationality native citizen citizenship foreign foreigner immigrant immigration nativity "
    "nationalite nacionalidad staatsangehoerigkeit",
    "family": "married marital divorced widowed spouse familienstand marstat",
    "sexual orientation": "lgbt lgbtq gay lesbian",
}
STEMS = {
    "gender": "sex", "female": "sex", "ethnic": "race", "hispan": "race", "relig": "religion", "cathol": "religion",
    "disab": "disability", "nationalit": "origin", "marr": "family", "divorc": "family", "widow": "family",
}  # fmt: skip
"""What a longer word may begin or end with: ``evermarr``, ``isfemale``."""
_BY_WORD = {word: attribute for attribute, words in WORDS.items() for word in words.split()}
THINGS = {"account", "loan", "car", "vehicle", "house", "property", "building", "credit", "policy", "company", "list"}
"""Beside one of these words an age or a colour is that of a thing: ``vehicle_age``, ``white_list``."""
SEXES = ({"male", "man", "men"}, {"female", "woman", "women"})
RACES = {"hispanic", "caucasian", "african", "asian", "latino", "eskimo"}
FAMILY = {"divorced", "widowed", "married", "husband", "wife"}


def protected(column: Column) -> str:
    """The protected attribute that a column is about, or nothing.

    Examples
    --------
    >>> [protected(Column(name, "number", 0, 2)) for name in ("applicantSex", "vehicle_age", "age_cat", "stage")]
    ['sex', '', 'age', '']
    >>> [protected(Column(name, "number", 0, 2)) for name in ("Gender_cd", "mar_stat", "Geschlecht", "genre")]
    ['sex', 'family', 'sex', '']
    >>> [protected(Column(name, "number", 0, 2)) for name in ("evermarr", "relig5", "isfemale", "market")]
    ['family', 'religion', 'sex', '']
    >>> levels = [("Female", "Male"), ("Asian", "Black", "White"), ("Divorced", "Never-married"), ("white", "black")]
    >>> [protected(Column("x3", "category", 0, 2, values)) for values in levels]
    ['sex', 'race', 'family', '']
    """
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", column.name)
    lower = [word.lower() for word in words]
    if not THINGS.intersection(lower):
        for word in (*lower, *map("".join, pairwise(lower))):  # mar_stat is one word
            if about := _BY_WORD.get(word) or _by_stem(word):
                return about
    return _by_values({value.strip().lower() for value in column.values}) if column.kind == "category" else ""


def _by_stem(word: str) -> str:
    return next((about for stem, about in STEMS.items() if word.startswith(stem) or word.endswith(stem)), "")


def _by_values(values: set[str]) -> str:
    if all(values & sex for sex in SEXES):
        return "sex"
    words = {word for value in values for word in re.findall("[a-z]+", value)}
    if len(words & (RACES | {"black", "white"})) > 1 and words & RACES:
        return "race"
    return "family" if len(words & FAMILY) > 1 else ""


def of_protected(columns: Sequence[Column], label: str | None, settled: Collection[str]) -> list[Finding]:
    """The protected attributes of a file that nobody has said anything about, and a label that is one."""
    about = {column.name: protected(column) for column in columns}
    findings = []
    if label is not None and about.get(label):
        findings.append(Finding("protected", (label,), (
            f"The label {label} looks like a person's {about[label]}: a policy would learn to tell people apart by it. "
            "Name an outcome in --label."
        )))  # fmt: skip
    usable = tuple(
        column.name for column in columns
        if about[column.name] and column.kind != "unusable" and column.name != label and column.name not in settled
    )  # fmt: skip
    if usable:
        verb, it = ("looks", "it") if len(usable) == 1 else ("look", "them")
        sentence = f"{several(usable)} {verb} protected; policies may use {it} unless you drop {it}."
        findings.append(Finding("protected", usable, sentence, "--sensitive", usable))
    return findings
