"""A stream begun on a page: a file, the doctor's questions about it, and the answers."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest
from test_pages_team import service  # noqa: F401  a fixture


def people(n=120):
    rng = np.random.default_rng(0)
    lines = ["id,score,town,sex,repaid"]
    for i in range(n):
        score = rng.random()
        lines.append(
            f"p{i},{score:.3f},{'North' if i % 3 else 'South'},{'FM'[i % 2]},{'yes' if rng.random() < score else 'no'}"
        )
    return "\n".join(lines)


def asked(admin, text):
    """The page of questions about a file."""
    answer = admin.client.post("/streams/new", data={"csrf": admin.csrf}, files={"file": ("p.csv", text, "text/csv")})
    return answer.status_code, html.unescape(answer.text)


def test_a_file_is_asked_about_and_becomes_a_stream_fitted_to_it(service, enter):  # noqa: F811
    admin, text = enter("admin"), people()
    status, page = asked(admin, text)
    assert status == 200
    assert "120 people." in page
    assert re.search(r"<option selected>repaid", page)  # the likely label
    assert 'value="yes"' in page
    rows = dict(re.findall(r'<th scope="row">(\w+)</th>.*?name="kind-\d".*?<option selected>([\w ]+)', page))
    assert rows == {"id": "leave out", "score": "number", "town": "category", "sex": "category", "repaid": "leave out"}
    sex = re.search(r'<th scope="row">sex</th>.*?</tr>', page, re.S)[0]
    assert "<option selected>must not see it: sensitive" in sex
    fields = {
        "sample": text,
        "step": "create",
        "name": "bank",
        "alpha": "0.1",
        "k": "8",
        "label": "repaid",
        "yes": "yes",
    }
    for i, (kind, reviewers) in enumerate(
        [("leave out", "see it"), ("number", "compare by it"), ("category", "see it"),
         ("category", "must not see it: sensitive"), ("leave out", "see it")]
    ):  # fmt: skip
        fields |= {f"kind-{i}": kind, f"reviewers-{i}": reviewers}
    wrong = admin.post("/streams/new", **fields | {"alpha": "much", "name": "bank"})
    assert wrong.status_code == 422
    assert 'value="much"' in wrong.text
    assert "“Largest difference allowed (α)” must be a number." in html.unescape(wrong.text)
    done = admin.post("/streams/new", **fields)
    assert done.status_code == 303, done.text
    made = service.engine.stream("bank")
    assert {f["name"]: (f["sensitive"], f["compare"]) for f in made["settings"]["features"]} == {
        "score": (False, True), "town": (False, False), "sex": (True, False),
    }  # fmt: skip
    assert made["made_of"]["people"] == 120
    again = admin.post("/streams/new", **fields)
    assert again.status_code == 409
    assert "There is already a stream named “bank”." in html.unescape(again.text)


def test_without_a_label_the_file_shows_where_to_cut(service, enter):  # noqa: F811
    fields = {"sample": people(), "step": "create", "name": "plain", "alpha": "0.1", "k": "8", "label": ""}
    fields |= {"kind-1": "number", "kind-2": "category"}
    assert enter("admin").post("/streams/new", **fields).status_code == 303
    settings = service.engine.stream("plain")["settings"]
    assert len(settings["cuts"]["score"]) > 3
    assert settings["cuts"]["town"] is None


@pytest.mark.parametrize("text", ["", "one line", "a,b\n1", "\x00\x01"])
def test_a_file_that_is_none_gets_a_sentence(service, enter, text):  # noqa: F811
    status, page = asked(enter("admin"), text)
    assert status == 422
    said = re.search(r'class="alert"[^>]*>([^<]*)', page)[1]
    assert not re.search(r"`|\['|None|Error|pandas", said), said
    assert enter("viewer").get("/streams/new").status_code == 403


def test_a_file_is_read_as_the_command_reads_it(service, enter):  # noqa: F811
    """Decimal commas between semicolons are numbers, and a short line is refused with its number."""
    text = people().replace(",", ";").replace(".", ",")
    admin = enter("admin")
    status, page = asked(admin, text)
    assert status == 200
    rows = dict(re.findall(r'<th scope="row">(\w+)</th>.*?name="kind-\d".*?<option selected>([\w ]+)', page))
    assert rows["score"] == "number"
    status, page = asked(admin, text + "\np9;0,5")
    assert status == 422
    assert "line 122 has 2 of 5 fields" in page


def test_columns_that_nobody_can_use_are_left_out_and_a_yes_in_two_spellings_is_refused(service, enter):  # noqa: F811
    """Whoever presses the button with what the page proposes gets a stream, or a sentence about their label."""
    head, *lines = people().splitlines()
    text = "\n".join(
        [f"{head},seen,note,same", *(f"{line},2024-01-{i % 28 + 1:02},word {i},x" for i, line in enumerate(lines))]
    )
    admin = enter("admin")
    _, page = asked(admin, text)
    rows = dict(re.findall(r'<th scope="row">(\w+)</th>.*?name="kind-\d".*?<option selected>([\w ]+)', page))
    assert {name for name, kind in rows.items() if kind == "leave out"} == {"id", "repaid", "seen", "note", "same"}
    assert "seen holds dates" in page
    assert "Left out: it is the same for everybody." in page
    fields = {"sample": text.replace(",no,", ",No,").replace(",yes,", ",Yes,", 9), "step": "create", "name": "spelled",
              "alpha": "0.1", "k": "8", "label": "repaid", "yes": "yes"}  # fmt: skip
    fields |= {f"kind-{i}": kind for i, kind in enumerate(rows.values())}
    refused = admin.post("/streams/new", **fields)
    assert refused.status_code == 422
    assert "must have one spelling of its yes, got “Yes” and “yes”" in html.unescape(refused.text)


@pytest.mark.parametrize("content", [b"PK\x03\x04\x00\x00 a,b\n1,2\n", bytes(range(256)) * 20])
def test_a_file_that_is_no_text_gets_one_sentence(service, enter, content):  # noqa: F811
    status, page = asked(enter("admin"), content)
    assert status == 422
    assert page.count('class="alert"') == 1


def test_a_first_line_that_is_a_person_is_named(service, enter):  # noqa: F811
    status, page = asked(enter("admin"), people().partition("\n")[2])
    assert status == 200
    assert "The first line seems to be a person, not names" in page
