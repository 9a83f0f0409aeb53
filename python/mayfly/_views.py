# SPDX-License-Identifier: Apache-2.0
"""The views that keys(), values() and items() of a store return: they read when they are used.

Each walk sees one moment: an entry that expires meanwhile is neither missed nor an error.
"""

from __future__ import annotations

from collections.abc import ItemsView, KeysView, ValuesView

from ._mayfly import Iterator


class StoreKeys(KeysView):
    """The keys of a store, in byte order."""

    def __iter__(self):
        with Iterator(self._mapping) as entries:
            for key, _ in entries:
                yield key

    def __reversed__(self):
        with Iterator(self._mapping, None, True) as entries:
            for key, _ in entries:
                yield key


class StoreValues(ValuesView):
    """The values of a store, in byte order of their keys."""

    def __iter__(self):
        with Iterator(self._mapping) as entries:
            for _, value in entries:
                yield value

    def __contains__(self, value):
        return any(value == found for found in self)


class StoreItems(ItemsView):
    """The keys and values of a store, in byte order of the keys."""

    def __iter__(self):
        with Iterator(self._mapping) as entries:
            yield from entries

    def __reversed__(self):
        with Iterator(self._mapping, None, True) as entries:
            yield from entries
