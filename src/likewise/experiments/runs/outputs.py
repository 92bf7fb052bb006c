"""What a run leaves behind for people to read: certificate, policy, figures, one page, and the key numbers."""

from __future__ import annotations

import importlib.util
import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise import certificates, figures, hindsight
from likewise.certificates import Certificate
from likewise.certificates.held_out_people import CONSTANTS
from likewise.certificates.letter import WIDTH
from likewise.certificates.shown import ShownPeople, UnfairPair
from likewise.classes import Contributions, contributions
from likewise.experiments.runs.cards import write_cards
from likewise.experiments.runs.deployed import Deployed, deployed, plain
from likewise.experiments.runs.population import FRAME
from likewise.experiments.runs.run import Run
from likewise.experiments.runs.setup import Setup, sensitive_columns
from likewise.experiments.runs.shown import shown_people, unfair_people
from likewise.game import Transcript
from likewise.hindsight import Frontier, Hindsight
from likewise.hypotheses import Thresholds, save_models
from likewise.policies import Mixture
from likewise.report import write_report
from likewise.report.class_parts import NOT_KNOWN
from likewise.report.made_of import ReadPolicy, sets_apart
from likewise.report.made_of import as_text as rules_as_text
from likewise.report.words import which_policy
from likewise.scoring import FinishedPolicy
from likewise.scoring.finished import MODELS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LEVELS = 6
"""Levels α at which the trade-off is computed, from the strictest to twice the auditor's."""


def write_outputs(
    run: Run, transcript: Transcript, *, pictures: bool = True, outcome: Deployed | None = None
) -> dict[str, Any]:
    """Write everything that follows from the transcript; returns the key numbers, which are written last.

    ``outcome`` is what the play came to, where it is known already.
    """
    folder, setup, s = run.folder, run.setup, run.setup.settings
    outcome = deployed(setup, transcript) if outcome is None else outcome
    certificate = certificates.certify(transcript, delta=s.delta, choice=outcome.choice)
    people, read = shown_people(setup, transcript), _read(outcome, setup)
    folder.write_json("certificate.json", certificate.to_dict())
    folder.write(
        "certificate.txt",
        lambda path: path.write_text(_letter(certificate, people, read), encoding="utf-8"),
    )
    folder.write("policy.json", finished_policy(outcome, transcript, setup).save)
    _keep_models(run)
    parts = brought(setup, transcript)
    _explain_class(run, parts)
    trade_off = None if setup.asked else tradeoff(setup, transcript)
    result = {"finished": transcript.rounds == s.T} | summary(transcript, certificate, trade_off)
    result |= _decided(outcome, setup)
    drawable = importlib.util.find_spec("matplotlib") is not None
    if pictures and not drawable:
        result["notes"].append("No pictures and no report.html: they need matplotlib, pip install matplotlib.")
    elif pictures:
        for name, figure in _figures(run, transcript, certificate, trade_off):
            folder.write(f"figures/{name}.png", partial(figures.save, figure))
        again = f"likewise play --again {folder.path}"
        folder.write(
            "report.html",
            lambda path: page(path, setup, transcript, certificate, outcome, trade_off, parts, again=again),
        )
    folder.write_json("result.json", result)
    write_cards(folder)
    return result


def finished_policy(outcome: Deployed, t: Transcript, setup: Setup) -> FinishedPolicy:
    """What is deployed, with where it comes from."""
    learned = FinishedPolicy.from_transcript(t)
    name, encoder = None if outcome.choice is None else outcome.choice.recommended, setup.data.encoder
    policy = Mixture(setup.built.deployed, outcome.policy.weights)
    if name in CONSTANTS:
        # One answer for everybody needs no models and no cut-offs.
        F = Thresholds([()] * len(encoder.names), names=encoder.names)
        policy = Mixture(F, F.constant(CONSTANTS.index(name)))
    return FinishedPolicy(policy, encoder, learned.facts | {"chosen": name}, setup.scorers)


def _read(outcome: Deployed, setup: Setup) -> ReadPolicy:
    """What was learned, in the units of the file; one answer for everybody needs no reading."""
    policy = FinishedPolicy(Mixture(setup.built.deployed, outcome.learned.weights), setup.data.encoder)
    held_out = setup.data.people.iloc[setup.split.held_out]
    return ReadPolicy(policy, held_out if len(held_out) else None)


def _letter(certificate: Certificate, people: ShownPeople, read: ReadPolicy) -> str:
    """The letter, its appendix, and what the policy is made of."""
    about = which_policy(certificate.choice)
    made_of = "\n".join(filter(None, [about and textwrap.fill(about, WIDTH), rules_as_text(read)]))
    return "\n\n\n".join(filter(None, [str(certificate), certificate.appendix(people), made_of])) + "\n"


def _because(pair: UnfairPair, read: ReadPolicy, people: pd.DataFrame) -> str:
    return sets_apart(read, people.iloc[[pair.favoured, pair.disfavoured]])


def _decided(outcome: Deployed, setup: Setup) -> dict[str, Any]:
    """What was decided on whom, as plain JSON values."""
    choice, board = outcome.choice, outcome.scoreboard
    fit, play, held_out = setup.split.people
    return {
        "people": {"to_fit": fit, "to_play": play, "held_out": held_out},
        "headline": outcome.headline,
        "choice": None if choice is None else choice.to_dict(),
        "scoreboard": None if board is None else plain(board),
        "groups": None if outcome.groups is None else outcome.groups.to_dict(),
        "sensitive_columns": sensitive_columns(setup),
        "data": _data(setup),
        "class_holds": None if setup.built.suggestion is None else list(setup.built.suggestion.holds),
    }


