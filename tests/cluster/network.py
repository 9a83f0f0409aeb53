# SPDX-License-Identifier: Apache-2.0
"""A network whose links can be cut: each process in a namespace of its own, all at one bridge. It
needs root.

    with Network() as network:
        (one, two) = network.places("node", 2)      # (address, words before the command), twice
        network.cut(one[0], two[0])                 # silently, in both directions
        network.heal()
"""

import os
import random
import subprocess

NOBODY = "02:00:00:00:de:ad"
DEVICE = "eth0"


def ip(*words, inside=None, check=True):
    before = ["ip", "netns", "exec", inside] if inside else []
    return subprocess.run([*before, "ip", *words], check=check, capture_output=True,
                          stdin=subprocess.DEVNULL).returncode == 0


def is_possible():
    """Whether this process may make namespaces."""
    if os.geteuid() != 0:
        return False
    name = f"mf{os.getpid()}probe"
    try:
        made = ip("netns", "add", name, check=False)
    except FileNotFoundError:
        return False
    if made:
        ip("netns", "del", name, check=False)
    return made


class Network:
    def __init__(self):
        chance = random.SystemRandom()
        self.name = f"mf{os.getpid()}"
        self.subnet = f"10.{chance.randrange(100, 250)}.{chance.randrange(1, 250)}"
        self.spaces = {}  # address: namespace
        self.wounds = []  # (namespace, address)

    def __enter__(self):
        ip("link", "add", self.name, "type", "bridge")
        ip("addr", "add", f"{self.subnet}.1/24", "dev", self.name)
        ip("link", "set", self.name, "up")
        return self

    def __exit__(self, *_):
        for space in self.spaces.values():
            ip("netns", "del", space, check=False)
        ip("link", "del", self.name, check=False)

    def places(self, kind, count):
        return [self.place(f"{self.name}{kind}{number}") for number in range(count)]

    def place(self, space):
        number = len(self.spaces) + 10
        address, device = f"{self.subnet}.{number}", f"{self.name}v{number}"
        self.spaces[address] = space
        ip("netns", "add", space)
        ip("link", "add", device, "type", "veth", "peer", "name", DEVICE, "netns", space)
        ip("link", "set", device, "master", self.name, "up")
        ip("link", "set", "lo", "up", inside=space)
        ip("addr", "add", f"{address}/24", "dev", DEVICE, inside=space)
        ip("link", "set", DEVICE, "up", inside=space)
        return address, ["ip", "netns", "exec", space]

    def cut(self, one, other, both=True):
        """What one sends to the other reaches nobody, as if the wire were cut."""
        space = self.spaces[one]
        ip("neigh", "replace", other, "lladdr", NOBODY, "dev", DEVICE, "nud", "permanent",
           inside=space)
        self.wounds.append((space, other))
        if both:
            self.cut(other, one, both=False)

    def isolate(self, one, others):
        """From all of these, but not from the clients."""
        for other in others:
            if other != one:
                self.cut(one, other)

    def heal(self):
        while self.wounds:
            space, other = self.wounds.pop()
            ip("neigh", "del", other, "dev", DEVICE, inside=space, check=False)
