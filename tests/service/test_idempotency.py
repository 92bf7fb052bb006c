"""A key is answered once: under way, answered, erased, or used for something else."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

from likewise.service.live import idempotency
from likewise.service.live.idempotency import Answers
from likewise.service.log import Idempotency
from likewise.service.refusals import KeyReused, Unavailable, Unknown

KEY = Idempotency("token", "k", "request")


class Responses(dict):
    """What the database keeps: (request, response) by scope and key."""

    def response(self, scope, key):
        return self.get((scope, key))


@pytest.fixture
def kept():
    return Responses()


@pytest.fixture
def answers(kept):
    return Answers(kept)


def done(error=None):
    writing = Future()
    writing.set_result(None) if error is None else writing.set_exception(error)
    return writing


def test_a_new_key_is_not_looked_up_first_and_has_no_answer(answers):
    assert not answers.doubtful(KEY)
    assert not answers.under_way(KEY)
    assert answers.find(KEY) is None


def test_a_key_is_under_way_until_it_is_durable_and_in_doubt_after_that(answers):
    writing = Future()
    answers.begin(KEY, writing)
    assert answers.under_way(KEY)
    assert answers.doubtful(KEY)
    writing.set_result(None)
    answers.end(KEY, writing)
    assert not answers.under_way(KEY)
    assert answers.doubtful(KEY)


def test_a_key_whose_write_failed_is_new_again(answers):
    writing = done(Unavailable("The database is away."))
    answers.begin(KEY, writing)
    answers.end(KEY, writing)
    assert not answers.doubtful(KEY)


def test_the_end_of_a_write_says_nothing_of_a_later_one_under_its_key(answers):
    lost, again = done(Unavailable("The database is away.")), Future()
    answers.begin(KEY, lost)
    answers.end(KEY, lost)
    answers.begin(KEY, again)
    answers.end(KEY, lost)  # whoever waited for it says so too
    assert answers.under_way(KEY)


def test_a_key_belongs_to_who_sent_it(answers, kept):
    kept["token", "k"] = "request", {"round": 1}
    answers.begin(KEY, Future())
    other = KEY._replace(scope="another")
    assert not answers.doubtful(other)
    assert answers.find(other) is None


def test_an_answer_is_given_again_and_its_key_is_in_doubt_from_then_on(answers, kept):
    kept["token", "k"] = "request", {"round": 1}
    assert not answers.doubtful(KEY)
    assert answers.find(KEY) == {"round": 1}
    assert answers.doubtful(KEY)


def test_a_key_with_another_request_is_refused(answers, kept):
    kept["token", "k"] = "request", {"round": 1}
    with pytest.raises(KeyReused, match="'k' was used for a different request"):
        answers.find(KEY._replace(request="another"))


def test_an_answer_that_was_erased_is_not_given_and_not_made_again(answers, kept):
    """Its request is erased too, so nobody can tell any more whether it was the same."""
    kept["token", "k"] = "", None
    with pytest.raises(Unknown, match="erased"):
        answers.find(KEY)
    assert answers.doubtful(KEY)


@pytest.mark.parametrize("error", [None, Unavailable("The database is away.")])
def test_the_second_of_two_at_once_waits_for_the_first(answers, kept, error):
    waiting, replies = threading.Event(), []

    class Writing(Future):
        def exception(self, timeout=None):
            waiting.set()
            return super().exception(timeout)

    writing = Writing()
    answers.begin(KEY, writing)
    second = threading.Thread(target=lambda: replies.append(answers.find(KEY)))
    second.start()
    assert waiting.wait(300)
    assert replies == []
    if error is None:
        kept["token", "k"] = "request", {"round": 1}
        writing.set_result(None)
    else:
        writing.set_exception(error)
    second.join()
    assert replies == [{"round": 1} if error is None else None]


def test_only_the_latest_keys_are_remembered(answers, monkeypatch):
    monkeypatch.setattr(idempotency, "RECENT", 3)
    keys = [KEY._replace(key=str(number)) for number in range(5)]
    for key in keys:
        answers.end(key, done())
    assert [answers.doubtful(key) for key in keys] == [False, False, True, True, True]


def test_without_a_key_there_is_nothing_to_remember(answers, kept):
    kept["token", "k"] = "request", {"round": 1}
    answers.begin(None, done())
    answers.end(None, done())
    assert not answers.under_way(None)
    assert not answers.doubtful(None)
    assert answers.find(None) is None
