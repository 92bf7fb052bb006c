"""A run that is over, as one object: the play, what it came to, and the policy at work on new people.

``likewise.fit`` makes one from a dataframe, ``likewise.load_run`` opens one from the folder of ``likewise play`` or of
``save``. What needs the people themselves (a report, reasons without people to compare with) needs the first kind: a
folder doesn't hold them.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.certificates import Certificate, Choice, certify
from likewise.displays import short, text_html
from likewise.errors import InvalidParameter, ModelMismatch, NotSupported
from likewise.experiments.runs.deployed import Deployed
from likewise.experiments.runs.folder import RunFolder
from likewise.experiments.runs.outputs import brought, page, tradeoff, write_outputs
from likewise.experiments.runs.run import Run, class_digest, noted
from likewise.experiments.runs.settings import Settings
from likewise.experiments.runs.setup import Setup
from likewise.game import Transcript
from likewise.hypotheses import EnumerableClass, Thresholds, open_models, save_models
from likewise.policies import Mixture
from likewise.protocol import Floats
from likewise.reading import Reasons
from likewise.scoreboard import Groups, Scoreboard
from likewise.scoring import FinishedPolicy, models_beside
from likewise.scoring.scored_columns import SCORERS
from likewise.storage import whole_file
from likewise.wording import plural

if TYPE_CHECKING:
    from likewise.datasets.doctor import Finding

COMPARED = 100
"""People whom reasons are counted against, at most."""


@dataclass(frozen=True, eq=False, repr=False)
class FinishedRun:
    """What a run came to.

    Attributes
    ----------
    settings
        Every parameter of it.
    transcript
        Everything that was seen in the play.
    policy
        What is deployed, with how to read people: chosen on people who were held out.
    hypotheses
        The class that policies are mixtures of, with its models, over encoded people.
    headline
        What was chosen, and why.
    choice, scoreboard
        What held-out people prove, and the table of policies; None if nobody was held out.
    groups
        How groups fare among them, for each sensitive column; None if there is none.
    findings
        What a careful colleague would say about the dataframe; None of a run from a folder.
    setup, outcome
        The roles of the play with all people in them, and what was deployed; None of a run from a folder.
    folder
        Where it was loaded from, if it was.
    """

    settings: Settings
    transcript: Transcript
    policy: FinishedPolicy
    hypotheses: EnumerableClass
    headline: str
    choice: Choice | None
    scoreboard: Scoreboard | None
    groups: Groups | None = None
    findings: tuple[Finding, ...] | None = None
    setup: Setup | None = None
    outcome: Deployed | None = None
    folder: Path | None = None

    @cached_property
    def certificate(self) -> Certificate:
        """What is proved of the play and of what is deployed, with the assumptions; ``print`` it."""
        return certify(self.transcript, delta=self.settings.delta, choice=self.choice)

    @property
    def learned(self) -> FinishedPolicy:
        """The average policy of all rounds, whatever was chosen: the one that theorems on a play are about."""
        weights = self.transcript.average_policy.mixture().weights
        policy = self.policy
        return FinishedPolicy(Mixture(self.hypotheses, weights), policy.encoder, policy.facts, policy.scorers)

    # The policy at work -----------------------------------------------------------------------------------------

    def probability(self, X: Any) -> Floats:
        """π of each person, given as a dataframe like the one that was fitted."""
        return self.policy.probability(X)

    def predict_proba(self, X: Any) -> Floats:
        """(people, 2): the probabilities of 0 and of 1."""
        return np.asarray(self.policy.classifier().predict_proba(X))

    def decide(self, X: Any, ids: Sequence[Any], secret: bytes) -> NDArray[np.bool_]:
        """One stable decision per person, drawn with their probability: asking again changes nothing."""
        return self.policy.decide(X, ids, secret)

    def reasons(self, X: Any, *, compared_with: Any = None) -> Reasons:
        """Why people have their probabilities, by column; the amounts add up.

        Compared with ``compared_with``: by default some of the people who were held out, where a policy on models'
        scores needs somebody to compare with.
        """
        if compared_with is None and self.policy.reading().on_scores:
            compared_with = self._some_held_out()
        return self.policy.reasons(X, compared_with=compared_with)

    def _some_held_out(self) -> Any:
        if self.setup is None:
            raise InvalidParameter(
                "`compared_with` must be people to compare with, got None: the folder of a run holds nobody."
            )
        rows = self.setup.split.held_out if len(self.setup.split.held_out) else self.setup.split.play
        chosen = np.random.default_rng(self.settings.seed).permutation(rows)[:COMPARED]
        return self.setup.data.people.iloc[np.sort(chosen)]

    # On disk ------------------------------------------------------------------------------------------------------

    def report(self, path: str | Path = "report.html") -> Path:
        """Write one page about the run, with its pictures inside, for somebody who doesn't know the paper."""
        path = Path(path)
        if self.setup is not None and self.outcome is not None:
            trade_off = None if self.setup.asked else tradeoff(self.setup, self.transcript)
            parts = brought(self.setup, self.transcript)
            with whole_file(path) as draft:
                page(draft, self.setup, self.transcript, self.certificate, self.outcome, trade_off, parts)
            return path
        written = None if self.folder is None else self.folder / "report.html"
        if written is None or not written.exists():
            raise NotSupported("This run holds no report, and can't write one without its people.")
        return Path(shutil.copyfile(written, path))

    def save(self, folder: str | Path, *, pictures: bool = False, models: bool = True) -> Path:
        """Write everything but the people to a new folder, as ``likewise play`` does; ``load_run`` opens it.

        The transcript does hold who came in which round: their labels, scores and the columns they are compared by.
        ``pictures`` also draws the figures and writes report.html. ``models=False`` leaves out your own models, for
        those that no file can hold, like a function: give them to ``load_run`` again.
        """
        folder = Path(folder)
        if self.setup is None and self.folder is not None:
            RunFolder.require_new(folder, "folder")
            shutil.copytree(self.folder, folder, dirs_exist_ok=True)
            return folder
        assert self.setup is not None
        kept = RunFolder.create(folder, "folder")
        if self.setup.scorers is not None and models:  # first: if one can't be kept, nothing is half-done
            kept.write(SCORERS, partial(_save_scorers, list(self.setup.scorers.models.values())))
        kept.write_json("settings.json", noted(self.setup))
        kept.keep_whole(self.transcript)
        run = Run(kept, self.setup, self.setup.simulated())
        write_outputs(run, self.transcript, pictures=pictures, outcome=self.outcome)
        return folder

    def __repr__(self) -> str:
        chosen = "nobody was held out" if self.choice is None else f"deploys {self.choice.recommended}"
        return short("FinishedRun", plural(self.transcript.rounds, "round"), chosen)

    def _repr_html_(self) -> str:
        board = "" if self.scoreboard is None else self.scoreboard._repr_html_()
        return f"{text_html(self.headline)}{board}"

    def __str__(self) -> str:
        return "\n\n".join(filter(None, [self.headline, "" if self.scoreboard is None else str(self.scoreboard)]))


