"""A folder of messy files, each with the line that ``likewise data`` must say about it, or the one it must not."""

import gzip
import io
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from likewise import cli, datasets
from likewise.errors import LikewiseError


def applicants(n=400):
    rng = np.random.default_rng(7)
    income = rng.normal(50, 10, n).round(1)
    return pd.DataFrame(
        {
            "income": income,
            "debt": rng.gamma(2, 4, n).round(2),
            "home": rng.choice(["own", "rent", "family"], n),
            "town": rng.choice(["Köln", "Zürich", "Łódź"], n),
            "approved": (income + rng.normal(0, 10, n) > 50).astype(int),
        }
    )


PEOPLE = applicants()
N = len(PEOPLE)
RNG = np.random.default_rng(3)


def csv(frame, encoding="utf-8", **options):
    return frame.to_csv(index=False, **options).encode(encoding)


def excel(frame, **options):
    file = io.BytesIO()
    frame.to_excel(file, index=False, **options)
    return file.getvalue()


def parquet(frame):
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


def with_cell(name, value, row=41):
    texts = PEOPLE[name].astype(object)
    texts.iloc[row] = value
    return PEOPLE.assign(**{name: texts})


def changed_line(number, change):
    lines = csv(PEOPLE).decode().splitlines()
    lines[number - 1] = change(lines[number - 1])
    return "\n".join(lines).encode()


LOANS = range(1000, 1000 + 3 * N, 3)


def hundreds(form):
    return [form.format(number) for number in LOANS]


AGES = RNG.integers(18, 80, N)
DAYS = pd.date_range("1970-01-01", periods=N)
FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y %H:%M")
WORDS = PEOPLE.drop(columns="town")

