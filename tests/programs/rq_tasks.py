# SPDX-License-Identifier: Apache-2.0
"""The tasks that rq_queue.py gives to workers of RQ."""

from rq import get_current_job


def add(first, second):
    return first + second


def fail():
    raise ValueError("as told")


def third_time():
    """Fails twice. Returns how many tries were left."""
    job = get_current_job()
    job.meta["tries"] = job.meta.get("tries", 0) + 1
    job.save_meta()
    if job.meta["tries"] < 3:
        raise ValueError(f"try {job.meta['tries']}")
    return job.retries_left


def sum_of_dependencies():
    return sum(job.result for job in get_current_job().fetch_dependencies())


def note(job, connection, *_):
    """A callback of jobs that have ended, well or not."""
    connection.rpush("ended", job.id)
