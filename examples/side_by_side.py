"""Side by side with what people use today, measured on people whom no method has seen.

All methods learn from the same people and are measured on the same other people:

    one answer for all            the more common label: fair to every pair, and useless
    model, threshold              gradient boosting, which says yes from a probability of one half on
    model, probability            the same model, whose probability is the policy
    fairlearn, group parity       ExponentiatedGradient over the same type of model: equal rates of yes in two groups
    linear program, every pair    knows the distance itself: the least error of all mixtures of cut-offs that keep any
                                  two of many people within distance + α
    linear program, same rounds   the same, for any two people of a round that the next two methods play
    paper's weights               hears at most one reported pair a round, and never the distance
    AdaHedge                      our default, hears the same

The last four choose among the same hypotheses: six models' scores × cut-offs. A table of its own is for inFairness,
three settings of each method, on one split; it needs ``pip install inFairness==0.2.3 torch``:

    EXPLORE + GLIF                learns a metric from 1,000 answers, and smooths the model's answers among the near
    SenSeI                        a network that answers alike for people whom that metric calls near

    python examples/side_by_side.py                                                  made-up people, in seconds
    python examples/side_by_side.py --small                                          only a few, to see that it runs
    python examples/side_by_side.py --data adult,compas --repeats 3 --write docs/side_by_side.md        in minutes
    python examples/side_by_side.py --infairness --data adult --write docs/side_by_side.md              in minutes
"""

import argparse
import importlib.metadata
import importlib.util
import platform
import re
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fairlearn.reductions import DemographicParity, ExponentiatedGradient
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

import likewise as lw
from likewise.experiments.model_pool import model_pool

ALPHA, K, CUTS = 0.1, 6, 12
GROUP = {"Adult": "sex", "COMPAS": "race", "Synthetic": "group"}


class Size(NamedTuple):
    """How large an experiment is.

    Attributes
    ----------
    train, judged
        People to learn from, and others to measure on.
    warm_up
        How many of the first are used to fit the six models; the rest are in the rounds.
    program
        How many of the rest are in the linear program over every pair.
    rounds
        Rounds of six people, for the learners.
    steps
        The largest number of fairlearn's steps.
    """

    train: int
    judged: int
    warm_up: int
    program: int
    rounds: int
    steps: int


SIZES = {
    "Adult": Size(30_000, 5_000, 5_000, 2_000, 5_000, 50),
    "COMPAS": Size(4_000, 2_000, 1_500, 2_000, 5_000, 50),
    "Synthetic": Size(1_500, 800, 500, 400, 500, 5),
}
SMALL = Size(400, 200, 200, 60, 60, 1)


@dataclass
class People:
    """Some people: features, labels, what the reviewer compares by, and one of two groups (or −1)."""

    X: Any
    y: Any
    view: Any
    group: Any

    def __getitem__(self, which: Any) -> "People":
        return People(self.X[which], self.y[which], self.view[which], self.group[which])


def everybody(data: lw.datasets.Dataset) -> People:
    """Groups are the two largest of the sensitive column."""
    column = data.people[GROUP[data.name]]
    largest = column.value_counts().index[:2]
    group = np.where(column == largest[0], 0, np.where(column == largest[1], 1, -1))
    return People(data.features, data.y, data.view, group)


Policy = Callable[[Any], Any]
"""From features to probabilities."""


def booster(seed: int) -> HistGradientBoostingClassifier:
    """The model that people would use."""
    return HistGradientBoostingClassifier(max_iter=60, random_state=seed)