MESSY = {
    # Leaks
    "copy.csv": (csv(PEOPLE.assign(reject=1 - PEOPLE.approved)), "reject is the opposite of approved, in every row"),
    "after.csv": (csv(PEOPLE.assign(fee=np.where(PEOPLE.approved == 1, AGES, np.nan))), "Whether fee is missing alone"),
    "days.parquet": (parquet(PEOPLE.assign(days=700 * PEOPLE.approved + AGES)), "days alone predicts approved"),
    "status.csv": (
        csv(PEOPLE.assign(state=np.where(PEOPLE.approved == 1, RNG.choice(["open", "paid"], N), "closed"))),
        "state alone predicts approved",
    ),
    # One cell, units, dates
    "abc.csv": (csv(with_cell("income", "abc")), "numbers and 'abc' in 1 row of 400 (the first is row 42)"),
    "unknown.csv": (csv(PEOPLE.assign(age=np.where(AGES < 20, "unknown", AGES.astype(str)))), "holds numbers and 'unk"),
    "stars.xlsx": (excel(with_cell("debt", "***")), "debt holds numbers and '***' in 1 row"),
    "percent.csv": (csv(PEOPLE.assign(rate=[f"{age}%" for age in AGES])), "rate holds percentages like"),
    "dollars.csv": (csv(PEOPLE.assign(loan=hundreds("${:,}"))), "loan holds money like '$1,000'"),
    "euros.csv": (csv(PEOPLE.assign(loan=hundreds("{} €"))), "loan holds money like '1000 €'"),
    "pounds.jsonl": (
        PEOPLE.assign(loan=hundreds("£{:,}")).to_json(orient="records", lines=True).encode(), "loan holds money like",
    ),
    "swiss.csv": (csv(PEOPLE.assign(loan=[f"{n:,}".replace(",", "'") for n in LOANS])), "like \"1'000\""),
    "kilo.csv": (csv(PEOPLE.assign(loan=[f"{age}k" for age in AGES])), "loan holds thousands like"),
    "commas.csv": (csv(PEOPLE.assign(loan=hundreds("{:,}"))), "loan number 0 1000 to 2197"),
    "iso.csv": (csv(PEOPLE.assign(born=DAYS.strftime("%Y-%m-%d"))), "born holds dates"),
    "german-dates.csv": (csv(PEOPLE.assign(seen=DAYS.strftime("%d.%m.%Y"))), "seen holds"),
    "words-dates.csv": (csv(PEOPLE.assign(seen=DAYS.strftime("%d-%b-%Y"))), "seen holds d"),
    "nines.csv": (csv(PEOPLE.assign(age=np.where(AGES < 20, 999, AGES))), "and else from 20 to 79: that looks like"),
    "minus.parquet": (parquet(PEOPLE.assign(answer=np.where(AGES < 20, -99, AGES % 5))), "answer is -99 in"),
    "million.csv": (csv(PEOPLE.assign(loan=np.where(AGES < 20, 999_999, LOANS))), "loan is 999,999 in"),
    "spellings.csv": (csv(with_cell("home", " Rent")), "home has 'rent' and ' Rent', which differ only in case or sp"),
    "decimal-euros.csv": (
        csv(PEOPLE.assign(loan=[f"{n / 2:,.2f} €".translate(str.maketrans(".,", ",.")) for n in LOANS])),
        "loan holds money like '500,00 €'",
    ),
    "one-infinite.csv": (csv(with_cell("debt", "inf")), "debt is infinite in 1 row of 400 (the first is row 42)"),
    "three-dates.csv": (
        csv(PEOPLE.assign(seen=[day.strftime(FORMS[i % 3]) for i, day in enumerate(DAYS)])),
        "not used: it holds dates",
    ),
    # Names, twins, ids
    "nameless.csv": (csv(PEOPLE.assign(x=AGES)).replace(b",x\n", b",\n"), "called column6 by place"),
    "wide-names.csv": (csv(PEOPLE.rename(columns={"debt": " debt "})), "--compare-by 'income,\" debt \"'"),
    "repeated.csv": (csv(PEOPLE.assign(x=PEOPLE.debt)).replace(b",x\n", b",debt\n"), "debt.1 says the same as debt"),
    "differ.csv": (csv(PEOPLE.assign(x=AGES)).replace(b",x\n", b",debt\n"), "Two columns are called debt"),
    "twins.csv": (csv(PEOPLE.assign(cents=PEOPLE.debt * 100)), "cents says the same as debt"),
    "ids.csv": (csv(PEOPLE.assign(case_id=np.arange(N) * 7 + 3)), "seems to say who each row is. [--id case_id]"),
    "visits.csv": (csv(PEOPLE.assign(person_id=np.arange(N) // 2)), "200 rows repeat another's. [--id person_id]"),
    "white.csv": (
        csv(PEOPLE.drop(columns="approved").assign(white=AGES % 2, married=AGES % 3 % 2)), "No column has exactly two",
    ),
    "gender.csv": (csv(PEOPLE.assign(Gender=RNG.choice(["F", "M"], N))), "Gender looks protected"),
    "odd-names.csv": (
        csv(PEOPLE.assign(Gender_cd=AGES % 2 + 1, ethnic=AGES % 5, mar_stat=AGES % 3, Geschlecht=AGES % 7)),
        "Gender_cd, ethnic, mar_stat, Geschlecht look protected",
    ),
    "codes.csv": (csv(PEOPLE.assign(x3=RNG.choice(["male", "female"], N))), "[--sensitive x3]"),
    # Labels and people
    "refused.csv": (
        csv(PEOPLE.rename(columns={"approved": "granted"}).assign(
            repaid=np.where(PEOPLE.approved == 1, AGES % 2, np.nan))), "with granted = 0. They are left out",
    ),
    "gaps.csv": (csv(with_cell("approved", None)), "1 row of 400 has no approved and is left out"),
    "outcome.csv": (
        csv(PEOPLE.assign(decision=np.where(PEOPLE.approved == 1, "accepted", "refused"),
            repaid=np.where(PEOPLE.approved == 1, AGES % 2, np.nan)).drop(columns="approved")),
        "Here it is taken to be repaid",
    ),
    "decisions.csv": (
        csv(PEOPLE.assign(decision=np.where(PEOPLE.approved == 1, "accepted", "refused")).drop(columns="approved")),
        "A yes is taken to be accepted; --positive names another. To play, for example: likewise play",
    ),
    "constant.csv": (csv(PEOPLE.assign(approved=1)), "No column has exactly two values"),
    "rare.csv": (csv(PEOPLE.assign(approved=[1] * 9 + [0] * (N - 9))), "Only 9 people have a yes in approved"),
    "few.csv": (csv(PEOPLE[:80]), "Only 80 different people have a label, fewer than 200"),
    "again.csv": (csv(pd.concat([PEOPLE, PEOPLE[:30]])), "30 rows are the same as another"),
    # Formats
    "latin.csv": (csv(PEOPLE.replace({"town": {"Łódź": "Lodz"}}), "latin-1"), "name its `--encoding` (cp1252"),
    "utf16.csv": (csv(PEOPLE, "utf-16"), "400 people, 5 columns"),
    "marked.csv": (csv(PEOPLE, "utf-8-sig"), "income number 0"),
    "headless.csv": (csv(PEOPLE, header=False), "The first line seems to be a person, not names"),
    "spaces.txt": (csv(WORDS, sep=" "), "400 people, 4 columns"),
    "aligned.data": (WORDS.to_string(index=False).encode(), "400 people, 4 columns"),
    "bars.csv": (csv(PEOPLE, sep="|"), "400 people, 5 columns"),
    "semicolons.csv": (csv(PEOPLE, sep=";", decimal=","), "debt number 0"),
    "tabs.tsv.gz": (gzip.compress(csv(PEOPLE, sep="\t")), "400 people, 5 columns"),
    "short.csv": (changed_line(18, lambda line: ",".join(line.split(",")[:3])), "line 18 has 3 of 5 fields"),
    "long.csv": (changed_line(18, lambda line: f"{line},9"), "Expected 5 fields in line 18, saw 6"),
    "sheet.xlsx": (excel(PEOPLE), "400 people, 5 columns"),
    "no-sheet.xlsx": (b"PK but no sheet", "The file must be an Excel file, got no-sheet.xlsx"),
    "endless.csv": (csv(PEOPLE.assign(ratio=np.inf)), "ratio unusable 0 not used: it holds infinite numbers"),
    "empty.csv": (b"", "The file must hold at least one person"),
    "cut.parquet": (parquet(PEOPLE)[:500], "The file must be a parquet file"),
    "list.jsonl": (b"[1, 2]\n", "line 1 is not a JSON object"),
    "clean.csv": (csv(PEOPLE), "400 people, 5 columns"),
    "one.csv": (csv(PEOPLE[:1]), "1 person, 5 columns"),
}  # fmt: skip
QUIET = (
    "utf16.csv",
    "marked.csv",
    "bars.csv",
    "semicolons.csv",
    "tabs.tsv.gz",
    "sheet.xlsx",
    "commas.csv",
    "clean.csv",
)
"""Files that are fine, as far as anybody can tell: nothing is found in them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("messy")
    for name, (content, _) in MESSY.items():
        (path / name).write_bytes(content)
    return path


def said_of(*words):
    """What the command says, on one line; a refusal as its user reads it."""
    done = CliRunner(env={"COLUMNS": "200"}).invoke(cli.app, ["data", *map(str, words)])
    if done.exception is None or isinstance(done.exception, SystemExit):
        return " ".join(done.output.split())
    assert isinstance(done.exception, LikewiseError), done.exception
    return cli.in_words_of(str(done.exception), ["--encoding"])


def test_there_are_forty_and_more():
    assert len(MESSY) >= 40


@pytest.mark.parametrize("name", MESSY)
def test_each_messy_file_gets_its_line(folder, name):
    assert MESSY[name][1] in said_of(folder / name)


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_found_in_a_file_that_is_fine(folder, name):
    assert json.loads(said_of(folder / name, "--json"))["findings"] == []


def test_no_protected_attribute_is_ever_suggested_as_the_label(folder):
    assert "--label" not in said_of(folder / "white.csv")


@pytest.mark.parametrize(
    "name",
    ["abc.csv", "stars.xlsx", "percent.csv", "dollars.csv", "short.csv", "headless.csv", "nines.csv", "spellings.csv"],
)
def test_the_command_to_copy_writes_a_file_without_that_finding(folder, tmp_path, name):
    source = tmp_path / name
    source.write_bytes(MESSY[name][0])
    said = said_of(source)
    command = shlex.split(re.split(" Columns with two| To play,", said.partition("To write a mended copy: ")[2])[0])
    assert command[:2] == ["likewise", "data"]
    assert "Written: " in said_of(*command[2:])
    copy = Path(command[-1])
    findings = json.loads(said_of(copy, "--json"))["findings"]
    assert [finding for finding in findings if finding["kind"] in ("file", "written")] == []
    assert len(datasets.read_people(copy)) == N
    assert "must be a new file" in said_of(*command[2:]), "nothing is written over"


def test_a_comma_that_may_be_either_is_not_mended(tmp_path):
    """Between semicolons 6,096 may be six or six thousand: a copy must not say which."""
    source = tmp_path / "kilometres.csv"
    source.write_bytes(csv(PEOPLE.assign(away=[f"{n % 9 + 1},{n % 1000:03}" for n in LOANS]), sep=";"))
    assert "away" not in json.loads(said_of(source, "--fix", tmp_path / "copy.csv", "--json"))["fixed"]
    copy = datasets.read_people(tmp_path / "copy.csv")
    assert copy["away"].tolist() == datasets.read_people(source)["away"].tolist()
    assert isinstance(copy["away"][0], str), "still text, as nobody knows"


@pytest.mark.parametrize("name", ["short.csv", "headless.csv"])
def test_no_command_to_play_is_offered_for_a_file_that_play_refuses_or_misreads(folder, tmp_path, name):
    assert "likewise play" not in said_of(folder / name)
    options = ["--no-header"] if name == "headless.csv" else []
    said = said_of(folder / name, *options, "--fix", tmp_path / "copy.csv")
    assert f"likewise play {tmp_path / 'copy.csv'} --label" in said


def test_a_label_that_never_changes_has_no_command_to_play(folder):
    said = said_of(folder / "constant.csv", "--label", "approved")
    assert "approved is the same for everybody: there is nothing to learn" in said
    assert "likewise play" not in said


def test_the_command_of_a_mended_copy_is_about_the_copy(folder, tmp_path):
    """In the file as it is, income is text that nobody can be compared by."""
    assert "--compare-by debt" in said_of(folder / "abc.csv")
    assert "--compare-by income,debt" in said_of(folder / "abc.csv", "--fix", tmp_path / "copy.csv")


def test_a_mended_copy_holds_the_same_people(folder, tmp_path):
    said_of(folder / "latin.csv", "--encoding", "latin-1", "--fix", tmp_path / "copy.csv")
    read = datasets.read_people(tmp_path / "copy.csv")
    pd.testing.assert_frame_equal(read, PEOPLE.replace({"town": {"Łódź": "Lodz"}}))
    said_of(folder / "dollars.csv", "--fix", tmp_path / "plain.csv")
    assert datasets.read_people(tmp_path / "plain.csv")["loan"].tolist() == list(LOANS)
