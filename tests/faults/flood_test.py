"""Calls that cost more than they weigh, 100 at once of each kind, and floods from unauthenticated connections: the server's memory stays
bounded, and workers are answered."""

import itertools
import threading

import attacks
import grpc
import http2
import lab

MOST_MIB = 1024


class FloodTest(lab.Lab):
    def setUp(self):
        super().setUp()
        self.victim = attacks.Victim(lab.BUILD, lab.SOURCE, str(self.folder), self.target(), {lab.MARK: self.mark})
        self.addCleanup(self.victim.process.kill)
        self.beat = attacks.Heartbeat(self.victim)
        self.beat.start()

    def unharmed(self, what):
        self.assertIsNone(self.victim.process.poll(), what)
        self.assertLess(self.victim.most_mib(), MOST_MIB, what)
        self.assertEqual(self.beat.errors, [], what)

    def end(self):
        self.beat.stop()
        self.assertEqual(self.beat.errors, [])
        self.assertGreater(self.beat.calls, 0)
        self.assertEqual(self.victim.stop(), 0)

    def test_calls_of_every_role_keep_within_bounds(self):
        for name in attacks.CALLS:
            with self.subTest(name):
                codes = attacks.call_at_once(self.victim, name, timeout=8)
                self.unharmed(name)
                if name != "10,000 workloads":
                    self.assertNotIn("OK", codes, name)
        self.end()

    def test_unauthenticated_floods_are_disconnected(self):
        ended = []

        def say(name):
            with http2.connect(self.victim.address, str(self.folder), timeout=lab.TIMEOUT) as one:
                http2.greet(one)
                try:
                    for piece in http2.flood(name):
                        one.sendall(piece)
                except OSError:
                    ended.append(name)

        attackers = [threading.Thread(target=say, args=(name,)) for name in attacks.FLOODS]
        for one in attackers:
            one.start()
        for one in attackers:
            one.join()
        self.assertEqual(sorted(ended), sorted(attacks.FLOODS))
        self.unharmed("unauthenticated")
        self.end()

    def test_the_first_request_of_a_connection_may_be_large(self):
        text = attacks.field(2, attacks.field(1, b"x" * (4 << 20)))
        with self.victim.channel("submit-x") as channel:
            submit = channel.unary_unary(attacks.TUNER + "SubmitJob", None, None)
            with self.assertRaises(grpc.RpcError) as refused:
                submit(attacks.request(text), timeout=lab.TIMEOUT)
        self.assertEqual(refused.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertIn("trials must be", refused.exception.details())
        self.end()

    def test_unauthenticated_floods_do_not_block_other_clients(self):
        for name in attacks.FLOODS:
            attacks.flood_at_once(self.victim, name, count=8, seconds=2)
            self.unharmed(name)
        self.end()

    def test_a_flood_from_an_authenticated_client_is_disconnected(self):
        with http2.connect(self.victim.address, str(self.folder), "read-x", timeout=lab.TIMEOUT) as one:
            http2.greet(one)
            http2.first_call(one)
            one.sendall(http2.frame(http2.HEADERS, http2.END_HEADERS, 3, http2.call_headers("/mlc.proto.Tuner/Best")))
            with self.assertRaises(OSError):
                while True:
                    one.sendall(http2.REPEATED["empty data"]()[1])
        self.until(lambda: "closed 1 flooding connections, the last from 127.0.0.1" in (self.folder / "messages").read_text(), "a word of it")
        self.unharmed("a flood")
        self.end()

    def test_known_callers_that_reset_their_streams_are_disconnected(self):
        for number, name in enumerate(http2.RESETS, 1):
            with self.subTest(name), http2.connect(self.victim.address, str(self.folder), "read-x", timeout=lab.TIMEOUT) as one:
                http2.greet(one)
                http2.first_call(one)
                with self.assertRaises(OSError):
                    # 200,000 streams, many times what the server and the sockets hold.
                    for piece in itertools.islice(http2.flood(name), 2_000):
                        one.sendall(piece)
                self.until(lambda: (self.folder / "messages").read_text().count("closed 1 flooding") == number, "a word of it")  # noqa: B023
                self.unharmed(name)
        self.end()

    def test_a_large_request_passes_beside_resets(self):
        stop = threading.Event()
        resets = threading.Thread(target=attacks.flood, args=(self.victim, "resets", "read-x", stop))
        resets.start()
        text = attacks.field(2, attacks.field(1, b"x" * (1 << 20)))
        with self.victim.channel("submit-x") as channel:
            submit = channel.unary_unary(attacks.TUNER + "SubmitJob", None, None)
            for _ in range(3):
                with self.assertRaises(grpc.RpcError) as refused:
                    submit(attacks.request(text), timeout=lab.TIMEOUT)
                self.assertEqual(refused.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        stop.set()
        resets.join()
        self.unharmed("resets")
        self.end()

    def test_the_oldest_unauthenticated_connections_are_evicted(self):
        crowd, _ = attacks.crowd(self.victim, 6_000)
        with crowd:
            with self.victim.channel("read-x") as channel:
                health = channel.unary_unary("/grpc.health.v1.Health/Check", None, None)
                self.assertEqual(health(b"", timeout=lab.TIMEOUT), b"\x08\x01")
            # One descriptor of the connection, and two of those whose handshake began.
            self.assertLess(self.victim.descriptors(), 3 * 2_048 + 200)
            self.unharmed("a crowd")
        self.until(lambda: self.victim.descriptors() < 100, "the end of the crowd")
        self.end()


if __name__ == "__main__":
    lab.main()
