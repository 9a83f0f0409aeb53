#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of Celery does, with a real worker: tasks with results, later, tried again, and in
chains, groups and chords. python_programs_test.py runs it with a server at $PORT, which is the
broker (lists, blocking pops, sorted sets) and keeps the results (pub/sub, TTLs).
"""

import datetime
import os
import subprocess
import sys
import tempfile
import unittest

import redis
from celery import chain, chord, group
from celery_tasks import add, app, fail, progress, third_time, total

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))

from mayfly_server import end_with_the_test  # noqa: E402

PATIENCE_S = 30


class CeleryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.log = open(os.path.join(cls.folder.name, "log"), "w+", encoding="utf-8")
        cls.addClassCleanup(cls.log.close)
        words = ["-B", "-m", "celery", "--app", "celery_tasks", "worker", "--concurrency", "2",
                 "--loglevel", "info", "--without-mingle"]
        cls.worker = subprocess.Popen([sys.executable, *words], cwd=HERE, stdout=cls.log,
                                      stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                      preexec_fn=end_with_the_test)
        cls.addClassCleanup(cls.end_worker)

    @classmethod
    def end_worker(cls):
        cls.worker.terminate()
        try:
            code = cls.worker.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            cls.worker.kill()
            code = cls.worker.wait()
        cls.log.seek(0)
        log = cls.log.read()
        if code != 0 or "Unrecoverable" in log:
            raise AssertionError(f"the worker ended with {code}:\n{log}")

    def get(self, result, **options):
        return result.get(timeout=PATIENCE_S, interval=0.05, **options)

    def test_tasks_run_and_have_results(self):
        results = [add.delay(number, number) for number in range(50)]
        self.assertEqual([self.get(result) for result in results], list(range(0, 100, 2)))
        self.assertTrue(results[0].successful())
        results[0].forget()
        self.assertEqual(app.AsyncResult(results[0].id).state, "PENDING")

    def test_a_task_that_fails_says_why(self):
        result = fail.delay()
        with self.assertRaisesRegex(ValueError, "as told"):
            self.get(result)
        self.assertEqual(result.state, "FAILURE")
        self.assertIn("as told", result.traceback)

    def test_a_task_is_tried_again(self):
        self.assertEqual(self.get(third_time.delay()), 2)

    def test_a_task_has_states_of_its_own(self):
        self.assertEqual(self.get(progress.delay()), "HALFWAY")

    def test_tasks_that_wait(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        soon = now + datetime.timedelta(milliseconds=300)
        first = add.apply_async((1, 2), countdown=0.3)
        second = add.apply_async((3, 4), eta=soon)
        self.assertEqual((self.get(first), self.get(second)), (3, 7))
        for result in (first, second):
            self.assertGreaterEqual(result.date_done.replace(tzinfo=datetime.timezone.utc), soon)

    def test_a_task_whose_time_is_over_or_that_is_revoked_does_not_run(self):
        late = add.apply_async((1, 2), expires=-1)
        revoked = add.apply_async((1, 2), countdown=0.5)
        revoked.revoke()
        for result in (late, revoked):
            with self.assertRaises(Exception) as raised:
                self.get(result)
            self.assertEqual(type(raised.exception).__name__, "TaskRevokedError")

    def test_chains_groups_and_chords(self):
        self.assertEqual(self.get(chain(add.s(1, 2), add.s(3), add.s(4))()), 10)
        many = group(add.s(number, 1) for number in range(20))()
        self.assertEqual(self.get(many), list(range(1, 21)))
        for _ in range(3):
            result = chord(add.s(number, number) for number in range(10))(total.s())
            self.assertEqual(self.get(result), 90)
        both = chain(group(add.s(1, 1), add.s(2, 2)), total.s(), add.s(100))
        self.assertEqual(self.get(both()), 106)
        with self.assertRaisesRegex(Exception, "as told"):
            self.get(chord([add.s(1, 1), fail.s()])(total.s()))

    def test_priorities_and_results_as_they_come(self):
        results = [add.apply_async((number, 0), priority=number % 10) for number in range(20)]
        self.assertEqual(sorted(self.get(result) for result in results), list(range(20)))
        tally = group(add.s(number, number) for number in range(5))()
        seen = sorted(reply["result"] for _, reply in tally.iter_native())
        self.assertEqual(seen, [0, 2, 4, 6, 8])

    def test_the_worker_answers(self):
        replies = app.control.ping(timeout=2, limit=1)
        self.assertEqual(list(replies[0].values()), [{"ok": "pong"}])

    def test_results_expire(self):
        result = add.delay(1, 1)
        self.get(result)
        with redis.Redis(port=int(os.environ["PORT"]), db=1) as store:
            self.assertTrue(0 < store.ttl(f"celery-task-meta-{result.id}") <= 600)


if __name__ == "__main__":
    unittest.main()
