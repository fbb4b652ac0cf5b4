"""Connections that say nothing, little or too much, and a server without descriptors: callers are answered, memory is
bounded, and what was lost comes back by itself."""
import os
import resource
import socket
import threading
import unittest

import lab

IDLE = 2000
MEMORY_MIB = 192  # beyond what the server had before


class ConnectionsTest(lab.Lab):
    def setUp(self):
        super().setUp()
        # As many descriptors as this process may have: each connection is one of ours, too.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 2 * IDLE + 1000:
            self.skipTest(f"this process may open {hard} files only")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * IDLE + 1000), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.sockets = []
        self.addCleanup(self.hang_up)

    def hang_up(self):
        for one in self.sockets:
            one.close()
        self.sockets.clear()

    def connect(self, count, words=b""):
        for _ in range(count):
            one = socket.socket(socket.AF_UNIX)
            one.settimeout(30)
            one.connect(self.address.removeprefix("unix:"))
            if words:
                one.send(words)
            self.sockets.append(one)

    def work(self, caller, seed):
        """A whole job, from its submission to its end, as an honest worker and caller see it."""
        raw = lab.RawWorker(self.address, f"raw{seed}", self.said)
        raw.start()
        self.finish(caller, self.submit(caller, 32, self.said, sizes=(16 + 8 * seed,)))
        raw.stop()
        return raw

    def test_two_thousand_connections_that_never_ask(self):
        caller = self.start_server()
        self.said = self.target()
        first = self.work(caller, 0)
        before, memory = self.descriptors(), self.resident_mib()
        self.connect(IDLE // 2)
        # HTTP/2's greeting, and never a request; a TLS greeting where none is expected.
        self.connect(IDLE // 4, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.connect(IDLE // 4, b"\x16\x03\x01\x02")
        second = self.work(caller, 1)
        self.assertEqual(second.errors, [])
        self.assertLess(self.resident_mib() - memory, MEMORY_MIB)
        # Who says nothing is hung up on, though we never close.
        self.until(lambda: self.descriptors() < before + IDLE // 2, "the end of silent connections")
        self.hang_up()
        self.until(lambda: self.descriptors() <= before + 8, "the end of all of them")
        self.check([first, second])

    def test_a_byte_a_moment_is_not_a_conversation(self):
        caller = self.start_server()
        self.said = self.target()
        first = self.work(caller, 0)
        before = self.descriptors()
        self.connect(200)
        stop = threading.Event()
        greeting = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

        def drip():
            for sent, byte in enumerate(greeting[:-1]):
                for one in self.sockets:
                    try:
                        one.send(bytes([byte]))
                    except OSError:
                        pass
                # A byte a second until the server must have hung up; then slower, to be there when that is seen.
                if stop.wait(1 if sent < 8 else 20):
                    return

        dripping = threading.Thread(target=drip, daemon=True)
        dripping.start()
        second = self.work(caller, 1)
        self.assertEqual(second.errors, [])
        # The handshake has five seconds altogether, however many bytes came.
        self.until(lambda: self.descriptors() <= before + 8, "the end of slow connections")
        self.assertTrue(dripping.is_alive(), "the greeting was not cut short")
        stop.set()
        dripping.join()
        self.check([first, second])

    def test_watchers_that_never_read(self):
        caller = self.start_server()
        self.said = self.target()
        first = self.work(caller, 0)
        raw = lab.RawWorker(self.address, "raw", self.said, hurry=0.01)
        job = self.submit(caller, 200, self.said, sizes=(24, 40, 56, 72))
        watchers = [lab.Caller(self.address) for _ in range(32)]
        streams = [watcher.watch(job) for watcher in watchers for _ in range(16)]
        next(streams[0])
        memory = self.resident_mib()
        raw.start()
        self.finish(caller, job)
        raw.stop()
        self.assertEqual(raw.errors, [])
        self.assertLess(self.resident_mib() - memory, MEMORY_MIB)
        for watcher in watchers:
            watcher.close()
        self.check([first, raw])

    def test_descriptors_that_run_out_come_back(self):
        caller = self.start_server()
        self.said = self.target()
        first = self.work(caller, 0)
        pid = self.server_pid()
        before = self.descriptors(pid)
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        # The server keeps 256 for itself.
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (before + 256 + 60, limits[1]))
        self.connect(300)
        self.until(lambda: "descriptors ran short" in self.messages(), "the server's word of it")
        # Who is connected already is served throughout, its log included.
        self.assertEqual(caller.progress(next(iter(self.jobs))).state, lab.tuner.DONE)
        second = lab.RawWorker(self.address, "second", self.said)
        second.caller.close()
        second.caller = caller
        self.submit(caller, 16, self.said, sizes=(48,))
        self.until(lambda: second.step() is not None and len(second.acknowledged) >= 16, "results on an old connection")
        self.hang_up()
        self.until(lambda: self.descriptors(pid) <= before + 8, "the end of the connections")
        third = self.work(lab.Caller(self.address), 2)
        self.assertIsNone(self.server.poll())
        self.check([first, second, third])

    def test_a_server_with_few_descriptors_says_so_at_its_start(self):
        limited = ["/bin/sh", "-c", 'ulimit -n 1024 && exec "$@"', "sh"]
        server = self.start([self.program("mlc-server"), "--log", self.log, "--listen", self.address], before=limited)
        self.assertEqual(server.wait(lab.TIMEOUT), 75, self.messages())
        self.assertIn("4096", self.messages().replace(",", ""))


if __name__ == "__main__":
    lab.main()
