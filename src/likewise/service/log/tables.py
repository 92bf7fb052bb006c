"""The tables, as queries see them. Migrations make them; a test holds the two together."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, Index, MetaData, Table, Text

metadata = MetaData()

events = Table(
    "events",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("prev", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("at", Text, nullable=False),
    Column("round", BigInteger),
    Column("data", Text, nullable=False),
    Index("events_of_round", "stream", "round", "seq"),
    Index("events_of_kind", "stream", "kind", "seq"),
)
"""The log. Triggers refuse any change, any gap and any event that doesn't follow the one before."""

blocks = Table(
    "blocks",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("root", Text, nullable=False),
    Column("seal", Text, nullable=False),
)
"""Roots of the Merkle tree over 256 events each, sealed: a cache, which may be lost at any time."""

streams = Table(
    "streams",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("secret", Text, nullable=False),
)
"""The secret behind each stream's decisions, in hexadecimal digits; the log only commits to it."""

asides = Table(
    "asides",
    metadata,
    Column("ref", Text, primary_key=True),
    Column("stream", Text, nullable=False),
    Column("round", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("person", Text),
    Column("salt", Text, nullable=False),
    Column("content", Text, nullable=False),
    Index("asides_of_person", "stream", "person"),
    Index("asides_of_round", "stream", "round"),
)
"""People's features and auditors' words, which can be erased."""

responses = Table(
    "responses",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("request", Text, nullable=False),
    Column("response", Text),
    Column("stream", Text, nullable=False),
    Column("round", BigInteger),
    Column("at", Double, nullable=False),
    Column("seal", Text),
    Index("responses_of_round", "stream", "round"),
    Index("responses_by_age", "at"),
)
"""What was answered under an idempotency key, written together with the events; null once a person in it is erased.

``seal`` is of everything else in the row (``likewise.service.log.responses``), and null once the answer is erased."""

leases = Table(
    "leases",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("round", BigInteger, primary_key=True, autoincrement=False),
    Column("holder", Text, nullable=False),
    Column("until", Double, nullable=False),
)
"""Which auditor has which round in front of them, and until when."""

looks = Table(
    "looks",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("round", BigInteger, primary_key=True, autoincrement=False),
    Column("holder", Text, primary_key=True),
    Column("until", Double, nullable=False),
)
"""Who had which round in front of them, also after somebody else took it: verdicts of all of them are recorded."""

snapshots = Table(
    "snapshots",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
    Column("format", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
)
"""States along the log: a cache, which may be lost at any time."""

stretches = Table(
    "stretches",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("format", BigInteger, nullable=False),
    Column("seal", Text, nullable=False),
    Column("content", Text, nullable=False),
)
"""Rounds as arrays, some at a time, for certificates, and under -1 what was checked: a cache, which may be lost."""

visits = Table(
    "visits",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
    Column("seal", Text, nullable=False),
    Column("content", Text, nullable=False),
)
"""Who was in which round, a thousand rounds at a time, as keyed hashes: a cache, which may be lost at any time."""

places = Table(
    "places",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("hash", Text, nullable=False),
    Column("seal", Text, nullable=False),
    Column("content", Text, nullable=False),
)
"""Which round each event is about, a thousand events at a time: a cache, which may be lost at any time."""

tokens = Table(
    "tokens",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("streams", Text),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("revoked_at", Double),
)
"""Who may do what: SHA-256 of the token, role, streams as a JSON list (null for all), times in seconds."""

staff = Table(
    "staff",
    metadata,
    Column("alias", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("salt", Text, nullable=False),
)
"""Whom an alias in the log stands for, as long as that may be known."""

logins = Table(
    "logins",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("token", Text, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("used_at", Double),
)
"""One-time links: SHA-256 of the code, and of the token that it stands for."""

sessions = Table(
    "sessions",
    metadata,
    Column("name", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),
)
"""How often somebody logged out everywhere; a cookie holds the number it was made under."""

summaries = Table(
    "summaries",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("round", BigInteger, primary_key=True, autoincrement=False),
    Column("opened_at", Double, nullable=False),
    Column("people", BigInteger, nullable=False),
    Column("probabilities", Text, nullable=False),
    Column("labels", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("verdict", Text),
    Column("favoured", BigInteger),
    Column("disfavoured", BigInteger),
    Column("gap", Double),
    Column("labelled", BigInteger, nullable=False),
    Column("by_lot", Double, nullable=False),
    Column("error", Double),
    Column("learned", BigInteger),
    Column("delay", BigInteger),
    Column("waited", Double),
    Column("events", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Index("summaries_of_learned", "stream", "learned"),
)
"""One row for each round, computed from the log, for the pictures: a cache, which may be lost at any time.

``events`` counts the events about the round, and ``seq`` is the number of the last of them."""

sheets = Table(
    "sheets",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("level", BigInteger, primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),
)
"""A tree of hashes over the summaries of a stream; its root is in what is sealed under ``followed``."""

followed = Table(
    "followed",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("learned", BigInteger, nullable=False),
    Column("content", Text, nullable=False),
    Column("seal", Text, nullable=False),
)
"""How far the summaries of a stream have read its log, and the last policy that reported pairs were held against.

``content`` is what ``likewise.service.projections.kept`` says of all the rows, sealed with the service's key."""

samples = Table(
    "samples",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("learned", BigInteger, primary_key=True, autoincrement=False),
    Column("regret", Double),
    Column("proved", Double),
    Column("promised", Double),
    Column("violations", Double),
    Column("pairs", BigInteger),
    Column("closer", BigInteger),
    Column("within", BigInteger),
)
"""How things stood after some of the rounds: regret (null where reports are kept) and its limits, the limit of
violations that follows, and how many reported pairs there were, how many of them were closer than when they were
reported, and how many within α."""

gaps = Table(
    "gaps",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("learned", BigInteger, primary_key=True, autoincrement=False),
    Column("round", BigInteger, primary_key=True, autoincrement=False),
    Column("gap", Double, nullable=False),
)
"""How far apart the reported pair of a round was under the policy after some of the rounds; of the newest pairs."""

helped = Table(
    "helped",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("age", BigInteger, primary_key=True, autoincrement=False),
    Column("bin", BigInteger, primary_key=True, autoincrement=False),
    Column("pairs", BigInteger, nullable=False),
)
"""How many of all reported pairs had a gap in this bin, at this age: rounds since their report was learned."""

jobs = Table(
    "jobs",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("id", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("begun_at", Double, nullable=False),
    Column("heard_at", Double, nullable=False),
    Column("share", Double, nullable=False),
    Column("result", Text),
    Column("result_seq", BigInteger),
    Column("result_at", Double),
    Column("took", Double),
    Column("failed", Text),
)
"""Work that reads a whole log, done in the background: how far it is, and what the last one that finished found."""