def _data(setup: Setup) -> dict[str, Any]:
    """What is known of the people, for whoever reads the folder without the file."""
    data = setup.data
    return data.datasheet.to_dict() | {
        "described": data.described,
        "distance": data.distance_described,
        "columns": list(data.encoder.columns),
        "compare_by": list(data.compare_by),
        "sensitive": list(data.sensitive),
    }


def tradeoff(setup: Setup, transcript: Transcript, alphas: Sequence[float] | None = None) -> Frontier:
    """What fairness by the data set's distance costs on the people of a play, exactly."""
    alpha = setup.settings.alpha
    levels = [*np.linspace(0.0, min(1.0, 2 * alpha), LEVELS).tolist(), alpha] if alphas is None else alphas
    return hindsight.frontier(setup.measured(transcript), setup.data.metric, sorted(set(levels)))


def summary(t: Transcript, certificate: Certificate, trade_off: Frontier | None) -> dict[str, Any]:
    """The result of the run, in short."""
    people = max(1, int(np.isfinite(t.y).sum()))
    fair = None if trade_off is None else _at(trade_off, t.alpha)
    promised = certificate.fairness[0] if certificate.fairness and certificate.fairness[0].beta < 1 else None
    return {
        "rounds": t.rounds,
        "people_per_round": int(t.sizes.max()),
        "error_per_person": t.error_per_person,
        "best_fair_error_per_person": None if fair is None else fair.error / people,
        "best_error_per_person": t.unconstrained_error / people,
        "reports": certificate.reports,
        "violations": certificate.violations,
        "violations_in_the_last_quarter": certificate.late_violations,
        "reviews": None if certificate.reviews is None else certificate.reviews.to_dict(),
        "not_reviewed": int((~t.reviewed).sum()),
        "hypotheses": str(certificate.hypotheses),
        "fair_to_new_people": None if promised is None else {"alpha": promised.alpha, "beta": promised.beta},
        "error_on_new_people": certificate.error_on_new_people,
        "delta": certificate.delta,
        "notes": [],
    }


def _at(trade_off: Frontier, alpha: float) -> Hindsight | None:
    return next((point for point in trade_off.points if point.alpha == alpha), None)


def _keep_models(run: Run) -> None:
    """Fitted models beside the policy that needs them."""
    if models := run.setup.built.models:
        run.folder.write(MODELS, partial(save_models, models))


def brought(setup: Setup, transcript: Transcript) -> Contributions | None:
    """What each part of a suggested class brings to the best fair policy of this play, if its distance is known."""
    suggestion = setup.built.suggestion
    if suggestion is None or setup.asked:
        return None
    return contributions(setup.measured(transcript), suggestion, setup.data.metric, setup.settings.alpha)


def _explain_class(run: Run, parts: Contributions | None) -> None:
    """What a suggested class is made of, and what each part brings."""
    suggestion = run.setup.built.suggestion
    if suggestion is not None:
        text = textwrap.fill(NOT_KNOWN, WIDTH) if parts is None else str(parts)
        run.folder.write_text("class.txt", f"{suggestion.datasheet}\n\n{text}\n")


def _figures(
    run: Run, t: Transcript, certificate: Certificate, trade_off: Frontier | None
) -> Iterator[tuple[str, Figure]]:
    learner = run.setup.learner
    fair = None if trade_off is None else _at(trade_off, t.alpha)
    yield "violations-and-regret", figures.violations_and_regret(t, learner, hindsight=fair)
    yield "one-round", figures.one_round(t)
    distance = None if run.setup.asked else run.setup.data.metric
    yield "did-reports-help", figures.did_reports_help(t, learner, distance=distance)
    if trade_off is not None:
        points = figures.frontier_points(trade_off, t, run.setup.data.metric)
        yield "errors-and-violations", figures.plane({"this run": t}, points)
        yield "frontier", trade_off.plot()
    yield "certificate", figures.certificate_curve(certificate)


def page(
    path: Path,
    setup: Setup,
    t: Transcript,
    certificate: Certificate,
    outcome: Deployed,
    trade_off: Frontier | None,
    parts: Contributions | None,
    *,
    again: str = "",
) -> Path:
    """Write the report of a run, one page for somebody who doesn't know the paper."""
    data, s, read = setup.data, setup.settings, _read(outcome, setup)
    unfair = None if setup.asked else unfair_people(setup, outcome.learned)
    likeness = "" if setup.asked else f" {data.distance_described}"
    return write_report(
        path,
        t,
        learner=setup.learner,
        certificate=certificate,
        title=f"{data.name}: a run of {t.rounds:,} rounds",
        data=f"{data.described}{likeness}",
        compare_by=data.compare_by,
        parameters=s.to_dict(),
        frontier=trade_off,
        distance=None if setup.asked else data.metric,
        again="" if s.source == FRAME else again,
        people=shown_people(setup, t),
        unfair=unfair,
        scoreboard=outcome.scoreboard,
        groups=outcome.groups,
        sensitive=sensitive_columns(setup),
        split=str(setup.split),
        fitted_on=setup.split.people[0],
        read=read,
        because=() if unfair is None else [_because(pair, read, data.people) for pair in unfair.pairs],
        suggestion=setup.built.suggestion,
        brought=parts,
    )
