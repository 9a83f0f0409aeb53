# SPDX-License-Identifier: Apache-2.0
"""Converts times of Python code to and from milliseconds since 1970, as the store keeps them."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Optional, Tuple, Union

#: How long, or until when: seconds, a timedelta, or a datetime.
TTL = Union[int, float, timedelta, datetime]
#: A length of time: seconds, or a timedelta.
Duration = Union[int, float, timedelta]
#: A range of time: from now on for so long, or from one time to another.
Between = Union[TTL, Tuple[Optional[TTL], Optional[TTL]]]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
END_OF_TIME_MS = 2**63 - 1


def to_datetime(ms: int) -> datetime:
    """A moment as an aware datetime in UTC. What is beyond the calendar is its last moment."""
    try:
        return _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return datetime.max.replace(tzinfo=timezone.utc)


def ceil_ms(seconds: float) -> int:
    """In milliseconds. A fraction of one is rounded up, so that nothing is ever early, but not what
    is no more than the noise of a float."""
    return math.ceil(round(seconds * 1000, 3))


def to_ms(moment: TTL, now_ms: int) -> int:
    """The time in milliseconds: a datetime is absolute, all else is relative to now."""
    if isinstance(moment, datetime):
        return ceil_ms(moment.timestamp())
    seconds = moment.total_seconds() if isinstance(moment, timedelta) else moment
    if seconds * 1000 > END_OF_TIME_MS - now_ms:
        return END_OF_TIME_MS
    return now_ms + ceil_ms(seconds)


def to_range(between: Between, now_ms: int) -> tuple[int, int]:
    """The start of the range, and its end, which is not included."""
    start, end = between if isinstance(between, tuple) else (None, between)
    start_ms = now_ms if start is None else to_ms(start, now_ms)
    return start_ms, END_OF_TIME_MS if end is None else to_ms(end, now_ms)
