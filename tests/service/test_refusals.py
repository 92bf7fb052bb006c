"""Every refusal has the HTTP status that tells a caller what to do about it."""

from __future__ import annotations

import pytest

from likewise.errors import InvalidParameter, LikewiseError, ReportRefused
from likewise.service import refusals
from likewise.service.refusals import ServiceProblem, status_of

WANTED = {
    "Unknown": (404, "Not found"),
    "Conflict": (409, "Conflict"),
    "StreamStopped": (503, "Stopped"),
    "KeyReused": (422, "Idempotency key reused"),
    "BrokenLog": (500, "Broken log"),
    "AlteredRows": (500, "Altered rows"),
    "Unavailable": (503, "Unavailable"),
}


def test_the_refusals_are_these_and_each_has_its_status_and_title():
    found = {one.__name__: one for one in ServiceProblem.__subclasses__() if one.__module__ == refusals.__name__}
    assert {name: status_of(one("Why.")) for name, one in found.items()} == WANTED


@pytest.mark.parametrize(
    ("error", "status"),
    [(InvalidParameter("x"), 422), (ReportRefused("x"), 422), (LikewiseError("x"), 500), (ServiceProblem("x"), 400)],
)
def test_errors_of_the_library_have_one_too(error, status):
    assert status_of(error)[0] == status
