#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of RQ does, with real workers: jobs with results, later, tried again, after others.
python_programs_test.py runs it with a server at $PORT. A worker in burst mode is a program of its
own, which runs each job in a child and ends when its queues are empty.
"""

import datetime
import os
import subprocess
import sys
import time
import unittest

import redis
import rq_tasks
from rq import Queue, Retry, Worker
from rq.job import Job, JobStatus
from rq.registry import FailedJobRegistry, FinishedJobRegistry, ScheduledJobRegistry

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

from mayfly_server import end_with_the_test  # noqa: E402
from resp_client import await_that  # noqa: E402

PORT = int(os.environ["PORT"])


def work(*queues, options=()):
    """Runs a worker until there is nothing to do."""
    done = subprocess.run([sys.executable, "-B", "-m", "rq.cli", "worker", "--burst", "--url",
                           f"redis://127.0.0.1:{PORT}", "--path", HERE, *options, *queues],
                          cwd=HERE, capture_output=True, text=True, check=False, timeout=60,
                          preexec_fn=end_with_the_test)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)


class RqTest(unittest.TestCase):
    def setUp(self):
        self.redis = redis.Redis(port=PORT)
        self.addCleanup(self.redis.close)
        self.redis.flushall()
        self.queue = Queue(connection=self.redis)

    def test_jobs_run_and_have_results_that_expire(self):
        jobs = [self.queue.enqueue(rq_tasks.add, number, 1, result_ttl=60) for number in range(3)]
        kept = self.queue.enqueue(rq_tasks.add, 1, 1, result_ttl=-1)
        gone = self.queue.enqueue(rq_tasks.add, 1, 1, result_ttl=0)
        self.assertEqual((len(self.queue), jobs[1].get_position()), (5, 1))
        work("default")
        self.assertEqual([job.result for job in jobs], [1, 2, 3])
        self.assertEqual(jobs[0].get_status(), JobStatus.FINISHED)
        self.assertEqual(len(self.queue), 0)
        self.assertTrue(0 < self.redis.ttl(jobs[0].key) <= 60)
        self.assertEqual(self.redis.ttl(kept.key), -1)
        self.assertFalse(self.redis.exists(gone.key))
        self.assertEqual(len(FinishedJobRegistry(queue=self.queue)), 4)

    def test_jobs_that_fail(self):
        never = self.queue.enqueue(rq_tasks.fail, on_failure=rq_tasks.note, failure_ttl=60)
        retried = self.queue.enqueue(rq_tasks.third_time, retry=Retry(max=5),
                                     on_success=rq_tasks.note)
        work("default")
        self.assertEqual(never.get_status(), JobStatus.FAILED)
        self.assertIn("as told", never.exc_info)
        self.assertEqual(retried.result, 3)
        ended = [name.decode() for name in self.redis.lrange("ended", 0, -1)]
        self.assertEqual(ended, [never.id, retried.id])
        registry = FailedJobRegistry(queue=self.queue)
        self.assertEqual(registry.get_job_ids(), [never.id])
        registry.requeue(never)
        self.assertEqual((len(registry), self.queue.job_ids), (0, [never.id]))
        work("default")
        self.assertEqual(registry.get_job_ids(), [never.id])
        registry.remove(never, delete_job=True)
        self.assertFalse(Job.exists(never.id, self.redis))

    def test_jobs_that_wait_for_their_time(self):
        soon = self.queue.enqueue_in(datetime.timedelta(seconds=1), rq_tasks.add, 1, 2)
        later = self.queue.enqueue_at(datetime.datetime(2100, 1, 1), rq_tasks.add, 3, 4)
        registry = ScheduledJobRegistry(queue=self.queue)
        self.assertEqual(registry.get_job_ids(), [soon.id, later.id])
        work("default")
        self.assertEqual(soon.get_status(), JobStatus.SCHEDULED)
        await_that(lambda: registry.get_jobs_to_schedule(int(time.time())), "one is due")
        work("default", options=["--with-scheduler"])
        self.assertEqual(soon.result, 3)
        self.assertEqual(registry.get_job_ids(), [later.id])
        later.cancel()
        self.assertEqual(later.get_status(), JobStatus.CANCELED)

    def test_jobs_after_others_and_queues_in_order(self):
        low, high = Queue("low", connection=self.redis), Queue("high", connection=self.redis)
        ran = [low.enqueue(rq_tasks.add, 1, 2, on_success=rq_tasks.note),
               high.enqueue(rq_tasks.add, 3, 4, on_success=rq_tasks.note)]
        last = high.enqueue(rq_tasks.sum_of_dependencies, depends_on=ran)
        self.assertEqual(last.get_status(), JobStatus.DEFERRED)
        work("high", "low")
        self.assertEqual([name.decode() for name in self.redis.lrange("ended", 0, -1)],
                         [ran[1].id, ran[0].id])
        self.assertEqual(last.result, 10)

    def test_workers_and_many_jobs_at_once(self):
        self.queue.enqueue_many([Queue.prepare_data(rq_tasks.add, (number, 1), job_id=f"n{number}")
                                 for number in range(10)])
        self.assertEqual(self.queue.count, 10)
        self.assertEqual(Worker.count(connection=self.redis), 0)
        self.queue.remove("n3")
        self.queue.empty()
        self.assertEqual((self.queue.count, Job.exists("n5", self.redis)), (0, False))
        self.queue.delete()
        self.assertEqual(Queue.all(connection=self.redis), [])


if __name__ == "__main__":
    unittest.main()
