"""The game: the loop that plays it, and the transcript that remembers it."""

from likewise.game.loop import play
from likewise.game.recorder import Recorder, learner_facts
from likewise.game.transcript import Transcript

__all__ = ["Recorder", "Transcript", "learner_facts", "play"]
