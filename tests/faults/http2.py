"""HTTP/2 by hand, over TLS or not, for callers that no library would let us be."""
import gzip
import itertools
import socket
import ssl
import struct

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 8, 9
END_STREAM = ACK = 1
END_HEADERS = 4
CHECK = "/grpc.health.v1.Health/Check"
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def text(value):
    """A literal of HPACK, not coded."""
    length, out = len(value), b""
    if length < 127:
        return bytes([length]) + value
    length -= 127
    out = b"\x7f"
    while length >= 128:
        out += bytes([length & 127 | 128])
        length >>= 7
    return out + bytes([length]) + value


def literal(name, value):
    return b"\x00" + text(name) + text(value)


def call_headers(path, more=()):
    fields = [(b":method", b"POST"), (b":scheme", b"https"), (b":path", path.encode()), (b":authority", b"localhost"),
              (b"te", b"trailers"), (b"content-type", b"application/grpc"), *more]
    return b"".join(literal(name, value) for name, value in fields)


def connect(address, folder=None, who=None, source=None, timeout=10.0):
    """A connection; over TLS with the authority of `folder`, and with the certificate of `who` if there is one."""
    if address.startswith("unix:"):
        plain = socket.socket(socket.AF_UNIX)
        plain.settimeout(timeout)
        plain.connect(address.removeprefix("unix:"))
    else:
        host, port = address.rsplit(":", 1)
        plain = socket.create_connection((host, int(port)), timeout, (source, 0) if source else None)
    if folder is None:
        return plain
    tls = ssl.create_default_context(cafile=f"{folder}/ca.pem")
    tls.check_hostname = False
    tls.set_alpn_protocols(["h2"])
    if who:
        tls.load_cert_chain(f"{folder}/{who}.pem", f"{folder}/{who}.key")
    return tls.wrap_socket(plain)


def greet(connection):
    connection.sendall(GREETING + frame(SETTINGS))


def first_call(connection, path=CHECK):
    """Makes one small call and waits for its end; what the server says meanwhile."""
    connection.sendall(frame(HEADERS, END_HEADERS, 1, call_headers(path)) + frame(DATA, END_STREAM, 1, bytes(5)))
    said = b""
    while True:
        more = connection.recv(65536)
        said += more
        at = 0
        while at + 9 <= len(said):
            length = int.from_bytes(said[at:at + 3], "big")
            kind, flags, stream = said[at + 3], said[at + 4], int.from_bytes(said[at + 5:at + 9], "big")
            if at + 9 + length > len(said):
                break
            if kind == SETTINGS and not flags & ACK:
                connection.sendall(frame(SETTINGS, ACK))
                said = said[:at + 4] + b"\x01" + said[at + 5:]
            if stream == 1 and flags & END_STREAM and kind in (HEADERS, DATA):
                return said
            at += 9 + length
        if not more:
            return said


def endless_headers():
    """Never ends its header block: what begins it, and what goes on for ever."""
    return frame(HEADERS, 0, 3, call_headers("/x")), frame(CONTINUATION, 0, 3, literal(b"x", b"y" * 100) * 150)


def empty_continuations():
    return frame(HEADERS, 0, 3, call_headers("/x")), frame(CONTINUATION, 0, 3) * 1500


def streams(block, rest=lambda _: b""):
    """Without end, 100 streams at a time that are reset at once; `rest` is what comes between."""
    for first in itertools.count(5, 200):
        yield b"".join(frame(HEADERS, END_HEADERS, n, block) + rest(n) + frame(RST_STREAM, 0, n, struct.pack(">I", 8))
                       for n in range(first, first + 200, 2))


def resets():
    return streams(call_headers(CHECK))


def short_resets():
    """Headers of six bytes: those of the first stream are in the table of the connection, see RFC 7541."""
    fields = [(b":path", CHECK.encode()), (b":authority", b"localhost"), (b"te", b"trailers"), (b"content-type", b"application/grpc")]
    block = b"\x83\x87" + b"".join(b"\x40" + text(name) + text(value) for name, value in fields)
    yield frame(HEADERS, END_HEADERS, 3, block) + frame(RST_STREAM, 0, 3, struct.pack(">I", 8))
    yield from streams(b"\x83\x87\xc1\xc0\xbf\xbe")


def refused_resets():
    """Of calls that no role of a known caller permits."""
    return streams(call_headers("/mlc.proto.Tuner/Nothing"))


def cancelled_calls():
    """Whole calls, with their message."""
    return streams(call_headers(CHECK), lambda n: frame(DATA, END_STREAM, n, bytes(5)))


REPEATED = {
    "endless headers": endless_headers,
    "empty continuations": empty_continuations,
    "settings": lambda: (b"", frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 100)) * 1000),
    "pings": lambda: (b"", frame(PING, 0, 0, bytes(8)) * 1000),
    "window updates": lambda: (b"", frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1)) * 1000),
    "priorities": lambda: (b"", frame(PRIORITY, 0, 3, struct.pack(">IB", 0, 1)) * 1000),
    "empty data": lambda: (frame(HEADERS, END_HEADERS, 3, call_headers("/mlc.proto.Tuner/Best")), frame(DATA, 0, 3) * 1500),
    "unknown frames": lambda: (b"", frame(0xee, 0, 0, bytes(16000))),
}


RESETS = {
    "resets": resets,
    "resets with short headers": short_resets,
    "resets of refused calls": refused_resets,
    "cancelled calls": cancelled_calls,
}


def flood(name):
    """What a flood of that name sends, piece by piece, without end."""
    if name in RESETS:
        yield from RESETS[name]()
    first, again = REPEATED[name]()
    yield first
    while True:
        yield again


def gzip_bomb(mib):
    """A message of gRPC that says it is compressed: so many MiB of zeros."""
    squeezed = gzip.compress(bytes(1 << 20) * mib, 9)
    return b"\x01" + struct.pack(">I", len(squeezed)) + squeezed
