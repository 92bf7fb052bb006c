"""Settings of a stream: what is accepted, what is refused in a sentence, and what comes back from the log."""

from __future__ import annotations

import json

import numpy as np
import pytest
from loans import loans

import likewise as lw
from likewise.errors import InvalidParameter
from likewise.service.stream.learner import Model
from likewise.service.stream.settings import Feature, Settings, Waits, with_sample

PLAIN = {"name": "loans", "features": [{"name": "score"}], "cuts": {"score": [0.5]}, "alpha": 0.1}


def test_settings_come_back_from_the_log_as_they_were():
    whole = loans(
        features=(Feature("score", shown=False), Feature("job", "category", ("nurse", "cook"), sensitive=True)),
        cuts={"score": (0.1, 0.7), "job": None},
        penalty={"c": 0.01, "floor": 0.5},
        margin=0.02,
        costs=(1.0, 2.0),
        waits=Waits(audit=5.0, label=None, audit_end="discard"),
        seed=7,
    )
    assert Settings.from_dict(json.loads(json.dumps(whole.to_dict()))) == whole


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"name": ""}, "name"),
        ({"name": "Loans"}, "name"),
        ({"name": "a/b"}, "name"),
        ({"name": "x" * 64}, "name"),
        ({"name": 3}, "name"),
        ({"features": []}, "features"),
        ({"features": "score"}, "features"),
        ({"features": [{"name": "score"}, {"name": "score"}]}, "features"),
        ({"features": [{"name": "score", "kind": "text"}]}, "kind"),
        ({"features": [{"name": "score", "kind": "category"}]}, "levels"),
        ({"features": [{"name": "score", "levels": ["a"]}]}, "levels"),
        ({"features": [{"name": "score", "shown": "yes"}]}, "shown"),
        ({"features": [{"name": "sc\0re"}]}, "features.name"),
        ({"features": [{"kind": "number"}]}, "features"),
        ({"features": [{"name": "score", "colour": "red"}]}, "features"),
        ({"cuts": {}}, "cuts"),
        ({"cuts": {"height": [1.0]}}, "cuts"),
        ({"cuts": {"score": []}}, "cuts"),
        ({"cuts": {"score": [0.5, 0.5]}}, "cuts"),
        ({"cuts": {"score": [float("nan")]}}, "cuts"),
        ({"cuts": {"score": ["0.5"]}}, "cuts"),
        ({"cuts": {"score": [10**400]}}, "cuts"),
        ({"cuts": {"score": None}}, "cuts"),
        ({"cuts": {"score": 16}}, "cuts"),
        ({"cuts": [0.5]}, "cuts"),
        ({"alpha": 0}, "alpha"),
        ({"alpha": "0.1"}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"margin": 0.1}, "margin"),
        ({"margin": -0.1}, "margin"),
        ({"kind": "trees"}, "kind"),
        ({"learner": "ftpl"}, "learner"),
        ({"largest_batch": 0}, "largest_batch"),
        ({"largest_batch": True}, "largest_batch"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"waits": {"audit": -1}}, "audit"),
        ({"waits": {"grace": None}}, "grace"),
        ({"waits": {"patience": 1}}, "waits"),
        ({"waits": {"grace": 1e12}}, "grace"),
        ({"waits": {"label": 10**400}}, "label"),
        ({"costs": [1]}, "costs"),
        ({"costs": [1e308, 1]}, "costs"),
        ({"costs": [10**400, 1]}, "costs"),
        ({"costs": [5e-324, 5e-324]}, "costs"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": 10**400}, "horizon"),
        ({"alpha": 10**400}, "alpha"),
        ({"margin": -(10**400)}, "margin"),
        ({"penalty": 1e308}, "penalty"),
        ({"penalty": 10**400}, "penalty"),
        ({"penalty": {"first": 1e308, "growth": 0.1}}, "penalty"),
        ({"penalty": {"c": 0.01, "floor": 1e308}}, "penalty"),
        ({"surprise": 1}, "settings"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(change, named):
    with pytest.raises(InvalidParameter, match=f"`{named}` must"):
        Settings.from_dict(PLAIN | change)


@pytest.mark.parametrize("missing", ["name", "features", "cuts", "alpha"])
def test_what_is_missing_is_named(missing):
    with pytest.raises(InvalidParameter, match=missing):
        Settings.from_dict({name: value for name, value in PLAIN.items() if name != missing})


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"penalty": -1}, "penalty"),
        ({"penalty": {"c": 0.01, "first": 1}}, "penalty"),
        ({"penalty": {"c": 0.2}}, "penalty"),
        ({"learner": "hedge"}, "penalty"),
        ({"learner": "hedge", "penalty": {"c": 0.01}}, "penalty"),
        ({"costs": (-1.0, 1.0)}, "costs"),
    ],
)
def test_what_no_learner_can_play_is_refused_by_name(change, named):
    with pytest.raises(InvalidParameter, match=f"`{named}` must"):
        Model(loans(**change))


