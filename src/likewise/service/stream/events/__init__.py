"""Events: facts of a stream, in the past tense, as they were. The log of them is the only truth.

One class for each kind, which says what stands in the log, what it does to the state, what it adds to the view and the
row of a round, and when it may follow: ``lifecycle`` (of the stream), ``rounds``, ``labels``, ``reviews`` (who looks),
``audits``, ``known`` (rounds shown again). What they share, and the table of kinds, stands in ``event``. A kind
is declared in its file and nowhere else: this one takes what each of them offers.
"""

from likewise.service.stream.events.audits import *  # noqa: F403
from likewise.service.stream.events.event import KINDS, Aside, Event, Promise, read_event, seconds, stamp
from likewise.service.stream.events.known import *  # noqa: F403
from likewise.service.stream.events.labels import *  # noqa: F403
from likewise.service.stream.events.lifecycle import *  # noqa: F403
from likewise.service.stream.events.reviews import *  # noqa: F403
from likewise.service.stream.events.rounds import *  # noqa: F403

__all__ = ["KINDS", "Aside", "Event", "Promise", "read_event", "seconds", "stamp"]
