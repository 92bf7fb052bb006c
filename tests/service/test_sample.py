"""A stream whose class is fitted to a sample: the same scores for ever, and nothing of the sample in the log."""

from __future__ import annotations

import json
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from forging import SIGNER, rechained, write
from loans import far_apart, fingerprint
from sampled import CHOICES, FEATURES, HOMES, asked, features_of, sample, scores, settings

import likewise as lw
from likewise.classes.program import ScoreProgram
from likewise.errors import InvalidParameter
from likewise.service.api.bodies import StreamBody
from likewise.service.canonical import digest, dumps, loads
from likewise.service.configuration import Configuration
from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.proof import standalone
from likewise.service.proof.replay import verify
from likewise.service.refusals import Conflict
from likewise.service.stream.events import StreamCreated, read_event, stamp
from likewise.service.stream.learner import Model, score_program
from likewise.service.stream.plain_state import dump_state, load_state
from likewise.service.stream.sample import compared, fitted_scores, labelled
from likewise.service.stream.settings import Feature, Settings


def lived(engine, rounds=12):
    """A stream on a sample that has lived: reports, labels, other waits; what was shown in its rounds."""
    engine.create(settings(), "root", scores=scores())
    people, shown = sample(4 * rounds, seed=1), []
    for i in range(rounds):
        batch = people[4 * i : 4 * i + 4]
        opened = engine.decide("loans", asked(batch, f"{i}."), "decider")
        shown.append([person["probability"] for person in opened["decisions"]])
        high, low = far_apart(shown[-1])
        pair = [f"{i}.{high}", f"{i}.{low}"] if shown[-1][high] - shown[-1][low] > 0.1 else []
        engine.audit("loans", i + 1, "pair" if pair else "none", "ann", pair=pair)
        engine.label("loans", i + 1, {f"{i}.{j}": person["repaid"] for j, person in enumerate(batch)}, "decider")
    engine.change_waits("loans", {"audit": 60.0}, "root")
    return shown


class TestLiveIsReplay:
    def test_a_restarted_service_and_an_outsider_get_the_same_bits(self, database, start, tmp_path):
        engine = start(database)
        shown = lived(engine)
        assert np.ptp(shown[-1]) > 0
        engine.sign_heads()
        again = start(database)  # reads the whole log
        one, other = (e.streams.get("loans").current() for e in (engine, again))
        assert fingerprint(one) == fingerprint(other)
        batch = asked(sample(8, seed=2), "next")[:4]
        live, replayed = (e.decide("loans", batch, "decider")["decisions"] for e in (engine, again))
        assert live == replayed
        path = write(tmp_path / "export.jsonl", list(again.export("loans")))
        found = verify(path, key=again.signer.public_key)
        assert found.first is None
        assert (found.replay.rounds, found.replay.inexact) == (12, 0)

    def test_a_snapshot_brings_the_scores_back(self, database, start):
        engine = start(database)
        lived(engine, rounds=3)
        state = engine.streams.get("loans").current()
        again = load_state(json.loads(json.dumps(dump_state(state))))
        assert fingerprint(again) == fingerprint(state)
        assert again.stream.program.data == scores()

    def test_people_can_be_erased_and_the_scores_stay(self, database, start, tmp_path):
        engine = start(database)
        lived(engine, rounds=4)
        engine.erase("loans", "1.2", "root")
        path = write(tmp_path / "export.jsonl", list(engine.export("loans")))
        found = verify(path, key=engine.signer.public_key)
        assert found.first is None
        assert found.replay.lost == [2, 3, 4]


