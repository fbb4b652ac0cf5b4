"""A cable between two network namespaces that delays, loses, doubles and reorders what it carries: two tap devices and a
thread between them. Kernels without netem have these, too."""
import contextlib
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import threading
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000


def tap(namespace, name):
    """A tap device in the namespace, and the descriptor of what goes through it."""
    made = {}

    def make():
        # A namespace is a thread's own affair: this one ends with it.
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            with open(f"/run/netns/{namespace}", "rb") as entry:
                if libc.setns(entry.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
            made["fd"] = fd
        except OSError as error:
            made["error"] = error

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if "error" in made:
        raise made["error"]
    return made["fd"]


class Wire:
    """`delay` and `jitter` are seconds one way, `loss` and `doubling` parts of the frames."""

    def __init__(self, one, other, delay, jitter=0.0, loss=0.0, doubling=0.0):
        self.ends = [tap(one, "eth0"), tap(other, "eth0")]
        self.delay, self.jitter, self.loss, self.doubling = delay, jitter, loss, doubling
        self.carried = self.lost = self.doubled = self.overtaken = 0
        self.seed = random.randrange(1 << 32)
        self.random = random.Random(self.seed)
        self.under_way = []  # (when, number, to, frame)
        self.numbers = 0
        self.stopping = False
        self.thread = threading.Thread(target=self.carry, daemon=True)

    def start(self):
        self.thread.start()

    def take(self, end, frame):
        if self.random.random() < self.loss:
            self.lost += 1
            return
        copies = 2 if self.random.random() < self.doubling else 1
        self.doubled += copies - 1
        for _ in range(copies):
            when = time.monotonic() + self.delay + self.random.uniform(-self.jitter, self.jitter)
            self.numbers += 1
            heapq.heappush(self.under_way, (when, self.numbers, 1 - end, frame))

    def carry(self):
        newest = [0, 0]
        while not self.stopping:
            wait = 0.1 if not self.under_way else min(0.1, max(0.0, self.under_way[0][0] - time.monotonic()))
            for fd in select.select(self.ends, [], [], wait)[0]:
                with contextlib.suppress(OSError):  # nothing there, or the device is down
                    self.take(self.ends.index(fd), os.read(fd, 65536))
            while self.under_way and self.under_way[0][0] <= time.monotonic():
                _, number, end, frame = heapq.heappop(self.under_way)
                self.overtaken += number < newest[end]
                newest[end] = max(newest[end], number)
                with contextlib.suppress(OSError):
                    os.write(self.ends[end], frame)
                    self.carried += 1

    def stop(self):
        self.stopping = True
        if self.thread.is_alive():
            self.thread.join()
        for fd in self.ends:
            os.close(fd)
