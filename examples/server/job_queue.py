#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A queue of jobs that may be delayed, by scripts: no job is lost, and none is done by two.

Jobs that wait are a sorted set, by the time at which they are due. A worker takes the first that is
due: a script moves it to the set of jobs that are in work, until a deadline. A worker that crashed
does not finish its job, and after the deadline the next take gives it to another worker. A job that
fails goes back to the first set, later and later (backoff), and after some tries to the failed.

Each step is one script, so a job is in exactly one of the sets at every moment. Libraries such as
BullMQ (npm), RQ and Celery (Python) do this with many more features, and work with this server.

A worker that is only late may still finish. So it says which try of the job it has, and is refused
if the job has been given to another in the meantime.
"""

import json
import os
import time
from typing import NamedTuple

import redis

WORK_MS = 30_000
TRIES = 3
WAITING, WORKING, JOBS, FAILED = KEYS = [
    f"example:queue:{name}" for name in ("waiting", "working", "jobs", "failed")]

# All scripts get the four keys. The time is the server's: clocks of workers may differ.
NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""

PUT = NOW + """
redis.call('HSET', KEYS[3], ARGV[1], cjson.encode({work = ARGV[2], tries = 0}))
return redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
"""

# First, the jobs whose worker has not finished in time wait again.
TAKE = NOW + """
for _, late in ipairs(redis.call('ZRANGE', KEYS[2], '-inf', now, 'BYSCORE')) do
  redis.call('ZREM', KEYS[2], late)
  redis.call('ZADD', KEYS[1], now, late)
end
local id = redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, 1)[1]
if not id then return nil end
local job = cjson.decode(redis.call('HGET', KEYS[3], id))
job.tries = job.tries + 1
redis.call('HSET', KEYS[3], id, cjson.encode(job))
redis.call('ZREM', KEYS[1], id)
redis.call('ZADD', KEYS[2], now + ARGV[1], id)
return {id, cjson.encode(job)}
"""

# Both look first whether the job is still in work, and in the try of this worker.
MINE = """
local job = redis.call('HGET', KEYS[3], ARGV[1])
job = job and cjson.decode(job)
if not job or job.tries ~= tonumber(ARGV[2]) or redis.call('ZREM', KEYS[2], ARGV[1]) == 0 then
  return 0
end
"""

FINISH = MINE + """
return redis.call('HDEL', KEYS[3], ARGV[1])
"""

FAIL = NOW + MINE + """
if job.tries >= tonumber(ARGV[4]) then
  return redis.call('SADD', KEYS[4], ARGV[1])
end
return redis.call('ZADD', KEYS[1], now + ARGV[3] * 2 ^ (job.tries - 1), ARGV[1])
"""


class Job(NamedTuple):
    name: str
    work: str
    tries: int


class Queue:
    def __init__(self, server: redis.Redis):
        self.scripts = {text: server.register_script(text) for text in (PUT, TAKE, FINISH, FAIL)}

    def put(self, name: str, work: str, delay_ms: int = 0) -> None:
        self.scripts[PUT](keys=KEYS, args=[name, work, delay_ms])

    def take(self, work_ms: int = WORK_MS) -> Job | None:
        """A job that is due. The worker must finish it in this time."""
        found = self.scripts[TAKE](keys=KEYS, args=[work_ms])
        return Job(found[0], **json.loads(found[1])) if found else None

    def take_soon(self, work_ms: int = WORK_MS) -> Job:
        while not (job := self.take(work_ms)):
            time.sleep(0.002)
        return job

    def finish(self, job: Job) -> bool:
        """False: it took too long, and the job is another worker's now."""
        return self.scripts[FINISH](keys=KEYS, args=[job.name, job.tries]) == 1

    def fail(self, job: Job, backoff_ms: int) -> None:
        self.scripts[FAIL](keys=KEYS, args=[job.name, job.tries, backoff_ms, TRIES])


def claim(what: str, holds: bool) -> None:
    if not holds:
        raise SystemExit(f"  NO:  {what}")
    print(f"  yes: {what}")


def main(server: redis.Redis) -> None:
    server.delete(*KEYS)
    queue = Queue(server)
    queue.put("later", "send a reminder", delay_ms=300)
    queue.put("now", "send a letter")
    job = queue.take()
    claim("the job that is due is taken first", job == Job("now", "send a letter", 1))
    claim("no other worker gets it", queue.take() is None)
    claim("it is finished", queue.finish(job) and not queue.finish(job))
    late = queue.take_soon(work_ms=20)
    claim("the delayed job comes in its time", late.name == "later")
    job = queue.take_soon()
    claim("a job whose worker is late is given to another", job == late._replace(tries=2))
    claim("the late one cannot finish it, the other can", not queue.finish(late) and
          queue.finish(job))
    queue.put("bad", "divide by zero")
    for _ in range(TRIES):
        queue.fail(queue.take_soon(), backoff_ms=10)
    claim("a job that fails is tried three times", server.smembers(FAILED) == {"bad"})
    claim("nothing else is left", not server.exists(WAITING, WORKING))
    server.delete(*KEYS)


if __name__ == "__main__":
    try:
        main(redis.Redis(port=int(os.environ.get("PORT", "6379")), decode_responses=True))
    except redis.ConnectionError as error:
        raise SystemExit(str(error)) from None
