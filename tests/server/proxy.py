# SPDX-License-Identifier: Apache-2.0
"""A wire that can be cut: passes bytes on to a server, until it is told to stop.

    with Proxy(server.port) as proxy:
        Client(proxy.port).ask("PING")
        proxy.cut()         # ends all connections, and refuses new ones ...
        proxy.mend()        # ... until here
        proxy.stall()       # connections stay, and nothing comes through ...
        proxy.go_on()       # ... until here
"""

import contextlib
import selectors
import socket
import threading

CHUNK = 1 << 16
SLOW_CHUNK = 1 << 14  # and one after each pause
QUICK_S = 0.05
SLOW_S = 0.002


class Proxy:
    def __init__(self, target, slow=False):
        self.target = target
        self.slow = slow
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.listener.setblocking(False)
        self.pairs = {}  # each end: the other one
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.lock = threading.Lock()
        self.is_cut = self.is_stalled = self.is_over = False
        self.passed = 0
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()
        self.drop_all()
        self.listener.close()
        self.selector.close()

    def cut(self):
        with self.lock:
            self.is_cut = True
            self.drop_all()

    def mend(self):
        self.is_cut = False

    def stall(self):
        self.is_stalled = True

    def go_on(self):
        self.is_stalled = False

    def run(self):
        while not self.is_over:
            ready = self.selector.select(QUICK_S)
            with self.lock:
                for key, _ in ready:
                    if key.fileobj is self.listener:
                        self.accept()
                    elif key.fileobj in self.pairs and not self.is_stalled:
                        self.forward(key.fileobj)
            if self.is_stalled:
                threading.Event().wait(QUICK_S)

    def accept(self):
        with contextlib.suppress(OSError):
            client, _ = self.listener.accept()
            if self.is_cut:
                return client.close()
            try:
                server = socket.create_connection(("127.0.0.1", self.target), 5)
            except OSError:
                return client.close()
            for one, other in ((client, server), (server, client)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.pairs[one] = other
                self.selector.register(one, selectors.EVENT_READ)

    def forward(self, source):
        try:
            if self.slow:
                threading.Event().wait(SLOW_S)
            data = source.recv(SLOW_CHUNK if self.slow else CHUNK)
            self.passed += len(data)
            if data:
                return self.pairs[source].sendall(data)
        except OSError:
            pass
        self.drop(source)

    def drop(self, one):
        for end in (one, self.pairs[one]):
            self.pairs.pop(end, None)
            with contextlib.suppress(KeyError, ValueError):
                self.selector.unregister(end)
            end.close()

    def drop_all(self):
        while self.pairs:
            self.drop(next(iter(self.pairs)))