def _save_scorers(models: list[Any], path: Path) -> None:
    try:
        save_models(models, path)
    except NotSupported as error:
        how = "Or save(folder, models=False), and load_run(folder, models={…}) with all of them by name"
        raise NotSupported(f"{error} {how}.") from None


def load_run(folder: str | Path, *, models: Mapping[str, Any] | None = None) -> FinishedRun:
    """Everything of a run that has finished, from its folder: ``likewise play`` makes such folders, ``save`` too.

    The models are checked against what the run was started with, and the policy against its own fingerprint. ``models``
    are your own, by the names of their columns, if ``save`` left them out.

    Examples
    --------
    >>> import tempfile, likewise as lw
    >>> run = lw.fit(lw.datasets.synthetic(400), rounds=20, hypotheses="thresholds")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = lw.load_run(run.save(f"{folder}/run"))
    >>> bool((again.transcript.shown == run.transcript.shown).all())
    True
    """
    opened = RunFolder.open(Path(folder))
    if not (opened.transcript_file.exists() and opened.result_file.exists()):
        raise InvalidParameter(
            f"`folder` must hold a run that has finished, got {folder}; likewise play --resume {folder} continues it."
        )
    notes, result = opened.read_json("settings.json"), opened.read_json("result.json")
    transcript, file = Transcript.load(opened.transcript_file), opened.path / "policy.json"
    fitted = open_models(models_beside(file))
    choice, board, groups = result["choice"], result["scoreboard"], result.get("groups")
    return FinishedRun(
        settings=Settings.from_dict(notes["settings"]),
        transcript=transcript,
        policy=FinishedPolicy.load(file, fitted, models),
        hypotheses=_class(transcript.hypotheses, fitted, notes["class"]["sha256"]),
        headline=result["headline"],
        choice=None if choice is None else Choice.from_dict(choice),
        scoreboard=None if board is None else Scoreboard.from_dict(board),
        groups=None if groups is None else Groups.from_dict(groups),
        folder=opened.path,
    )


def _class(played: Any, models: list[Any], digest: str) -> EnumerableClass:
    """The class of the play over encoded people: the transcript's, on the scores of its models if it has some."""
    F: EnumerableClass = Thresholds(played.cuts, names=played.names, models=models) if models else played
    if class_digest(F) != digest:
        raise ModelMismatch("`folder` must hold the class and the models that the run was started with, got others.")
    return F