class TestWhatTheLogHolds:
    def test_the_creating_event_holds_the_scores_and_their_hash(self, engine):
        engine.create(settings(), "root", scores=scores())
        event = engine.events("loans")[0]["data"]
        assert event["scores"] == scores()
        assert event["settings"]["scores"] == digest(event["scores"]) == digest(loads(dumps(event["scores"])))
        assert event["settings"]["cuts"] == {}

    def test_neither_labels_nor_sensitive_features_are_in_it(self):
        text = dumps(scores())
        assert "repaid" not in text
        assert "sex" not in text

    def test_a_stream_without_a_sample_is_written_as_before(self):
        plain = {"settings": {"name": "loans"}, "learner_version": 2, "secret": "00", "by": "root"}
        event = read_event("stream_created", plain, stamp(0))
        assert isinstance(event, StreamCreated)
        assert event.data() == plain
        assert read_event("stream_created", plain | {"scores": {}}, stamp(0)).data() == plain | {"scores": {}}

    def test_a_stream_can_not_be_created_with_other_scores(self, engine):
        other = deepcopy(scores())
        other["scores"][0]["cuts"][0] += 1e-9
        with pytest.raises(InvalidParameter, match="`scores` must have the hash that the settings hold"):
            engine.create(settings(), "root", scores=other)
        with pytest.raises(InvalidParameter, match="`scores` must have the hash"):
            engine.create(settings(), "root")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The lines of an honest export, without checkpoints."""
    store = Store(tmp_path_factory.mktemp("sampled") / "log.db")
    store.migrate()
    engine = Engine(store, SIGNER)
    lived(engine, rounds=2)
    lines = [line for line in engine.export("loans") if line["line"] != "checkpoint"]
    engine.close()
    return lines


def test_a_stream_leans_to_the_label_that_most_of_its_sample_have():
    program = ScoreProgram(scores())
    ones = np.mean([person["repaid"] for person in sample()])
    assert program.ones == pytest.approx(ones) != 0.5
    assert Model(settings(), program=program).learner.prior == ("mostly 1" if ones > 0.5 else "mostly 0")
    before = ScoreProgram({key: value for key, value in scores().items() if key != "ones"})
    assert Model(settings(), program=before).learner.prior is None, "a stream keeps the learner it was created with"


class TestForgers:
    def test_scores_that_do_not_match_their_hash_are_found_without_the_learner(self, exported):
        lines = deepcopy(exported)
        lines[1]["data"]["scores"]["scores"][0]["cuts"][0] += 0.1
        findings = standalone.check(rechained(lines))
        assert findings.first == (1, "Event 1 holds scores that don't match the hash in its settings.")
        del lines[1]["data"]["scores"]
        assert standalone.check(rechained(lines)).first == findings.first

    def test_and_with_it(self, exported, tmp_path):
        lines = deepcopy(exported)
        lines[1]["data"]["scores"]["people"] += 1
        found = verify(write(tmp_path / "export.jsonl", rechained(lines)))
        assert "scores that don't match the hash in its settings" in found.replay.difference[1]

    def test_other_scores_with_their_own_hash_do_not_lead_to_what_was_shown(self, exported, tmp_path):
        lines = deepcopy(exported)
        data = lines[1]["data"]
        for score in data["scores"]["scores"]:
            score["cuts"] = score["cuts"][1:]
        data["settings"]["scores"] = digest(data["scores"])
        found = verify(write(tmp_path / "export.jsonl", rechained(lines)))
        assert found.findings.first is None
        assert found.replay.difference[0] > 2, "the first policies are the same in any class"

    @pytest.mark.parametrize("broken", [{"format": 9}, {"scores": []}, {"reads": []}, {"points": "none"}])
    def test_scores_that_are_none_are_named_and_nothing_breaks(self, exported, tmp_path, broken):
        lines = deepcopy(exported)
        lines[1]["data"]["scores"] |= broken
        lines[1]["data"]["settings"]["scores"] = digest(lines[1]["data"]["scores"])
        found = verify(write(tmp_path / "export.jsonl", rechained(lines)))
        assert found.replay.difference[0] in (1, 2)


class TestTheClass:
    def test_it_is_the_one_that_the_library_suggests_for_the_same_table(self):
        """Encoder and comparison are built from declared features, without pandas: the scores must be the same."""
        people = sample()
        frame = pd.DataFrame([{name: person[name] for name in ("income", "debt", "home")} for person in people])
        suggested = lw.classes.suggest(
            frame, [person["repaid"] for person in people], compare_by=["income", "home"], anchors="centres", jobs=1
        )
        program = ScoreProgram(scores())
        models = suggested.hypotheses.score_columns(suggested.encoder.transform(frame))
        assert np.abs(program.scores(people) - models).max() <= 1e-9
        assert [len(cuts) for cuts in program.cuts] == [len(cuts) for cuts in suggested.hypotheses.cuts]

    def test_a_model_encodes_people_by_the_cuts_of_their_scores(self):
        model = Model(settings(), program=score_program(settings(), scores()))
        people = sample(20, seed=3)
        table = ScoreProgram(scores()).scores(people)
        rows = [np.searchsorted(cuts, table[:, j], side="right") for j, cuts in enumerate(model.hypotheses.cuts)]
        assert model.encode([features_of(person) for person in people]).tolist() == np.array(rows).T.tolist()
        assert model.used == ["income", "debt", "home"]

    def test_a_level_that_nobody_had_is_scored(self):
        person = features_of(sample()[0]) | {"home": HOMES[2]}
        assert np.isfinite(ScoreProgram(scores()).scores([person])).all()

    def test_nothing_to_compare_by_is_said(self):
        features = [Feature(name="income"), Feature(name="debt")]
        data = fitted_scores(features, sample(60), "repaid", jobs=1)
        assert data["compare_by"] == []
        assert any("Nobody said what reviewers compare by" in note for note in data["notes"])

    def test_features_in_which_nobody_differs_are_left_out(self):
        people = [person | {"income": 40_000, "home": "own"} for person in sample(60)]
        data = fitted_scores(FEATURES, people, "repaid", jobs=1)
        assert ScoreProgram(data).features == ["debt"]
        assert any("Everybody looks the same in what reviewers compare by" in note for note in data["notes"])
        shown = ScoreProgram(data).scores([people[0], people[0] | {"income": 1.0, "home": "squat"}])
        assert shown[0].tolist() == shown[1].tolist()

    def test_the_status_says_what_the_class_is_made_of(self, engine):
        answer = engine.create(settings(), "root", scores=scores())
        made = engine.stream("loans")["made_of"]
        assert made == answer["made_of"]
        assert made["people"] == len(sample())
        parts = {part["name"]: part for part in made["parts"]}
        assert parts["gentle policies"]["features"] == ["income", "home"]
        assert sum(part["cuts"] for part in made["parts"]) == sum(map(len, ScoreProgram(scores()).cuts))


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            ({"sample": sample(49)}, "`sample` must hold at least 50 people, as scores are fitted to it, got 49."),
            ({"sample": [p | {"repaid": 1} for p in sample()]}, "`sample` must hold at least 5 people with each label"),
            ({"sample": [p | {"repaid": 2} for p in sample()]}, "`sample` must give 0 or 1 for 'repaid', got 2."),
            ({"sample": [p | {"repaid": "1"} for p in sample()]}, "`sample` must give 0 or 1 for 'repaid', got '1'."),
            ({"sample": sample(131)}, "`sample` must be at most 130, got 131."),
            ({"sample": ()}, "`sample` must hold at least 50 people, as scores are fitted to it, got 0."),
            ({"label": "paid"}, "`sample` must give 'paid' for everybody, got '120 people without it'."),
            ({"label": "debt"}, "`label` must not be the name of a feature, got 'debt'."),
            ({"compare_by": ["wealth"]}, "`compare_by` must name features that reviewers see, which are "),
            ({"compare_by": ["sex"]}, "`compare_by` must name features that reviewers see, which are "),
            ({"cuts": {"debt": [1.0]}}, "`cuts` must be left out, as the class is fitted to the sample, got "),
            ({"hypotheses": "cells"}, "`hypotheses` must be thresholds, as the class is fitted to the sample, got "),
            ({"sample": [p | {"debt": "much"} for p in sample()]}, "`debt` must be a finite number, got 'much'."),
            ({"sample": [p | {"home": "boat"} for p in sample()]}, "`home` must be one of "),
            ({"sample": [p | {"debt": 1, "income": 2, "home": "own"} for p in sample()]}, "in which people differ"),
        ],
    )
    def test_each_is_one_sentence(self, change, sentence):
        body = StreamBody(**CHOICES | {"sample": sample(), "label": "repaid"} | change)
        with pytest.raises(InvalidParameter) as refused:
            body.to_fit(Configuration(max_sample=130))
        assert sentence in str(refused.value)

    def test_a_sample_without_a_feature_is_refused(self):
        people = [{name: value for name, value in person.items() if name != "debt"} for person in sample(60)]
        with pytest.raises(InvalidParameter, match="`sample` must give 'debt' for everybody, got '60 people without"):
            labelled(FEATURES, people, "repaid")
        without = [{name: value for name, value in person.items() if name != "sex"} for person in sample(60)]
        assert [feature.name for feature in labelled(FEATURES, without, "repaid").features] == [
            "income",
            "debt",
            "home",
        ]

    def test_numbers_that_no_float_can_sum_are_refused(self):
        people = [person | {"debt": (-1) ** i * 1e308} for i, person in enumerate(sample(60))]
        with pytest.raises(InvalidParameter, match="`sample` must have values of 'debt' whose mean and spread"):
            fitted_scores(FEATURES, people, "repaid")

    def test_very_many_levels_are_refused(self):
        levels = tuple(map(str, range(1001)))
        features = (Feature(name="id", kind="category", levels=levels),)
        people = [{"id": level, "repaid": int(level) % 2} for level in levels]
        with pytest.raises(InvalidParameter, match="`sample` must have at most 1000 numbers and levels, got 1001"):
            labelled(features, people, "repaid")

    def test_settings_have_scores_or_cuts(self):
        plain = settings().to_dict()
        with pytest.raises(InvalidParameter, match="`cuts` must be left out, as policies cut scores"):
            Settings.from_dict(plain | {"cuts": {"debt": [1.0]}})
        with pytest.raises(InvalidParameter, match="`hypotheses` must be thresholds, as policies cut scores"):
            Settings.from_dict(plain | {"hypotheses": "cells"})
        with pytest.raises(InvalidParameter, match="`cuts` must be given for at least one feature"):
            Settings.from_dict(plain | {"scores": None})
        with pytest.raises(InvalidParameter, match="`scores` must be a SHA-256"):
            Settings.from_dict(plain | {"scores": "abc"})

    def test_compare_by_marks_features(self):
        marked = compared(FEATURES, ["debt"])
        assert [feature.name for feature in marked if feature.compare] == ["income", "debt", "home"]

    def test_a_stream_that_exists_is_refused_before_anything_is_fitted(self, engine):
        assert engine.created("loans") is None
        engine.create(settings(), "root", scores=scores())
        with pytest.raises(Conflict, match="already a stream named 'loans'"):
            engine.created("loans")
