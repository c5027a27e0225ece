"""The parts of HTTP/2, gRPC and protobuf that a client of the coordinator needs, so that a call need not start a
process. It uses one connection, and no dynamic header tables."""

import socket
import ssl
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
WINDOW = (1 << 31) - 1


class CallFailed(Exception):
    """The coordinator answered with an error. The call has changed nothing, unless the message says `unknown`."""

    def __init__(self, status, message):
        super().__init__(f"status {status}: {message}")
        self.status = status
        self.message = message


# ---- Protobuf


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """One field: a number as a varint; text and bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(data):
    """The number and the value of each field. A value is an int or bytes."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
        elif key & 7 == 2:
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"wire type {key & 7} is not used by Baton")
        yield key >> 3, value


def read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
        shift += 7


def first(data, number, default=None):
    """The value of the first field of that number."""
    return next((value for found, value in fields(data) if found == number), default)


# ---- HPACK (RFC 7541). Huffman codes are canonical: consecutive within a length. Rare codes are decoded as nothing.

HUFFMAN = {
    5: "012aceiost", 6: " %-./3456789=A_bdfghlmnpru", 7: ":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz", 8: "&*,;XZ",
    10: "!\"()?", 11: "'+|", 12: "#>", 13: "\0$@[]~", 14: "^}", 15: "<`{",
}  # fmt: skip


def huffman_codes():
    codes, code, previous = {}, 0, 5
    for length, symbols in HUFFMAN.items():
        code <<= length - previous
        previous = length
        for symbol in symbols:
            codes[length, code] = symbol
            code += 1
    return codes


CODES = huffman_codes()


def huffman_text(data):
    text, code, length = [], 0, 0
    for byte in data:
        for bit in range(7, -1, -1):
            code, length = code << 1 | byte >> bit & 1, length + 1
            if (length, code) in CODES:
                text.append(CODES[length, code])
                code = length = 0
    return "".join(text)


def prefixed(data, at, bits):
    """Decodes an integer whose first `bits` bits are in the byte at `at`."""
    limit = (1 << bits) - 1
    value, at = data[at] & limit, at + 1
    if value < limit:
        return value, at
    rest, at = read_varint(data, at)
    return value + rest, at


def header_text(data, at):
    length, end = prefixed(data, at, 7)
    raw = data[end : end + length]
    text = huffman_text(raw) if data[at] & 0x80 else raw.decode("latin-1")
    return text, end + length


def headers_in(block):
    """The headers that are sent with their names. Headers whose name is in the static table are left out."""
    found, at = {}, 0
    while at < len(block):
        byte = block[at]
        if byte & 0x80:
            _, at = prefixed(block, at, 7)
        elif byte & 0xE0 == 0x20:
            _, at = prefixed(block, at, 5)
        else:
            index, at = prefixed(block, at, 6 if byte & 0x40 else 4)
            name = None
            if index == 0:
                name, at = header_text(block, at)
            value, at = header_text(block, at)
            if name is not None:
                found[name] = value
    return found


def header(name, value):
    """A header as a literal that is never indexed, without Huffman codes."""
    out = b"\x10"
    for text in (name, value):
        data = text.encode()
        out += (bytes([len(data)]) if len(data) < 127 else b"\x7f" + varint(len(data) - 127)) + data
    return out


# ---- HTTP/2


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def greeting():
    """The first bytes of a client: no header table, and the largest windows."""
    settings = struct.pack(">HIHI", 1, 0, 4, WINDOW)
    return PREFACE + frame(SETTINGS, 0, 0, settings) + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", WINDOW - 65535))


