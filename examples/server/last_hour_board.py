#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Leaderboard of the last hour: the best games that were finished in it, by a server.

A game is a member of a sorted set, by its points, with a deadline an hour after its end (ZADDEX).
An hour later it is gone, and those below it move up: nobody removes old games, and ranks and counts
are exact at every moment. A member is a game and not a player, so that when a player's best game
goes the next best is still there.
"""

import os
import time

import redis

HOUR_S = 3600
BOARD = "example:board"


class Board:
    def __init__(self, server: redis.Redis):
        self.server = server

    def finish(self, game: str, points: float) -> None:
        self.server.execute_command("ZADDEX", BOARD, "EX", HOUR_S, "MEMBERS", 1, points, game)

    def best(self, count: int) -> list[tuple[str, float]]:
        return self.server.zrevrange(BOARD, 0, count - 1, withscores=True)

    def place(self, game: str) -> int | None:
        """1 is the best; None: the game is older than an hour."""
        rank = self.server.zrevrank(BOARD, game)
        return None if rank is None else rank + 1

    def games(self, least: float) -> int:
        """With at least so many points."""
        return self.server.zcount(BOARD, least, "+inf")

    def seconds_left(self, game: str) -> int:
        return self.server.execute_command("ZTTL", BOARD, "MEMBERS", 1, game)[0]

    def correct(self, game: str, points: float) -> None:
        """Adds to the points of a game. Its hour goes on: ZINCRBY keeps the deadline."""
        self.server.zincrby(BOARD, points, game)

    def pass_an_hour(self, game: str) -> None:
        """Instead of waiting: the deadline of this game comes at once."""
        self.server.execute_command("ZPEXPIRE", BOARD, 1, "MEMBERS", 1, game)
        while self.server.zscore(BOARD, game) is not None:
            time.sleep(0.002)


def claim(what: str, holds: bool) -> None:
    if not holds:
        raise SystemExit(f"  NO:  {what}")
    print(f"  yes: {what}")


def main(server: redis.Redis) -> None:
    board = Board(server)
    server.delete(BOARD)
    for game, points in (("ann:1", 90), ("ann:2", 70), ("bob:1", 80), ("cat:1", 40)):
        board.finish(game, points)
    claim("ann's first game leads", board.best(2) == [("ann:1", 90), ("bob:1", 80)])
    claim("her second is third", board.place("ann:2") == 3)
    claim("three games have 50 points", board.games(50) == 3)
    board.correct("cat:1", 15)
    claim("cat gets 15 more, and no more time",
          board.games(50) == 4 and 0 < board.seconds_left("cat:1") <= HOUR_S)
    board.pass_an_hour("ann:1")
    claim("an hour after it ann's first game is gone", board.place("ann:1") is None)
    claim("bob leads, and ann's second game is second",
          board.best(2) == [("bob:1", 80), ("ann:2", 70)] and board.place("ann:2") == 2)
    claim("three games are left, exactly", server.zcard(BOARD) == 3)
    for game in ("ann:2", "bob:1", "cat:1"):
        board.pass_an_hour(game)
    claim("with the last game the key is gone", not server.exists(BOARD))


if __name__ == "__main__":
    try:
        main(redis.Redis(port=int(os.environ.get("PORT", "6379")), decode_responses=True))
    except redis.ConnectionError as error:
        raise SystemExit(str(error)) from None
