# SPDX-License-Identifier: Apache-2.0
"""The numbers that some arguments take. They are those of snkv."""

JOURNAL_DELETE = 0  #: Accepted, without effect: there is no journal.
JOURNAL_WAL = 1  #: Accepted, without effect: there is no journal.

SYNC_OFF = 0  #: A power cut may damage the file. For data that can be rebuilt.
SYNC_NORMAL = 1  #: A power cut may cost the commits of the last second. The default.
SYNC_FULL = 2  #: A power cut costs nothing: a commit waits for the disk.

CHECKPOINT_PASSIVE = 0
CHECKPOINT_FULL = 1
CHECKPOINT_RESTART = 2
CHECKPOINT_TRUNCATE = 3

NO_TTL = -1  #: The TTL of a key that never expires, in the raw calls of `db._db`.
