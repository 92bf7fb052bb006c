"""Whoever waits on an event loop for the writer is woken, whatever comes of the write, and all together at once."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

from likewise.service.live.landing import Landings, done


def test_everybody_is_woken_whatever_comes_of_their_write_and_whoever_gave_up_is_left_alone():
    writes = [Future() for _ in range(200)]

    def write():
        for i, writing in enumerate(writes):
            if i % 3:
                writing.set_result(None)
            else:
                writing.set_exception(OSError("the disk is full"))

    async def wait():
        waiting = [asyncio.ensure_future(done(writing)) for writing in writes]
        await asyncio.sleep(0)
        waiting[7].cancel()
        thread = threading.Thread(target=write)
        thread.start()
        woken = await asyncio.gather(*waiting, return_exceptions=True)
        thread.join()
        return woken

    woken = asyncio.run(wait())
    assert [i for i, one in enumerate(woken) if one is not None] == [7]
    assert not any(writing.cancelled() for writing in writes)


def test_writes_that_land_together_wake_the_loop_once_and_later_ones_again(monkeypatch):
    async def land():
        loop, told = asyncio.get_running_loop(), []
        call = loop.call_soon_threadsafe
        monkeypatch.setattr(loop, "call_soon_threadsafe", lambda wake: (told.append(wake), call(wake)))
        landings = Landings(loop)
        for number in (1, 2):
            waiting = [loop.create_future() for _ in range(5)]
            writer = threading.Thread(target=lambda waiting=waiting: [landings.landed(one) for one in waiting])
            writer.start()
            writer.join()
            await asyncio.gather(*waiting)
            assert len(told) == number
            landings.landed(here := loop.create_future())
            await here
            assert len(told) == number, "what the loop itself wrote wakes nobody through the system"

    asyncio.run(land())


def test_nobody_minds_a_write_that_lands_after_the_loop_is_closed():
    loop = asyncio.new_event_loop()
    landings, waiting = Landings(loop), loop.create_future()
    loop.close()
    landings.landed(waiting)
    assert not waiting.done()
    del loop, waiting
    landings.landed(Future())