def request_headers(path, token, authority="127.0.0.1"):
    pairs = [
        (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", authority),
        ("content-type", "application/grpc"), ("te", "trailers"), ("authorization", f"Bearer {token}"),
    ]  # fmt: skip
    return b"".join(header(name, value) for name, value in pairs)


def message(body):
    """A gRPC message without compression."""
    return b"\0" + struct.pack(">I", len(body)) + body


def dial(path, timeout):
    """A connection to the coordinator's Unix socket."""
    near = socket.socket(socket.AF_UNIX)
    near.settimeout(timeout)
    near.connect(str(path))
    return near


def dial_tls(port, timeout):
    """A connection over TLS to the coordinator's listener for operators, which is not checked."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout))


class Connection:
    """Frames over the Unix socket at `path`. Raises OSError if the connection breaks, or if nothing comes for longer than `timeout`."""

    def __init__(self, path, token, timeout=10):
        self.token = token
        self.socket = dial(path, timeout)
        self.buffer = bytearray()
        self.next_stream = 1
        self.window = {0: 65535}
        self.initial_window = 65535
        # The calls that wait: their data, their headers, and whether the answer is complete.
        self.answers = {}
        self.socket.sendall(greeting())

    def close(self):
        self.socket.close()

    def open_stream(self, path):
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        self.window[stream] = self.initial_window
        self.socket.sendall(frame(HEADERS, END_HEADERS, stream, request_headers(path, self.token)))
        return stream

    def send(self, stream, body, ends=True):
        """Sends a message. If it is larger than the window, it waits for the window."""
        data = message(body)
        at = 0
        while at < len(data):
            room = min(self.window[0], self.window[stream], 16384, len(data) - at)
            if room == 0:
                self.advance()
                continue
            flags = END_STREAM if ends and at + room == len(data) else 0
            self.socket.sendall(frame(DATA, flags, stream, data[at : at + room]))
            self.window[0] -= room
            self.window[stream] -= room
            at += room

    def receive(self):
        """The next frame: kind, flags, stream, payload."""
        self.fill(9)
        length = int.from_bytes(self.buffer[:3], "big")
        self.fill(9 + length)
        kind, flags = self.buffer[3], self.buffer[4]
        stream = int.from_bytes(self.buffer[5:9], "big") & WINDOW
        payload = bytes(self.buffer[9 : 9 + length])
        del self.buffer[: 9 + length]
        return kind, flags, stream, payload

    def fill(self, size):
        while len(self.buffer) < size:
            data = self.socket.recv(1 << 16)
            if not data:
                raise ConnectionResetError("the coordinator closed the connection")
            self.buffer += data

    def take(self, received):
        """Answers frames that concern the connection itself."""
        kind, flags, stream, payload = received
        if kind == SETTINGS and not flags & ACK:
            for at in range(0, len(payload), 6):
                name, value = struct.unpack_from(">HI", payload, at)
                if name == 4:
                    self.grow(value)
            self.socket.sendall(frame(SETTINGS, ACK, 0))
        elif kind == WINDOW_UPDATE:
            self.window[stream] = self.window.get(stream, 0) + struct.unpack(">I", payload)[0]
        elif kind == PING and not flags & ACK:
            self.socket.sendall(frame(PING, ACK, 0, payload))
        elif kind == RESET:
            raise ConnectionResetError("the coordinator reset the stream")
        elif kind == GOAWAY:
            raise ConnectionResetError("the coordinator goes away")

    def grow(self, initial):
        for stream in self.window:
            if stream:
                self.window[stream] += initial - self.initial_window
        self.initial_window = initial

    def advance(self):
        """Receives a frame. If it belongs to a call that waits, it is kept for that call."""
        received = self.receive()
        kind, flags, stream, payload = received
        self.take(received)
        if stream not in self.answers:
            return
        data, headers, _ = self.answers[stream]
        if kind == DATA:
            data += payload
        elif kind == HEADERS:
            headers |= headers_in(payload)
        if flags & END_STREAM and kind in (DATA, HEADERS):
            self.answers[stream] = data, headers, True

    def begin(self, path, body):
        """Begins a call. `finish` waits for its answer; many calls may wait at the same time."""
        stream = self.open_stream(path)
        self.answers[stream] = bytearray(), {}, False
        self.send(stream, body)
        return stream

    def finish(self, stream):
        """Waits for the answer. Raises CallFailed if it is an error."""
        while not self.answers[stream][2]:
            self.advance()
        data, headers, _ = self.answers.pop(stream)
        self.window.pop(stream, None)
        if headers.get("grpc-status") != "0":
            raise CallFailed(int(headers.get("grpc-status") or 2), headers.get("grpc-message", ""))
        if len(data) < 5:
            raise CallFailed(2, "an answer without a message")
        return bytes(data[5:])

    def call(self, path, body):
        """Makes a call and waits for its answer. Raises CallFailed if it is an error."""
        return self.finish(self.begin(path, body))
