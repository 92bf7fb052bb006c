"""``likewise play``: learn to decide about the people of a file, with a simulated reviewer or with you."""

from __future__ import annotations

import dataclasses
import re
import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from likewise.cli import options
from likewise.cli.findings import mending, print_findings
from likewise.cli.output import AsJson, groups_table, in_words_of, print_json, scoreboard_table, words
from likewise.errors import InvalidParameter

if TYPE_CHECKING:
    from rich.console import Console

    from likewise.datasets import Dataset
    from likewise.experiments.runs import Run, Settings
    from likewise.experiments.runs.setup import Setup
    from likewise.protocol import Auditor

EXAMPLES = """
Examples:

    likewise play people.csv --label approved --compare-by income,debt

    likewise play people.csv --label approved --positive yes --compare-by income,debt --drop name --ask

    likewise play adult --rounds 5000 --class models --learner weights

    likewise play people.csv --label repaid --compare-by income,debt --labels accepted

    likewise play people.csv --label approved --compare-by income,debt --models risk=models.zip

    likewise play adult --review-share 0.1

    likewise play --resume people-run

    likewise play --again people-run
"""
REVIEWER, FOLDER = "The reviewer", "The run's folder"


def play(
    context: typer.Context,
    source: Annotated[
        str | None,
        typer.Argument(help="A CSV, parquet or JSON-lines file, one person a row; or a built-in data set: adult, …"),
    ] = None,
    encoding: options.Encoding = "",
    label: options.Label = None,
    positive: options.Positive = None,
    compare_by: options.CompareBy = "",
    sensitive: options.Sensitive = "",
    drop: options.Drop = "",
    categories: options.Categories = "",
    units: options.Units = "",
    models: Annotated[
        str,
        typer.Option(
            rich_help_panel=options.PEOPLE,
            help="Columns that your own models fill: risk=models.zip, a file of lw.save_models, or risk=credit.onnx. "
            "Fit them on other people.",
        ),
    ] = "",
    id: options.Id = None,
    today: options.Today = None,
    split: options.SplitShares = options.DEFAULT_SPLIT,
    hypotheses: options.Class = "suggested",
    cuts: options.Cuts = None,
    small: options.Small = False,
    anchors: options.Anchors = "people",
    bins: options.Bins = 4,
    features: options.Features = "",
    rounds: options.Rounds = None,
    people: options.People = 6,
    alpha: options.Alpha = 0.1,
    seed: options.Seed = 0,
    learner: Annotated[
        str,
        typer.Option(
            rich_help_panel=options.PLAY,
            help="adahedge, hedge, weights or ftpl (the paper's), leader, unconstrained.",
        ),
    ] = "adahedge",
    penalty: Annotated[
        float | None,
        typer.Option(rich_help_panel=options.PLAY, help="What a report weighs (C); the learner's own by default."),
    ] = None,
    costs: Annotated[
        str, typer.Option(rich_help_panel=options.PLAY, help="What a wrong yes and a wrong no cost.")
    ] = "1,1",
    labels: Annotated[
        str,
        typer.Option(
            rich_help_panel=options.PLAY,
            help="all, or accepted: play as if the outcome of refused people stayed unknown, as a bank's would.",
        ),
    ] = "all",
    ask: Annotated[
        bool, typer.Option("--ask", rich_help_panel=REVIEWER, help="You are the reviewer, here in the terminal.")
    ] = False,
    show: Annotated[
        str, typer.Option(rich_help_panel=REVIEWER, help="With --ask: show these columns too, beside those to compare.")
    ] = "",
    margin: Annotated[
        float,
        typer.Option(
            min=0.0, rich_help_panel=REVIEWER, help="Point at pairs this much before they count as violations."
        ),
    ] = 0.0,
    choose: Annotated[
        str,
        typer.Option(rich_help_panel=REVIEWER, help="Which pair, if several: the worst, the first or a random one."),
    ] = "worst",
    misses: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, rich_help_panel=REVIEWER, help="The probability that a pair is overlooked."),
    ] = 0.0,
    false_reports: Annotated[
        float, typer.Option(min=0.0, max=1.0, rich_help_panel=REVIEWER, help="The probability that a pair is made up.")
    ] = 0.0,
    review_share: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            rich_help_panel=REVIEWER,
            help="Review this part of the rounds, drawn by lot; the certificate then speaks of all rounds.",
        ),
    ] = 1.0,
    delta: Annotated[
        float, typer.Option(rich_help_panel=options.PLAY, help="One minus the confidence of the certificate.")
    ] = 0.05,
    out: Annotated[
        Path | None, typer.Option(rich_help_panel=FOLDER, help="A new folder for the run; people-run for people.csv.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(rich_help_panel=FOLDER, help="Continue the run in this folder.")
    ] = None,
    again: Annotated[
        Path | None,
        typer.Option(rich_help_panel=FOLDER, help="Repeat the run in this folder, and check it bit for bit."),
    ] = None,
    pictures: Annotated[
        bool, typer.Option(rich_help_panel=FOLDER, help="Draw the figures and write report.html; takes some seconds.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Learn to decide about the people of a file, round by round, from a reviewer who points at unfair pairs.

    The reviewer is simulated (two people are alike if they are in the columns to compare by), or you, with `--ask`.
    Everything goes into a folder: the transcript, a certificate, the policy for `likewise score`, figures and
    `report.html`. Stop with Ctrl-C whenever you like; `--resume` continues, and the result is the same.

    Exit codes: 0 done, 1 the repeated run differs, 2 bad input, 130 stopped.
    """
    command = Command(words(as_json), as_json, pictures)
    if again is not None:
        options.refuse_changes(context, {"source", "again", "out", "pictures", "as_json"}, "--again")
        command.again(again, out, source)
    elif resume is not None:
        options.refuse_changes(context, {"source", "resume", "pictures", "as_json"}, "--resume")
        command.resume(resume, source)
    else:
        command.start(_settings(context.params), out)


def _settings(parameters: dict[str, Any]) -> Settings:
    if parameters["source"] is None:
        raise InvalidParameter(
            "`source` must be a file of people or a built-in data set, got nothing; try likewise play adult."
        )
    try:
        costs = tuple(float(cost) for cost in options.listed(parameters["costs"]))
    except ValueError:
        raise InvalidParameter(f"`costs` must be two numbers like 1,5, got {parameters['costs']!r}.") from None
    return options.settings_from(parameters | {"costs": costs}, parameters["source"])


@dataclasses.dataclass(frozen=True)
class Command:
    """The three ways to play, and what they say."""

    console: Console
    as_json: bool
    pictures: bool

    def start(self, settings: Settings, out: Path | None) -> None:
        """A new run."""
        from likewise.experiments.runs import Run

        path = options.free_folder(f"{Path(settings.source).stem}-run") if out is None else out
        with self._stoppable(path):
            with options.reading(self.console) as fitting:
                run = Run.start(settings, path, self._person(settings), fitting)
            self._introduce(run)
            self._show(run, self._finish(run))

    def resume(self, path: Path, source: str | None) -> None:
        """What is left of a run."""
        from likewise.experiments.runs import Run, RunFolder, changed_versions, stored_settings

        with self._stoppable(path):
            folder = RunFolder.open(path)
            for change in changed_versions(folder):
                self.console.print(f"[yellow]Changed since this run was started: {escape(change)}.[/]")
            with options.reading(self.console) as fitting:
                run = Run.resume(path, self._person(stored_settings(folder, source)), source, fitting)
            self._show(run, self._finish(run))

    def again(self, path: Path, out: Path | None, source: str | None) -> None:
        """A run once more, and whether it is the same."""
        from likewise.experiments.runs import Run, difference

        copy = options.free_folder(f"{path.resolve().name}-again") if out is None else out
        with self._stoppable(copy):
            with options.reading(self.console) as fitting:
                run = Run.again(path, copy, source, fitting)
            first = dataclasses.replace(run, folder=run.folder.open(path)).transcript()
            result = self._finish(run)
            second = run.transcript()
        differs = difference(first, second) if first is not None and second is not None else None
        self._show(run, result | {"identical": differs is None, "difference": differs and str(differs)})
        if differs is not None:
            self.console.print(f"[red]Not the same as {escape(str(path))}: {escape(str(differs))}.[/]")
            raise typer.Exit(1)
        self.console.print(f"Identical to {path}, bit for bit.", markup=False)

    def _finish(self, run: Run) -> dict[str, Any]:
        """Play what is left, write everything, and return the result."""
        from likewise.experiments.runs import write_outputs

        finished = self._play(run)
        if finished and run.folder.result_file.exists():
            result = run.folder.read_json("result.json")
            if result["finished"] and (not self.pictures or (run.folder.path / "report.html").exists()):
                return result
        transcript = run.transcript()
        if transcript is None:
            raise KeyboardInterrupt
        with self.console.status("Certificate, figures, report…"):
            return write_outputs(run, transcript, pictures=self.pictures)

    def _play(self, run: Run) -> bool:
        """Play to the end, or to where a person stops; Ctrl-C lets the part that is being played end first."""
        from likewise.experiments.runs import Stopped

        s = run.setup.settings
        if s.ask:
            try:
                return run.play()
            except Stopped:
                return False
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self.console) as bar:
            task = bar.add_task("Playing", total=s.T)
            # The bar says so, as printing from inside a signal could cut into a line that is being printed.
            pressed = partial(bar.update, task, description="Stopping when this part is on disk (Ctrl-C: at once)")
            with _asked_to_stop(pressed) as stop:
                if not run.play(stop=stop, progress=lambda played: bar.update(task, completed=played)):
                    raise KeyboardInterrupt
        return True

    def _person(self, settings: Settings) -> Auditor | None:
        """Whoever sits at the terminal, if they are to be asked."""
        from likewise.auditors import AskAuditor
        from likewise.experiments.runs import Stopped

        def ask(_: str) -> str:
            try:
                typed = self.console.input("Two treated too differently (like 1 4), Enter: none, s: skip, q: stop? ")
            except EOFError:
                raise Stopped("There is nobody left to ask.") from None
            if typed.strip().lower() in ("q", "quit"):
                raise Stopped("Enough for now.")
            return typed

        return AskAuditor(settings.alpha, settings.margin, ask=ask, console=self.console) if settings.ask else None

    @contextmanager
    def _stoppable(self, path: Path) -> Iterator[None]:
        """Ctrl-C ends with a sentence that says how to continue."""
        try:
            yield
        except KeyboardInterrupt:
            self._say_stopped(path)
            raise typer.Exit(130) from None

    def _say_stopped(self, path: Path) -> None:
        from likewise.experiments.runs import RunFolder

        started = (path / "settings.json").exists()
        rounds = RunFolder(path).rounds_kept() if started else 0
        resume = f"likewise play --resume {shlex.quote(str(path))}" if started else None
        if self.as_json:
            print_json({"folder": str(path), "finished": False, "rounds": rounds, "resume": resume})
        how = (
            f"{rounds:,} rounds are safe in {path}; continue with: {resume}"
            if started
            else "Nothing had been played yet."
        )
        self.console.print(f"\nStopped. {how}", markup=False, soft_wrap=True)

    def _introduce(self, run: Run) -> None:
        """Whose decisions these are, what makes them, and who looks on."""
        from likewise.experiments.runs import sensitive_columns

        data, s, F = run.setup.data, run.setup.settings, run.setup.hypotheses
        self.console.print(f"[bold]{escape(data.name)}.[/] {escape(data.described)}")
        for note in _notes(data) if s.sha256 else ():
            self.console.print(f"Note: {note}", markup=False)
        if s.sha256:
            self._look(s)
        self.console.print(f"{run.setup.split}{_if(run.setup)}.", highlight=False)
        size = f"{F.size:,}" if F.size < 10**9 else f"2^{F.size.bit_length() - 1}"
        self.console.print(
            f"{s.T:,} rounds of {s.k} people; policies are mixtures of {size} hypotheses ({s.hypotheses}), learner "
            f"{s.learner}, α = {s.alpha:g}, seed {s.seed}."
        )
        if sensitive := sensitive_columns(run.setup):
            self.console.print(sensitive, markup=False, highlight=False)
        if s.labels == "accepted":
            self.console.print(
                "Decisions are drawn, with one lot a round, and the learner never sees the label of a refused person."
            )
        if s.ask:
            self.console.print(
                "You are the reviewer. People come with the probability of a yes, highest first. Point at two who are "
                "alike in your eyes but are treated too differently; Enter if there are none.\n"
            )
        else:
            self.console.print(f"The simulated reviewer's measure: {escape(data.distance_described)}\n")

    def _look(self, s: Settings) -> None:
        """What a careful colleague would say about the file; what the notes say already is not said twice."""
        from likewise.datasets import read_people
        from likewise.datasets.doctor import examined, of_file

        people = read_people(s.source, encoding=s.encoding)
        names = ("label", "positive", "compare_by", "sensitive", "drop", "categories", "today")
        roles = {name: getattr(s, name) for name in names}
        findings = of_file(s.source, people, encoding=s.encoding) + examined(people, ids=s.id, **roles)
        done = {"--labels"} if s.labels == "accepted" else set()
        print_findings(self.console, [f for f in findings if not f.noted and f.option not in done])
        if command := mending(s.source, findings, s.encoding):
            self.console.print(f"To write a mended copy: {command}", markup=False, soft_wrap=True)

    def _show(self, run: Run, result: dict[str, Any]) -> None:
        """Show the result."""
        path = run.folder.path
        if self.as_json:
            print_json({"folder": str(path), **result})
            return
        self.console.print(f"{result['headline']}\n", markup=False, highlight=False)
        if result["scoreboard"] is not None:
            self.console.print(scoreboard_table(result["scoreboard"], self.console.width))
        if result.get("groups") is not None:
            self.console.print(groups_table(result["groups"], self.console.width))
        self.console.print(_table(result))
        for note in result["notes"]:
            self.console.print(f"[yellow]{escape(note)}[/]")
        report = path / "report.html"
        self.console.print(f"Folder: {path}", markup=False, soft_wrap=True)
        if report.exists():
            self.console.print(f"Read:   {report}", markup=False, soft_wrap=True)
        if not result["finished"]:
            how = f"likewise play --resume {shlex.quote(str(path))}"
            self.console.print(f"Stopped for now; continue with: {how}", markup=False, soft_wrap=True)


def _notes(data: Dataset) -> list[str]:
    """What is left out and why, columns with the same reason together."""
    alike: dict[str, list[str]] = {}
    for name, reason in data.encoder.left_out.items():
        alike.setdefault(re.split("[,;]", reason)[0], []).append(name)
    notes = []
    for problem in data.datasheet.problems:
        about = next((names for names in alike.values() for name in names if f"The column {name} is" in problem), [])
        if len(about) < 2:
            notes.append(in_words_of(problem, ["--categories"]))
    for reason, names in alike.items():
        if len(names) > 1:
            together = re.sub("^it holds", "they hold", re.sub("^it is", "they are", reason))
            notes.append(f"{len(names)} columns are not used, as {together}: {', '.join(names)}.")
    return notes


def _if(setup: Setup) -> str:
    """What the number of people takes for granted, where nobody named them."""
    if not setup.data.named:
        return ", if rows that are the same are one person"
    return ", if every row is another person" if setup.settings.sha256 and setup.settings.id is None else ""


def _table(result: dict[str, Any]) -> Table:
    """What happened in the play; how good the policy is, held-out people say."""
    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    reviews = result.get("reviews")
    if reviews is None:
        table.add_row("rounds with a violation", f"{result['violations']:,} of {result['rounds']:,}")
    else:
        table.add_row("rounds drawn for review", f"{reviews['drawn']:,} of {reviews['rounds']:,}")
        table.add_row("rounds cleared by arithmetic", f"{reviews['cleared']:,}")
        table.add_row("reviewed rounds with a violation", f"{result['violations']:,}")
    table.add_row("… in the last quarter", f"{result['violations_in_the_last_quarter']:,}")
    if reviews is not None:
        table.add_row("all rounds with one, by estimate", f"{reviews['estimate']:,.0f}")
        table.add_row(f"… at most, with {1 - result['delta']:.0%} confidence", f"{reviews['limit']:,}")
    return table


@contextmanager
def _asked_to_stop(say_so: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Whether somebody has pressed Ctrl-C; a second time stops at once."""
    pressed: list[int] = []

    def handle(number: int, _: Any) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)
        say_so()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)
