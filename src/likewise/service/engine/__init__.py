"""The engine: everything that can be asked of the service, in Python. Routes and pages only translate.

Every method answers with plain JSON values, or raises an error that knows its HTTP status
(``likewise.service.refusals.status_of``). What was asked is durable when a method returns. A file for each of those who
ask: ``for_deciders``, ``for_auditors``, ``for_administrators``, ``for_readers``; ``retention`` and ``upkeep`` for the
service itself.
"""

from likewise.service.engine.for_auditors import ForAuditors
from likewise.service.engine.for_deciders import ForDeciders
from likewise.service.engine.for_readers import ForReaders
from likewise.service.engine.retention import Retention
from likewise.service.engine.upkeep import Upkeep

__all__ = ["Engine"]


class Engine(ForDeciders, ForAuditors, Retention, ForReaders, Upkeep):
    """Streams behind a store.

    Parameters
    ----------
    store
        Where the logs are; migrated.
    signer
        Signs receipts and checkpoints.
    checkpoints, erasures
        The files that checkpoints and erasures go to, if any.
    clock
        Seconds since 1970.
    """
