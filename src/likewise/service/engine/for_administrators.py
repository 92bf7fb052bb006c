"""What administrators ask of the engine: other settings, a stop, another key, an erasure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from likewise.service.asides import reason_aside
from likewise.service.engine.core import A, EngineCore, Reply
from likewise.service.live.stream import LiveStream, Outcome, Task
from likewise.service.live.verified import UNREAD, Remarks
from likewise.service.log import Idempotency
from likewise.service.log.signing import Signer
from likewise.service.stream import answers, commands
from likewise.service.stream.events import Aside, PersonErased
from likewise.service.stream.state import State


class ForAdministrators(EngineCore):
    """Changes how a stream works, stops it, and erases people."""

    def change_waits(
        self, stream: str, changes: Mapping[str, Any], by: str, key: Idempotency | None = None
    ) -> answers.WaitsChanged:
        """Change how long rounds wait and what happens then."""

        def reply(outcome: Outcome) -> answers.WaitsChanged:
            return {"stream": stream, "waits": outcome.after.waits.model_dump(), "receipt": None}

        return self._do(self.streams.get(stream), lambda state: commands.ChangeWaits(changes, by), reply, key)

    def change_plan(
        self, stream: str, changes: Mapping[str, Any], by: str, key: Idempotency | None = None
    ) -> answers.PlanChanged:
        """Change which rounds are reviewed, from the next one on."""

        def reply(outcome: Outcome) -> answers.PlanChanged:
            plan = outcome.after.stream.settings.review
            return {"stream": stream, "review": plan.model_dump(), "receipt": None}

        return self._do(self.streams.get(stream), lambda state: commands.ChangePlan(changes, by), reply, key)

    def brief(self, stream: str) -> answers.BriefTold:
        """What reviewers are told before they judge."""
        state = self.streams.get(stream).current()
        return {"stream": stream, "version": state.brief_version, "brief": state.brief.model_dump(mode="json")}

    def change_brief(
        self, stream: str, brief: Mapping[str, Any], by: str, key: Idempotency | None = None
    ) -> answers.BriefChanged:
        """Tell reviewers something else from now on. It stays in the log for good: it must name nobody."""

        def reply(outcome: Outcome) -> answers.BriefChanged:
            after, told = outcome.after, outcome.after.brief.model_dump(mode="json")
            return {"stream": stream, "version": after.brief_version, "brief": told, "receipt": None}

        return self._do(self.streams.get(stream), lambda state: commands.ChangeBrief(brief, by), reply, key)

    def rotate_key(self, stream: str, new: Signer, by: str) -> None:
        """Sign a log with another key from now on, which this one signs; nothing if that was done before."""
        live, old = self.streams.get(stream), self.signer
        if live.current().key == new.public_key:
            return
        note = old.sign(f"likewise key 1\n{old.origin(stream)}\n{new.public_key}\n", stream)
        rotate = commands.RotateKey(old.public_key, new.public_key, str(note), by)
        live.do(Task(lambda state: rotate, lambda outcome: {}), self.clock())

    def stop(self, stream: str, reason: str, by: str, key: Idempotency | None = None) -> answers.StreamStopped:
        """Stop all decisions at once."""
        live, why = self.streams.get(stream), reason_aside(reason)

        def reply(outcome: Outcome) -> answers.StreamStopped:
            return {"stream": stream, "stopped": why.content["reason"], "receipt": None}

        return self._do(live, lambda state: commands.Stop(why, by), reply, key)

    def erase_reasons(self, stream: str, by: str, key: Idempotency | None = None) -> answers.ReasonsErased:
        """Erase the reasons of all stops so far; that there were stops stays in the log."""

        def reply(outcome: Outcome) -> answers.ReasonsErased:
            gone = outcome.sealed[-1].event
            return {"stream": stream, "erased": len(gone.erased) if isinstance(gone, PersonErased) else 0,
                    "receipt": None}  # fmt: skip

        live = self.streams.get(stream)
        return self._erase(live, lambda: self.reads.reasons(live), by, key, reply)

    def resume(self, stream: str, by: str, key: Idempotency | None = None) -> answers.StreamStopped:
        """Decide again."""

        def reply(outcome: Outcome) -> answers.StreamStopped:
            return {"stream": stream, "stopped": None, "receipt": None}

        return self._do(self.streams.get(stream), lambda state: commands.Resume(by), reply, key)

    def erase(self, stream: str, person: str, by: str, key: Idempotency | None = None) -> answers.PersonErased:
        """Erase a person. Their features, id and every remark about their rounds are gone."""
        live = self.streams.get(stream)
        return self._erase_person(live, lambda: self.reads.asides_of(live, [person]), by, key)

    def erase_again(self, stream: str, refs: Sequence[str], by: str) -> int:
        """Erase what is there under references that were erased elsewhere; how many were there."""
        live, kept = self.streams.get(stream), list(self.store.asides_of(refs, stream))
        self.reads.require_filed(live, kept)
        if kept:
            self._erase_person(live, lambda: kept, by)
        return len(kept)

    def _erase_person(
        self,
        live: LiveStream,
        find: Callable[[], list[Aside]],
        by: str,
        key: Idempotency | None = None,
        said: Remarks = UNREAD,
    ) -> answers.PersonErased:
        def reply(outcome: Outcome) -> answers.PersonErased:
            return {"stream": live.name, "rounds": list(outcome.sealed[-1].event.touches), "receipt": None}

        return self._erase(live, find, by, key, reply, said)

    def _erase(
        self,
        live: LiveStream,
        find: Callable[[], list[Aside]],
        by: str,
        key: Idempotency | None,
        reply: Reply[A],
        said: Remarks = UNREAD,
    ) -> A:
        # What has to be read for it is read before others have to wait.
        known = self.reads.remarks(live, {aside.t for aside in find()} - {0}, said)

        def command(state: State) -> commands.Erase:
            live.positions.settle()
            asides = find()
            rounds = sorted({aside.t for aside in asides})
            reasons = self.reads.reasons(live) if 0 in rounds else []
            remarks = self.reads.remarks(live, [t for t in rounds if t > 0], known).asides
            refs = dict.fromkeys(aside.ref for aside in [*asides, *reasons, *remarks])
            return commands.Erase(list(refs), rounds, by)

        erased = self._do(live, command, reply, key)
        self.erasure_cleanup.erased(live.name)
        return erased