def methods(train: People, data: lw.datasets.Dataset, size: Size, seed: int) -> dict[str, Callable[[], Policy]]:
    """Each way to learn a policy, by its name in the table."""

    def constant() -> Policy:
        common = float(train.y.mean() > 0.5)
        return lambda X: np.full(len(X), common)

    def threshold() -> Policy:
        model = booster(seed).fit(train.X, train.y)
        return lambda X: model.predict(X)

    def probability() -> Policy:
        model = booster(seed).fit(train.X, train.y)
        return lambda X: model.predict_proba(X)[:, 1]

    def parity() -> Policy:
        fair = ExponentiatedGradient(booster(seed), DemographicParity(difference_bound=0.01), max_iter=size.steps)
        known = train[train.group >= 0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fairlearn's use of pandas
            fair.fit(known.X, known.y, sensitive_features=known.group)
        return lambda X: fair._pmf_predict(X)[:, 1]  # the probability of a yes; predict() draws from it

    warm, rest = train[: size.warm_up], train[size.warm_up :]

    def cut_offs() -> lw.Thresholds:
        return lw.Thresholds.scores([model.fit(warm.X, warm.y) for model in model_pool()], warm.X, cuts=CUTS)

    def program(rounds: lw.Stream | lw.IID, T: int) -> Policy:
        """The best fair policy in hindsight for some rounds; which learner played them doesn't matter."""
        deaf = lw.Unconstrained(cut_offs(), k=rounds.k, T=T)
        t = lw.play(deaf, rounds, lw.MetricAuditor(data.metric, ALPHA), T, seed=seed)
        return lw.best_in_hindsight(t, data.metric, ALPHA).policy.probability

    def heard(make: Callable[[lw.Thresholds], Any]) -> Policy:
        t = lw.play(make(cut_offs()), batches, lw.MetricAuditor(data.metric, ALPHA), size.rounds, seed=seed)
        return t.average_policy.probability

    some, batches = rest[: size.program], lw.IID(rest.X, rest.y, k=K, view=rest.view)
    return {
        "one answer for all": constant,
        "model, threshold": threshold,
        "model, probability": probability,
        "fairlearn, group parity": parity,
        "linear program, every pair": lambda: program(lw.Stream([(some.X, some.y, some.view)], k=size.program), 1),
        "linear program, same rounds": lambda: program(batches, size.rounds),
        "paper's weights": lambda: heard(lambda F: lw.ExponentialWeights(F, k=K, T=size.rounds)),
        "AdaHedge": lambda: heard(lambda F: lw.AdaHedge(F, k=K, T=size.rounds, alpha=ALPHA)),
    }


# inFairness -------------------------------------------------------------------------------------------------------

INSTALLED = importlib.util.find_spec("inFairness") is not None
MISSING = "inFairness is not installed: pip install inFairness==0.2.3 torch."
ANSWERS, COMPARABLE = 1000, 0.5
"""How many pairs a person is asked about, and up to which distance they call the two comparable."""
SMOOTHING, INVARIANCE = (10.0, 50.0, 250.0), (0.1, 1.0, 10.0)
"""Three settings: how much GLIF smooths, times the number of people, and how much SenSeI minds different answers."""
Told = tuple[Policy, str]
"""A policy, and what was told to learn it."""


def rivals(train: People, data: lw.datasets.Dataset, size: Size, seed: int) -> dict[str, Callable[[], Told]]:
    """Both methods of inFairness at three settings, beside the same model without them and beside our default."""
    simple, answered = methods(train, data, size, seed), Answered.about(train, data, size, seed)

    def from_labels(name: str) -> Told:
        return simple[name](), "labels"

    def smoothed(strength: float) -> Told:
        model = booster(seed).fit(train.X, train.y)
        return Smoothed(model, answered.explored(train.view), strength), answered.said

    def sensei(strength: float) -> Told:
        metric = answered.explored(train.X)
        return _sensei(train, metric, strength, size, seed), f"labels; {len(answered.answers):,} answers about pairs"

    return {
        **{name: lambda name=name: from_labels(name) for name in ("one answer for all", "model, probability")},
        **{f"EXPLORE + GLIF, strength {s:g}": lambda s=s: smoothed(s) for s in SMOOTHING},
        **{f"SenSeI, ρ = {s:g}": lambda s=s: sensei(s) for s in INVARIANCE},
        "AdaHedge, six models": lambda: _audited(train, data, size, seed, _six_models),
        "AdaHedge, suggested class": lambda: _audited(train, data, size, seed, _suggested),
    }


def _six_models(warm: People) -> lw.Thresholds:
    fitted = [model.fit(warm.X, warm.y) for model in model_pool()]
    return lw.Thresholds.scores(fitted, warm.X, cuts=CUTS)


def _suggested(warm: People) -> lw.Thresholds:
    return lw.classes.suggest_scores(warm.X, warm.y, warm.view, jobs=1).hypotheses


def _audited(train: People, data: lw.datasets.Dataset, size: Size, seed: int, build: Callable[..., Any]) -> Told:
    """Our default, which hears at most one pair a round."""
    warm, rest = train[: size.warm_up], train[size.warm_up :]
    both = build is _suggested  # such a class also takes what people are compared by
    people = lw.IID(_columns(rest, both), rest.y, k=K, view=rest.view)
    learner = lw.AdaHedge(build(warm), k=K, T=size.rounds, alpha=ALPHA)
    t = lw.play(learner, people, lw.MetricAuditor(data.metric, ALPHA), size.rounds, seed=seed)
    told = "labels, columns to compare by" if both else "labels"
    said = f"{told}; {int(t.reported.sum()):,} pairs reported in {size.rounds:,} rounds"
    return Average(t.average_policy.probability, both), said


def _columns(people: People, both: bool) -> Any:
    return lw.classes.stacked(people.X, people.view) if both else people.X


@dataclass
class Average:
    """A policy of features, or of features and what people are compared by."""

    probability: Policy
    both: bool
    whole = True

    def __call__(self, people: People) -> Any:
        """What each of these people gets."""
        return self.probability(_columns(people, self.both))


@dataclass
class Answered:
    """Random pairs, and a person's answers about them: comparable or not."""

    one: Any
    other: Any
    answers: Any
    seed: int

    @classmethod
    def about(cls, train: People, data: lw.datasets.Dataset, size: Size, seed: int) -> "Answered":
        """Whoever is within ``COMPARABLE`` of another is comparable."""
        one, other = np.random.default_rng(seed).integers(len(train.y), size=(2, min(ANSWERS, 2 * size.train)))
        measure = lw.auditors.named_metric(data.metric) if isinstance(data.metric, str) else data.metric
        both = zip(train.view[one], train.view[other], strict=True)
        near = [measure(np.array(pair))[0, 1] <= COMPARABLE for pair in both]
        return cls(one, other, np.array(near, dtype=float), seed)

    @property
    def said(self) -> str:
        """How much a person had to answer."""
        return f"labels, columns to compare by; {len(self.answers):,} answers about pairs"

    def explored(self, columns: Any) -> Any:
        """The metric on these columns that EXPLORE learns from the answers."""
        import torch
        from inFairness.distances import EXPLOREDistance

        torch.set_num_threads(1)
        check_random_state(None).seed(self.seed)  # EXPLORE draws from NumPy's global generator
        distance = EXPLOREDistance()
        parts = (_tensor(part) for part in (columns[self.one], columns[self.other], self.answers))
        distance.fit(*parts, iters=1000, batchsize=100)
        return distance


def _tensor(values: Any) -> Any:
    import torch

    return torch.tensor(np.asarray(values), dtype=torch.float32)


@dataclass
class Smoothed:
    """GLIF: smooths a model's answers over a graph of the people themselves, so it needs all of them at once."""

    model: Any
    distance: Any
    strength: float
    whole = True

    def __call__(self, people: People) -> Any:
        """What each of these people gets, together."""
        from inFairness.postprocessing import GraphLaplacianIF

        chances = np.clip(self.model.predict_proba(people.X), 1e-4, 1 - 1e-4)
        graph = GraphLaplacianIF(self.distance, is_output_probas=True)
        graph.add_datapoints(_tensor(people.view), _tensor(chances))
        weight = self.strength / len(people.y)
        return graph.postprocess("exact", weight, scale=5.0, threshold=100.0).y_solution.numpy()[:, 1]


def _sensei(train: People, distance: Any, strength: float, size: Size, seed: int) -> Policy:
    """A small network, trained against its own worst answers for people near by."""
    import torch
    from inFairness.distances import SquaredEuclideanDistance
    from inFairness.fairalgo import SenSeI

    torch.manual_seed(seed)
    network = torch.nn.Sequential(torch.nn.Linear(train.X.shape[1], 50), torch.nn.ReLU(), torch.nn.Linear(50, 2))
    answers = SquaredEuclideanDistance()
    answers.fit(num_dims=2)
    fair = SenSeI(network, distance, answers, torch.nn.functional.cross_entropy, rho=strength, eps=0.1,
                  auditor_nsteps=5, auditor_lr=0.01)  # fmt: skip
    fair.train()
    optimiser, rng = torch.optim.Adam(network.parameters(), lr=1e-3), np.random.default_rng(seed)
    for _ in range(min(600, 2 * size.rounds)):
        some = rng.integers(len(train.y), size=100)
        optimiser.zero_grad()
        fair(_tensor(train.X[some]), torch.tensor(train.y[some], dtype=torch.long)).loss.backward()
        optimiser.step()
    return lambda X: torch.softmax(network(_tensor(X)), 1)[:, 1].detach().numpy()


# Judging ----------------------------------------------------------------------------------------------------------

COLUMNS = ("error", "unfair pairs", "parity gap", "odds gap", "seconds")


class Fixed(NamedTuple):
    """Probabilities that are already known, as a policy."""

    chances: Any

    def probability(self, X: Any) -> Any:
        """Whoever is asked about."""
        return self.chances


def given(policy: Policy, people: People) -> Any:
    """What a policy gives these people."""
    return np.asarray(policy(people if getattr(policy, "whole", False) else people.X), dtype=float)


def judged(policy: Policy, people: People, data: lw.datasets.Dataset) -> dict[str, float]:
    """What a policy does to people whom it did not learn from."""
    chances = given(policy, people)
    pairs = lw.evaluate_fairness(Fixed(chances), people.X, data.metric, ALPHA, view=people.view)
    shares = {(g, y): chances[(people.group == g) & (people.y == y)].mean() for g in (0, 1) for y in (0, 1)}
    whole = [chances[people.group == g].mean() for g in (0, 1)]
    return {
        "error": float(np.abs(people.y - chances).mean()),
        "unfair pairs": pairs.share,
        "parity gap": float(abs(whole[0] - whole[1])),
        "odds gap": float(max(abs(shares[0, y] - shares[1, y]) for y in (0, 1))),
    }


Table = dict[str, dict[str, list[float]]]


def parted(data: lw.datasets.Dataset, size: Size, seed: int) -> tuple[People, People]:
    """People to learn from, and others to measure on."""
    people, order = everybody(data), np.random.default_rng(seed).permutation(len(data))
    return people[order[: size.train]], people[order[size.train :][: size.judged]]


def measured(data: lw.datasets.Dataset, size: Size, repeats: int) -> Table:
    """Every method on the same splits: its numbers, one for each split."""
    table: Table = {}
    for seed in range(repeats):
        train, held_out = parted(data, size, seed)
        for name, learn in methods(train, data, size, seed).items():
            started = time.process_time()
            policy = learn()
            seconds = time.process_time() - started
            for column, value in (judged(policy, held_out, data) | {"seconds": seconds}).items():
                table.setdefault(name, {}).setdefault(column, []).append(value)
    return table


def mean(values: list[float]) -> tuple[float, float]:
    """The mean and its standard error."""
    spread = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return statistics.fmean(values), spread


def cell(column: str, values: list[float]) -> str:
    """A mean and its standard error, as the table shows them."""
    value, spread = mean(values)
    scale, digits = (100, 2) if column == "unfair pairs" else (1, 1 if column == "seconds" else 3)
    both = [value] if len(values) == 1 else [value, spread]
    return " ± ".join(f"{scale * number:.{digits}f}" for number in both) + (" %" if scale == 100 else "")


def written(table: Table) -> list[str]:
    """The table in Markdown."""
    lines = ["| | " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * len(COLUMNS)]
    for name, columns in table.items():
        lines.append(f"| {name} | " + " | ".join(cell(column, columns[column]) for column in COLUMNS) + " |")
    return lines


def lost(table: Table, ours: str = "AdaHedge") -> list[str]:
    """Who has less of each column than our default, by more than two standard errors of the difference."""
    sentences = []
    for column in COLUMNS:
        own, better = table[ours][column], []
        for name, columns in table.items():
            gap, spread = mean([a - b for a, b in zip(own, columns[column], strict=True)])
            if gap > 2 * spread and cell(column, own[:1]) != cell(column, columns[column][:1]):
                better.append((gap, f"{name} ({cell(column, [mean(columns[column])[0]])})"))
        who = "; ".join(said for _, said in sorted(better, reverse=True))
        start = f"* **{column}**, {cell(column, [mean(own)[0]])} for {ours}: "
        sentences.append(start + (f"less for {who}." if who else "nobody has less."))
    return sentences


def said(name: str, size: Size, repeats: int) -> str:
    """What was measured."""
    over = f"{repeats} random splits; means ± standard errors" if repeats > 1 else "one random split"
    return (
        f"{size.train:,} people to learn from ({size.warm_up:,} of them for the six models) and {size.judged:,} others "
        f"to measure on; {size.rounds:,} rounds of {K} people; {size.program:,} people in the program over every "
        f"pair; groups by {GROUP[name]}; {over}."
    )


def beside_infairness(data: lw.datasets.Dataset, size: Size, seed: int = 0) -> list[str]:
    """One line for each rival on one split: error, unfair pairs with their interval, what it was told, and seconds."""
    train, held_out = parted(data, size, seed)
    lines = ["| | error | unfair pairs (95 % interval) | told | seconds |", "|---|---:|---:|---|---:|"]
    for name, learn in rivals(train, data, size, seed).items():
        started = time.process_time()
        policy, told = learn()
        chances = given(policy, held_out)
        seconds = time.process_time() - started  # with deciding, as GLIF does its work there
        pairs = lw.evaluate_fairness(Fixed(chances), held_out.X, data.metric, ALPHA, view=held_out.view)
        between = f"{pairs.share:.2%} ({pairs.lower:.2%} to {pairs.upper:.2%})".replace("%", " %")
        error = float(np.abs(held_out.y - chances).mean())
        lines.append(f"| {name} | {error:.3f} | {between} | {told} | {seconds:.1f} |")
    return lines


MEASURED = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.DOTALL)
BESIDE = re.compile(r"(<!-- infairness -->\n).*?(<!-- end -->)", re.DOTALL)


