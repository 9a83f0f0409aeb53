#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cache with a freshness window: the answer of a slow service is good for a minute.

An answer is an entry with a TTL, so an answer that is found is fresh. A caller that finds
none asks the service. No age is stored or compared. `ttl_cache` does that for a function. A
`Cache` can do more: here each answer says how long it is good, threads that ask at the same time
share one question, and the number of answers is limited. For some time after that (`stale`) one
caller asks anew while the others still get the old answer, so that nobody waits, and the service
may be down for a moment.
"""

import threading

import mayfly


class ManualClock:
    """Stands still until it is moved. A cache that is given no timer asks the system."""

    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


clock = ManualClock()


class Service:
    """Slow and dear. It counts how often it was troubled."""

    asked = 0
    is_down = False

    def ask(self, city: str) -> str:
        self.asked += 1
        if self.is_down:
            raise ConnectionError("the service is down")
        return f"{city}: answer {self.asked}"


service = Service()


@mayfly.ttl_cache(ttl=60, timer=clock)
def forecast(city: str) -> str:
    return service.ask(city)


class Forecasts:
    def __init__(self):
        self.cache = mayfly.Cache(capacity=1000, timer=clock, listener=self.note)
        self.journal = []

    def look_up(self, city: str) -> str:
        good_for = 600 if city == "cairo" else 60  # the weather there is more constant
        return self.cache.get_or_load(city, service.ask, ttl=good_for)

    def note(self, city: str, _answer: str, cause: str) -> None:
        self.journal.append(f"{city} {cause}")


def claim(what: str, holds: bool) -> None:
    if not holds:
        raise SystemExit(f"  NO:  {what}")
    print(f"  yes: {what}")


def try_the_decorator() -> None:
    answers = {forecast("rome") for _ in range(100)}
    claim("a hundred calls ask once", answers == {"rome: answer 1"} and service.asked == 1)
    clock.now += 59.999
    claim("for a minute the answer is good", forecast("rome") == "rome: answer 1")
    clock.now += 0.001
    claim("then it is asked for again", forecast("rome") == "rome: answer 2")


def try_the_cache() -> None:
    forecasts = Forecasts()
    answers = set()
    threads = [threading.Thread(target=lambda: answers.add(forecasts.look_up("oslo")))
               for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    claim("eight threads share one question", answers == {"oslo: answer 3"})

    forecasts.look_up("cairo")
    clock.now += 60
    claim("each answer has its own window", forecasts.look_up("cairo") == "cairo: answer 4")
    claim("and that of oslo is over", forecasts.cache.get("oslo") is None)
    clock.now += 540
    claim("what has expired is not counted", len(forecasts.cache) == 0)
    forecasts.cache.purge()
    claim("a listener is told", forecasts.journal == ["oslo expired", "cairo expired"])


def try_a_stale_answer() -> None:
    cache = mayfly.Cache(ttl=45, stale=15, timer=clock)
    first = cache.get_or_load("lima", service.ask)
    clock.now += 50
    seen = []

    def ask_slowly(city: str) -> str:
        other = threading.Thread(target=lambda: seen.append(cache.get_or_load(city, service.ask)))
        other.start()
        other.join()
        return service.ask(city)

    new = cache.get_or_load("lima", ask_slowly)
    claim("while one caller asks anew, another gets the old answer", seen == [first] != [new])
    clock.now += 50
    service.is_down = True
    claim("if the service is down, the old answer is still there",
          cache.get_or_load("lima", service.ask) == new and cache.is_stale("lima"))


if __name__ == "__main__":
    try_the_decorator()
    try_the_cache()
    try_a_stale_answer()
