"""What is a round, and what may become of it? Pure: no clock, no disk, no HTTP, no threads.

Read the files in this order: ``declared`` and ``settings`` (what is fixed about a stream), ``answers`` (what is
answered), ``learner`` (the class of hypotheses and the learner that the settings stand for), ``drawing`` (which rounds
are reviewed), ``counting`` (what all rounds come to), ``state`` (what the log says so far; ``plain_state`` as JSON),
``memory`` (what the rules remember), ``events`` (facts, and how each changes the state), ``commands`` (what somebody
asks), ``decide`` (the events that follow from a command, or a refusal), ``objections`` (whether an event may follow
those before it), ``readers`` (a round and a person, read from their events), ``status`` (counts, delay, regret and its
bounds), ``claims`` (what is said of all rounds, reviewed or not), ``transcript`` (the certificate).
"""
