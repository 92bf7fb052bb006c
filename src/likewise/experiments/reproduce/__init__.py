"""The paper reproduced: nine experiments, their tables and figures, and one page that holds them all."""

from likewise.experiments.reproduce.run import EXPERIMENTS, Reproduction, reproduce

__all__ = ["EXPERIMENTS", "Reproduction", "reproduce"]
