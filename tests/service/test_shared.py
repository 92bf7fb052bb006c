"""Work that is shared: how often it is done, and for whom."""

from __future__ import annotations

import asyncio

import pytest

from likewise.service.jobs.shared import SharedWork


def test_each_work_runs_once_at_a_time_and_fails_for_those_who_asked_for_it():
    async def play():
        shared, began, free = SharedWork(), [], asyncio.Event()

        async def work():
            began.append(len(began))
            await free.wait()
            if began[-1] == 1:
                raise ValueError("the second fails")
            return began[-1]

        first = [asyncio.create_task(shared.result("a", work)) for _ in range(3)]
        await asyncio.sleep(0.01)
        later = [asyncio.create_task(shared.result("a", work)) for _ in range(3)]
        await asyncio.sleep(0.01)
        assert began == [0], "whoever comes later waits for the one that runs"
        later.pop().cancel()
        free.set()
        assert await asyncio.gather(*first) == [0, 0, 0]
        for one in later:
            with pytest.raises(ValueError, match="second"):
                await one
        assert await shared.result("a", work) == 2
        assert shared._running == {} == shared._next

    asyncio.run(play())


def test_other_works_do_not_wait():
    async def play():
        shared, never = SharedWork(), asyncio.Event()
        waits = asyncio.create_task(shared.result("a", never.wait))
        await asyncio.sleep(0)

        async def quick():
            return 7

        assert await asyncio.wait_for(shared.result("b", quick), 30) == 7
        never.set()
        await waits

    asyncio.run(play())