class TestPeople:
    settings = loans(features=(Feature("score"), Feature("job", "category", ("nurse", "cook"))), cuts={"score": (0.5,)})

    def test_a_person_has_all_features_and_no_others(self):
        assert self.settings.person({"job": "cook", "score": 1}) == {"score": 1.0, "job": "cook"}

    @pytest.mark.parametrize(
        ("features", "said"),
        [
            (None, "map names to values"),
            ({"score": 1}, "'job'"),
            ({"score": 1, "job": "cook", "age": 3}, "'age'"),
            ({"score": "1", "job": "cook"}, "`score` must be a finite number"),
            ({"score": True, "job": "cook"}, "`score` must be a finite number"),
            ({"score": None, "job": "cook"}, "`score` must be a finite number"),
            ({"score": float("nan"), "job": "cook"}, "`score` must be a finite number"),
            ({"score": float("-inf"), "job": "cook"}, "`score` must be a finite number"),
            ({"score": 10**400, "job": "cook"}, "`score` must be a finite number"),
            ({"score": 2**53 + 1, "job": "cook"}, "`score` must be a number that a 64-bit float holds exactly"),
            ({"score": [1], "job": "cook"}, "`score` must be a finite number"),
            ({"score": 1, "job": "pilot"}, "`job` must be one of"),
            ({"score": 1, "job": 0}, "`job` must be one of"),
        ],
    )
    def test_anything_else_is_refused_in_a_sentence(self, features, said):
        with pytest.raises(InvalidParameter, match=said):
            self.settings.person(features)


SAMPLE = [{"score": float(i), "job": "cook", "sex": float(i % 2)} for i in range(100)]
ASKED = {
    "name": "loans",
    "alpha": 0.1,
    "features": [
        {"name": "score"},
        {"name": "job", "kind": "category", "levels": ["nurse", "cook"]},
        {"name": "sex", "sensitive": True},
    ],
}


class TestSample:
    def test_cuts_are_the_quantiles_that_the_library_would_take(self):
        found = with_sample(ASKED, SAMPLE, cuts=7)
        expected = lw.Thresholds.quantiles(np.arange(100.0)[:, None], cuts=7)
        assert found.cuts["score"] == tuple(expected.cuts[0])

    def test_what_is_sensitive_is_not_decided_by_unless_it_is_said(self):
        assert set(with_sample(ASKED, SAMPLE).cuts) == {"score", "job"}
        said = with_sample(ASKED | {"cuts": {"sex": [0.5]}}, SAMPLE)
        assert set(said.cuts) == {"sex"}

    def test_some_cuts_may_be_given_and_others_found(self):
        found = with_sample(ASKED | {"cuts": {"score": 3, "sex": [0.5]}}, SAMPLE)
        assert len(found.cuts["score"]) == 3
        assert found.cuts["sex"] == (0.5,)

    def test_a_sample_that_shows_nothing_is_refused(self):
        for sample in ([], SAMPLE[:1]):
            with pytest.raises(InvalidParameter, match="`sample` must"):
                with_sample(ASKED, sample)
        with pytest.raises(InvalidParameter, match="score"):
            with_sample(ASKED, [{"job": "cook"}])

    def test_the_sample_is_not_kept(self):
        assert "sample" not in json.dumps(with_sample(ASKED, SAMPLE).to_dict())
