# SPDX-License-Identifier: Apache-2.0
"""ttl_cache: functions and coroutines that remember for a while."""

import asyncio

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
    assert function.cache_parameters() == {"ttl": 5, "maxsize": 2, "typed": False}
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
