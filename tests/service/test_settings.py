"""Settings of a stream: what is accepted, what is refused in a sentence, and what comes back from the log."""

from __future__ import annotations

import json

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loans import loans

import likewise as lw
from likewise.errors import InvalidParameter
from likewise.service.stream.learner import Model
from likewise.service.stream.settings import Feature, Settings, Waits, sampled_cuts

PLAIN = {"name": "loans", "features": [{"name": "score"}], "cuts": {"score": [0.5]}, "alpha": 0.1}


def test_settings_come_back_from_the_log_as_they_were():
    whole = loans(
        features=(
            Feature(name="score", shown=False),
            Feature(name="job", kind="category", levels=("nurse", "cook"), sensitive=True),
        ),
        cuts={"score": (0.1, 0.7), "job": None},
        penalty={"c": 0.01, "floor": 0.5},
        margin=0.02,
        costs=(1.0, 2.0),
        waits=Waits(audit=5.0, label=None, audit_end="discard"),
        T=50,
        hypotheses="cells",
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
        ({"features": [{"name": "sc\0re"}]}, "name"),
        ({"features": [{"kind": "number"}]}, "name"),
        ({"features": [{"name": "score", "colour": "red"}]}, "colour"),
        ({"cuts": {}}, "cuts"),
        ({"cuts": {"height": [1.0]}}, "cuts"),
        ({"cuts": {"score": []}}, "cuts"),
        ({"cuts": {"score": [0.5, 0.5]}}, "cuts"),
        ({"cuts": {"score": [float("nan")]}}, "cuts"),
        ({"cuts": {"score": ["0.5"]}}, "cuts"),
        ({"cuts": {"score": [10**400]}}, "cuts"),
        ({"cuts": {"score": None}}, "cuts"),
        ({"cuts": {"score": 16}}, "score"),
        ({"cuts": [0.5]}, "cuts"),
        ({"alpha": 0}, "alpha"),
        ({"alpha": "0.1"}, "alpha"),
        ({"alpha": float("nan")}, "alpha"),
        ({"margin": 0.1}, "margin"),
        ({"margin": -0.1}, "margin"),
        ({"hypotheses": "trees"}, "hypotheses"),
        ({"learner": "ftpl"}, "learner"),
        ({"k": 0}, "k"),
        ({"k": True}, "k"),
        ({"k": 2.0}, "k"),
        ({"seed": 0}, "seed"),
        ({"waits": {"audit": -1}}, "audit"),
        ({"waits": {"grace": None}}, "grace"),
        ({"waits": {"patience": 1}}, "patience"),
        ({"waits": {"grace": 1e12}}, "grace"),
        ({"waits": {"label": 10**400}}, "label"),
        ({"costs": [1]}, "costs"),
        ({"costs": [1e308, 1]}, "costs"),
        ({"costs": [10**400, 1]}, "costs"),
        ({"costs": [5e-324, 5e-324]}, "costs"),
        ({"T": 0}, "T"),
        ({"T": 10**400}, "T"),
        ({"alpha": 10**400}, "alpha"),
        ({"alpha": 2e-309}, "alpha"),
        ({"alpha": 0.1, "margin": 0.1 - 1e-12}, "margin"),
        ({"margin": -(10**400)}, "margin"),
        ({"penalty": 1e308}, "penalty"),
        ({"penalty": 10**400}, "penalty"),
        ({"penalty": {"first": 1e308, "growth": 0.1}}, "penalty"),
        ({"penalty": {"c": 0.01, "floor": 1e308}}, "penalty"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(change, named):
    for make in (Settings.from_dict, lambda plain: Settings(**plain)):
        with pytest.raises(InvalidParameter, match=rf"^`{named}` must [^\n]+, got [^\n]+\.$"):
            make(PLAIN | change)


def test_a_refusal_is_one_sentence_in_our_own_words():
    with pytest.raises(InvalidParameter) as refused:
        Settings.from_dict(PLAIN | {"alpha": 1.7})
    assert str(refused.value) == "`alpha` must be in (0, 1], got 1.7."
    with pytest.raises(InvalidParameter) as refused:
        Waits().changed({"grace": -1})
    assert str(refused.value) == "`grace` must be in [0, 1e+09], got -1."


@pytest.mark.parametrize("data", [None, [], "loans", 3])
def test_what_is_no_object_at_all_is_refused(data):
    with pytest.raises(InvalidParameter):
        Settings.from_dict(data)


def test_settings_are_values_that_nobody_changes():
    settings = loans()
    with pytest.raises(ValueError, match="frozen"):
        settings.alpha = 0.5
    assert settings == loans() != loans(alpha=0.2)


def test_waits_change_alone_and_the_others_stay():
    settings = loans(waits=Waits(audit=5, grace=1))
    changed = settings.with_waits({"audit": None, "label_end": "discard"})
    assert changed.waits == Waits(grace=1, label_end="discard")
    assert changed == loans(waits=changed.waits)
    assert settings.waits == Waits(audit=5, grace=1)


@hypothesis.settings(deadline=None)
@given(
    alpha=st.floats(1e-9, 1),
    cuts=st.lists(st.floats(-(2.0**1000), 2.0**1000), min_size=1, unique=True).map(sorted),
    audit=st.none() | st.floats(0, 1e9),
    penalty=st.none() | st.floats(0, 1e12) | st.fixed_dictionaries({"c": st.floats(0, 1), "floor": st.integers(0, 9)}),
    costs=st.tuples(st.floats(1e-12, 1e12), st.integers(0, 10**12)),
    k=st.integers(1, 2**53),
)
def test_any_settings_survive_json_exactly(alpha, cuts, audit, penalty, costs, k):
    waits = {"audit": audit}
    chosen = {"alpha": alpha, "cuts": {"score": cuts}, "penalty": penalty, "costs": costs, "k": k, "waits": waits}
    settings = Settings.from_dict(PLAIN | chosen)
    text = json.dumps(settings.to_dict())
    assert Settings.from_dict(json.loads(text)) == settings
    assert json.dumps(Settings.from_dict(json.loads(text)).to_dict()) == text


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
        ({"learner": "hedge", "penalty": "growing"}, "penalty"),
        ({"penalty": "shrinking"}, "penalty"),
        ({"costs": (-1.0, 1.0)}, "costs"),
    ],
)
def test_what_no_learner_can_play_is_refused_by_name(change, named):
    with pytest.raises(InvalidParameter, match=f"`{named}` must"):
        Model(loans(**change))


