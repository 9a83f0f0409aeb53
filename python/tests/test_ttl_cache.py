# SPDX-License-Identifier: Apache-2.0
"""ttl_cache: functions and coroutines that remember for a while."""

import asyncio
import threading

import pytest

import mayfly


def counting(clock, **options):
    """A function that is remembered, and the list of its calls."""
    calls = []

    @mayfly.ttl_cache(timer=clock, **options)
    def function(*args, **keywords):
        """Says what it got."""
        calls.append((args, keywords))
        return len(calls)

    return function, calls


def test_remembers_for_its_ttl(clock):
    function, calls = counting(clock, ttl=10)
    assert function(1) == function(1) == 1
    clock.advance(9.999)
    assert function(1) == 1
    clock.advance(0.001)
    assert function(1) == 2 and len(calls) == 2


def test_other_arguments_are_other_calls(clock):
    function, calls = counting(clock)
    for args, keywords in (((), {}), ((1,), {}), ((1, 2), {}), (((1, 2),), {}), ((), {"a": 1}),
                           ((), {"b": 1}), ((1,), {"a": 1}), (("a", 1), {}), ((("a", 1),), {})):
        assert function(*args, **keywords) == function(*args, **keywords)
    assert len(calls) == 9


def test_typed_tells_ints_from_floats(clock):
    function, _ = counting(clock, typed=True)
    assert function(3) != function(3.0)
    function, _ = counting(clock)
    assert function(3, 1) == function(3.0, 1)  # one alone may differ, as in lru_cache


def test_is_like_lru_cache_to_look_at(clock):
    function, _ = counting(clock, ttl=5, maxsize=2)
    assert function.__name__ == "function" and function.__doc__ == "Says what it got."
    assert function.__wrapped__(7) == 1
    for number in (1, 2, 3, 3):
        function(number)
    info = function.cache_info()
    assert (info.hits, info.misses, info.maxsize, info.currsize) == (1, 3, 2, 2)
    assert function.cache_parameters() == {
        "ttl": 5, "maxsize": 2, "typed": False, "stale": None}
    assert isinstance(function.cache, mayfly.Cache)
    clock.advance(5)
    assert function.cache_info().currsize == 0
    function(1)
    function.cache_clear()
    assert function.cache_info().currsize == 0


def test_none_is_remembered_and_exceptions_are_not(clock):
    calls = []

    @mayfly.ttl_cache(timer=clock)
    def function(fail):
        calls.append(fail)
        if fail:
            raise ValueError
        return None

    assert function(False) is None and function(False) is None
    for _ in range(2):
        with pytest.raises(ValueError):
            function(True)
    assert calls == [False, True, True]


def test_works_without_brackets_and_for_methods():
    class Thing:
        @mayfly.ttl_cache
        def method(self, number):
            return object()

    one, other = Thing(), Thing()
    assert one.method(1) is one.method(1) is not other.method(1)


def test_unhashable_arguments_are_a_type_error(clock):
    with pytest.raises(TypeError, match="unhashable"):
        counting(clock)[0]([1])


# --- async

def test_coroutines_are_remembered(clock):
    calls = []

    @mayfly.ttl_cache(ttl=10, timer=clock)
    async def function(number):
        calls.append(number)
        return number + 1

    async def main():
        assert asyncio.iscoroutinefunction(function)
        assert await function(1) == await function(1) == 2
        clock.advance(10)
        assert await function(1) == 2

    asyncio.run(main())
    assert calls == [1, 1]


def test_concurrent_calls_share_one_and_survive_who_began_it(clock):
    calls = []

    async def main():
        started, go_on = asyncio.Event(), asyncio.Event()

        @mayfly.ttl_cache(timer=clock)
        async def function(number):
            calls.append(number)
            started.set()
            await go_on.wait()
            return number

        first = asyncio.create_task(function(1))
        others = [asyncio.create_task(function(1)) for _ in range(4)]
        await started.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        go_on.set()
        return await asyncio.gather(*others)

    assert asyncio.run(main()) == [1] * 4 and calls == [1]


def test_a_coroutine_that_fails_is_not_remembered_and_fails_for_all(clock):
    calls = []

    @mayfly.ttl_cache(timer=clock)
    async def function():
        calls.append(1)
        raise ValueError

    async def main():
        results = await asyncio.gather(function(), function(), return_exceptions=True)
        assert [type(result) for result in results] == [ValueError] * 2 and len(calls) == 1
        with pytest.raises(ValueError):
            await function()

    asyncio.run(main())
    assert len(calls) == 2


def test_clearing_begins_to_count_anew_and_no_size_remembers_nothing(clock):
    @mayfly.ttl_cache(ttl=5, timer=clock)
    def square(number):
        return number * number

    assert square(2) == square(2) == 4
    square.cache_clear()
    assert square.cache_info() == (0, 0, 128, 0, 0)
    assert square(2) == 4 and square.cache_info().misses == 1

    calls = []
    never = mayfly.ttl_cache(ttl=5, maxsize=0, timer=clock)(calls.append)
    never(1)
    never(1)
    assert calls == [1, 1] and never.cache_info() == (0, 2, 0, 0, 0)


# --- Stale results

def test_a_stale_result_is_computed_anew_by_one_thread(clock):
    function, calls = counting(clock, ttl=10, stale=5)
    assert function(1) == function(1) == 1
    clock.advance(10)
    assert function.cache.is_stale(1) and function(1) == 2 and not function.cache.is_stale(1)
    clock.advance(15)
    assert function(1) == 3 and len(calls) == 3
    assert function.cache_parameters()["stale"] == 5

    entered, go_on, got = threading.Event(), threading.Event(), []

    @mayfly.ttl_cache(ttl=10, stale=5, timer=clock)
    def slow(number):
        got.append(number)
        if len(got) > 1:
            entered.set()
            go_on.wait()
        return len(got)

    slow(1)
    clock.advance(10)
    thread = threading.Thread(target=slow, args=(1,))
    thread.start()
    entered.wait()
    assert slow(1) == 1
    go_on.set()
    thread.join()
    assert slow(1) == 2


