# SPDX-License-Identifier: Apache-2.0
"""mayfly.aio: the store for asyncio."""

import asyncio
import threading

import pytest

import mayfly
from mayfly import aio


def run(path, clock, body):
    async def main():
        async with aio.open(path, clock=clock) as db:
            return await body(db)

    return asyncio.run(main())


def test_methods_are_awaited(path, clock):
    async def body(db):
        await db.put("k", "v", ttl=60)
        assert await db.get("k") == b"v" and await db.get("x", 5) == 5
        assert await db.ttl("k") == 60.0 and await db.exists("k")
        await db.put_many({"a": "1", "b": "2"})
        assert await db.get_many(["a", "z"]) == {"a": b"1"}
        assert await db.increment("n", 5) == 5 and await db.pop("n") == b"5"
        assert await db.count() == 3 == await db.count_live()
        assert [key for key, _ in await db.expiring(100)] == [b"k"]
        assert (await db.ttl_histogram()).entries["1m"] == 1
        await db.set_default_ttl(9)
        assert await db.default_ttl() == 9.0
        clock.advance(60)
        assert await db.purge_expired() == 1
        with pytest.raises(mayfly.NotFoundError):
            await db.delete("k")
        await db.sync()
        assert (await db.stats())["puts"] > 3

    run(path, clock, body)


def test_all_calls_are_made_in_one_other_thread(path):
    threads = set()

    def clock():
        threads.add(threading.get_ident())
        return 5.0

    async def body(db):
        await asyncio.gather(*[db.put(f"k{i}", "v", ttl=5) for i in range(20)])
        await asyncio.gather(*[db.get(f"k{i}") for i in range(20)])

    run(path, clock, body)
    assert len(threads) == 1 and threading.get_ident() not in threads


def test_transactions_commit_or_undo(path, clock):
    async def body(db):
        async with db.transaction():
            await db.put("a", "1")
        with pytest.raises(ValueError):
            async with db.transaction():
                await db.put("b", "2")
                raise ValueError
        return [key async for key in db.keys()]

    assert run(path, clock, body) == [b"a"]


def test_other_tasks_are_not_part_of_a_transaction(path, clock):
    async def body(db):
        begun = asyncio.Event()

        async def undone():
            with pytest.raises(ValueError):
                async with db.transaction():
                    await db.put("mine", "1")
                    begun.set()
                    for _ in range(10):
                        await db.get("mine")
                    raise ValueError

        async def other():
            await begun.wait()
            await db.put("yours", "2")

        await asyncio.gather(undone(), other())
        return [key async for key in db.keys()]

    assert run(path, clock, body) == [b"yours"]


def test_a_task_that_is_cancelled_undoes_its_transaction(path, clock):
    async def body(db):
        begun = asyncio.Event()

        async def stuck():
            async with db.transaction():
                await db.put("a", "1")
                begun.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(stuck())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await db.put("b", "2")
        async with db.transaction():
            with pytest.raises(mayfly.Error, match="already"):
                async with db.transaction():
                    pass
        return [key async for key in db.keys()]

    assert run(path, clock, body) == [b"b"]


def test_iterating(path, clock):
    async def body(db):
        await db.put_many((f"k{i:04}", str(i)) for i in range(1000))
        assert [value async for _, value in db.items()] == [b"%d" % i for i in range(1000)]
        assert [key async for key in db.keys(prefix="k099", reverse=True)][0] == b"k0999"
        async for key, _ in db:
            break
        return key

    assert run(path, clock, body) == b"k0000"


def test_column_families(path, clock):
    async def body(db):
        async with await db.create_column_family("x") as family:
            await family.put("k", "v", ttl=5)
            assert await family.ttl("k") == 5.0 and family.name == "x"
            assert [item async for item in family.items()] == [(b"k", b"v")]
        assert await db.list_column_families() == ["x"]
        await db.drop_column_family("x")
        async with await db.column_family("y"):
            pass

    run(path, clock, body)


def test_a_store_may_be_awaited_and_is_closed_safely(path):
    async def main():
        with pytest.raises(mayfly.Error, match="not open"):
            await aio.open(path).get("k")
        db = await aio.open(path)
        await db.put("k", "v")
        await db.close()
        await db.close()
        with pytest.raises(mayfly.Error, match="closed"):
            await db.get("k")
        with pytest.raises(mayfly.Error):
            await aio.open(path + "/nowhere/x")

    asyncio.run(main())


def test_tasks_that_are_made_in_a_transaction_belong_to_it(path, clock):
    async def body(db):
        with pytest.raises(ValueError):
            async with db.transaction():
                await asyncio.gather(db.put("a", "1"), db.put("b", "2"))
                await asyncio.wait_for(db.put("c", "3"), 60)
                assert await db.count() == 3
                raise ValueError
        assert await db.count() == 0
        async with db.transaction():
            await asyncio.gather(*(db.put(str(i), "v") for i in range(20)))
            with pytest.raises(mayfly.Error, match="already"):
                await asyncio.wait_for(db.transaction().__aenter__(), 60)
        return await db.count()

    assert run(path, clock, body) == 20


def test_a_task_that_outlives_the_transaction_is_on_its_own(path, clock):
    async def body(db):
        gate = asyncio.Event()

        async def later():
            await gate.wait()
            await db.put("late", "1")
            async with db.transaction():
                await db.put("later", "2")

        async with db.transaction():
            task = asyncio.create_task(later())
            await db.put("a", "1")
        gate.set()
        await asyncio.wait_for(task, 60)
        return await db.count()

    assert run(path, clock, body) == 3
