# SPDX-License-Identifier: Apache-2.0
"""The tasks that celery_queue.py gives to a worker of Celery."""

import os

from celery import Celery

address = f"redis://127.0.0.1:{os.environ['PORT']}"
app = Celery("tasks", broker=f"{address}/0", backend=f"{address}/1")
app.conf.update(
    broker_transport_options={"polling_interval": 0.05, "visibility_timeout": 60},
    task_default_priority=5,
    worker_timer_precision=0.05,
    result_expires=600,
)


@app.task
def add(first, second):
    return first + second


@app.task
def total(numbers):
    return sum(numbers)


@app.task
def fail():
    raise ValueError("as told")


@app.task(bind=True, max_retries=5)
def third_time(self):
    """Fails twice. Returns how often it was tried again."""
    if self.request.retries < 2:
        raise self.retry(countdown=0.05)
    return self.request.retries


@app.task(bind=True)
def progress(self):
    self.update_state(state="HALFWAY", meta={"done": 50})
    return self.backend.get_state(self.request.id)