def test_a_stale_result_is_kept_if_the_function_fails(clock):
    calls = []

    @mayfly.ttl_cache(ttl=10, stale=5, timer=clock, retry_after=2)
    def function():
        calls.append(1)
        if len(calls) > 1:
            raise ValueError
        return "old"

    function()
    clock.advance(10)
    assert function() == function() == "old" and len(calls) == 2
    clock.advance(2)
    assert function() == "old" and len(calls) == 3
    clock.advance(3)
    with pytest.raises(ValueError):
        function()


def test_no_size_keeps_nothing_stale_either(clock):
    function, calls = counting(clock, ttl=10, stale=5, maxsize=0)
    assert function(1) == 1 and function(1) == 2

    @mayfly.ttl_cache(ttl=10, stale=5, maxsize=0, timer=clock)
    async def coroutine():
        calls.append(1)

    async def main():
        await coroutine()
        await coroutine()

    asyncio.run(main())
    assert len(calls) == 4


class Gate:
    """A coroutine that says when it was entered, and goes on when it is let."""

    def __init__(self, clock, **options):
        self.entered, self.go_on, self.calls = asyncio.Event(), asyncio.Event(), 0
        self.is_waiting, self.is_failing = True, False
        self.ask = mayfly.ttl_cache(timer=clock, **options)(self._ask)

    async def nothing(self):
        pass

    async def _ask(self):
        self.calls += 1
        number = self.calls
        if self.is_waiting:
            self.entered.set()
            await self.go_on.wait()
        if self.is_failing:
            raise ValueError
        return number


def test_one_task_refreshes_and_the_others_get_the_old_result(clock):
    async def main():
        gate = Gate(clock, ttl=10, stale=5)
        gate.is_waiting = False
        assert await gate.ask() == 1
        gate.is_waiting = True
        clock.advance(10)
        first = asyncio.create_task(gate.ask())
        await gate.entered.wait()
        assert [await gate.ask() for _ in range(3)] == [1] * 3
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await gate.ask() == 1, "the refresh goes on without the one who began it"
        gate.go_on.set()
        await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})
        assert await gate.ask() == 2 and gate.calls == 2

    asyncio.run(main())


def test_a_refresh_that_fails_gives_the_old_result_and_rests(clock):
    async def main():
        gate = Gate(clock, ttl=10, stale=5)
        gate.is_waiting = False
        await gate.ask()
        gate.is_failing = True
        clock.advance(10)
        assert await gate.ask() == await gate.ask() == 1 and gate.calls == 2
        clock.advance(1)
        assert await gate.ask() == 1 and gate.calls == 3
        clock.advance(4)
        with pytest.raises(ValueError):
            await gate.ask()
        assert not any(gate.ask.cache._is_loading(number) for number in range(1, 5))

    asyncio.run(main())


@pytest.mark.parametrize("stale, was_there", [(100, True), (100, False), (None, False)])
def test_the_lease_of_a_coroutine_ends_only_with_a_stale_time(clock, stale, was_there):
    async def main():
        gate = Gate(clock, ttl=10, stale=stale)
        if was_there:
            gate.is_waiting = False
            await gate.ask()
            gate.is_waiting = True
            clock.advance(10)
        first = asyncio.create_task(gate.ask())
        await gate.entered.wait()
        gate.is_waiting = False
        clock.advance(10)
        second = asyncio.create_task(gate.ask())
        if stale is None:
            gate.go_on.set()
            assert await first == await second == 1
            return
        assert await second == was_there + 2
        gate.go_on.set()
        assert await first == was_there + 1
        assert await gate.ask() == was_there + 2, "what comes late is not kept"

    asyncio.run(main())


def test_a_task_that_waits_takes_over_when_the_lease_ends(clock):
    async def main():
        gate = Gate(clock, ttl=10, stale=5)
        first = asyncio.create_task(gate.ask())
        await gate.entered.wait()
        gate.is_waiting = False
        clock.advance(9.99)
        others = [asyncio.create_task(gate.ask()) for _ in range(3)]
        await asyncio.create_task(gate.nothing())  # which runs after they have begun to wait
        assert gate.calls == 1
        clock.advance(0.01)
        assert await asyncio.gather(*others) == [2] * 3 and gate.calls == 2
        gate.go_on.set()
        await first
        assert not gate.ask.cache._is_loading(1) and not gate.ask.cache._is_loading(2)

    asyncio.run(main())


def test_a_task_that_waits_takes_what_was_put_meanwhile(clock):
    async def main():
        gate = Gate(clock, ttl=10, stale=5)
        first = asyncio.create_task(gate.ask())
        await gate.entered.wait()
        clock.advance(9.99)
        other = asyncio.create_task(gate.ask())
        await asyncio.create_task(gate.nothing())
        gate.ask.cache.put((), "put")
        assert await other == "put"
        gate.go_on.set()
        assert await first == 1 and await gate.ask() == "put"

    asyncio.run(main())


def test_what_was_cleared_while_it_was_computed_is_not_kept(clock):
    async def main():
        gate = Gate(clock, ttl=10)
        first = asyncio.create_task(gate.ask())
        await gate.entered.wait()
        gate.ask.cache_clear()
        gate.is_waiting = False
        assert await gate.ask() == 2
        gate.go_on.set()
        assert await first == 1 and await gate.ask() == 2

    asyncio.run(main())