def one_section(data: lw.datasets.Dataset, size: Size, asked: argparse.Namespace) -> list[str]:
    """What was measured on this data set."""
    # One thread for every method, and only its own time: a busy machine must not change the table.
    with threadpool_limits(1):
        if asked.infairness:
            return [
                f"{data.name}: {size.train:,} people to learn from ({size.warm_up:,} of them for the classes) and "
                f"{size.judged:,} others to measure on, one random split; {size.rounds:,} rounds of {K} people.",
                "", *beside_infairness(data, size), "",
            ]  # fmt: skip
        table = measured(data, size, asked.repeats)
    return [f"### {data.name}", "", said(data.name, size, asked.repeats), "", *written(table), "",
            "AdaHedge beside the others, where the difference is more than two of its standard errors:", "",
            *lost(table), ""]  # fmt: skip


def write(page: list[str], path: Path, part: re.Pattern[str]) -> None:
    """Replace one part of a page."""
    text = path.read_text(encoding="utf-8")
    new, count = part.subn(lambda found: found[1] + "\n".join(["", *page, "", ""]) + found[2], text)
    assert count == 1, f"{path} must hold one measured part"
    path.write_text(new, encoding="utf-8")


def main() -> None:
    """Measure, print, and write the page if asked."""
    options = argparse.ArgumentParser(description="Eight ways to decide, side by side; or inFairness beside ours.")
    options.add_argument("--data", default="synthetic", help="adult,compas or synthetic")
    options.add_argument("--repeats", type=int, default=1, help="splits to average over")
    options.add_argument("--small", action="store_true", help="few people and rounds, only to see it run")
    options.add_argument("--infairness", action="store_true", help="the table with inFairness, on one split")
    options.add_argument("--write", type=Path, help="a page whose measured part is replaced")
    asked = options.parse_args()
    if asked.infairness and not INSTALLED:
        raise SystemExit(MISSING)
    page: list[str] = []
    for name in asked.data.split(","):
        data = lw.datasets.synthetic(3000) if name == "synthetic" else lw.datasets.load(name)
        page += one_section(data, SMALL if asked.small else SIZES[data.name], asked)
    names = ["likewise", "scikit-learn", "numpy", *(["inFairness", "torch"] if asked.infairness else ["fairlearn"])]
    packages = [f"{name} {importlib.metadata.version(name)}" for name in names]
    page += [f"Measured with {', '.join(packages)}, Python {platform.python_version()}, one thread, α = {ALPHA}."]
    print("\n".join(page))
    if asked.write:
        write(page, asked.write, BESIDE if asked.infairness else MEASURED)


if __name__ == "__main__":
    main()