class TestPeople:
    settings = loans(
        features=(Feature(name="score"), Feature(name="job", kind="category", levels=("nurse", "cook"))),
        cuts={"score": (0.5,)},
    )

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
FEATURES = (
    Feature(name="score"),
    Feature(name="job", kind="category", levels=("nurse", "cook")),
    Feature(name="sex", sensitive=True),
)


class TestSample:
    def test_cuts_are_the_quantiles_that_the_library_would_take(self):
        cuts = sampled_cuts(FEATURES, None, SAMPLE, 7)
        expected = lw.Thresholds.quantiles(np.arange(100.0)[:, None], cuts=7)
        assert cuts["score"] == expected.cuts[0].tolist()

    def test_what_is_sensitive_is_not_decided_by_unless_it_is_said(self):
        assert set(sampled_cuts(FEATURES, None, SAMPLE)) == {"score", "job"}
        assert sampled_cuts(FEATURES, {"sex": [0.5]}, SAMPLE) == {"sex": [0.5]}

    def test_some_cuts_may_be_given_and_others_found(self):
        cuts = sampled_cuts(FEATURES, {"score": 3, "sex": [0.5], "job": None}, SAMPLE)
        assert len(cuts["score"]) == 3
        assert (cuts["sex"], cuts["job"]) == ([0.5], None)

    @pytest.mark.parametrize(
        ("asked", "sample", "sentence"),
        [
            (None, [], "`sample` must hold at least one person"),
            (None, SAMPLE[:1], "`sample` must have more than one value of 'score'"),
            (None, [{"job": "cook"}], "`score` must be a finite number"),
            ({"job": 4}, SAMPLE, "`cuts` must be null for a category"),
            ({"score": 0}, SAMPLE, "`cuts` must be a whole number, at least 1"),
        ],
    )
    def test_a_sample_that_shows_nothing_is_refused(self, asked, sample, sentence):
        with pytest.raises(InvalidParameter, match=sentence):
            sampled_cuts(FEATURES, asked, sample)


def test_every_setting_has_a_title_and_a_sentence():
    for model in (Feature, Waits, Settings):
        for name, field in model.model_fields.items():
            assert field.title, name
            assert field.description.endswith("."), name
