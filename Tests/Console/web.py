"""Calls of the console without a browser, byte by byte."""

import http.client
import re
import socket
import urllib.parse

from fleet import UNVERIFIED

SAME = {"Sec-Fetch-Site": "same-origin"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.text = body.decode(errors="replace")

    def header(self, name):
        return self.headers.get(name)

    def __repr__(self):
        kept = {name: self.headers[name] for name in ("Location", "Set-Cookie", "Content-Type") if name in self.headers}
        words = re.sub(r"<[^>]*>|\s+", " ", self.text.partition("<main")[2] or self.text)
        return f"{self.status} {kept} {re.sub(' +', ' ', words)[:200]!r}"


# The names of consoles by their ports: each process draws one.
HOSTS = {}


class Site:
    """A console at a port, and the cookie of a session there."""

    def __init__(self, port, host=None, tls=False):
        self.port, self.tls, self.cookie = port, tls, None
        self.host = host or (f"127.0.0.1:{port}" if tls else HOSTS[port])

    def connect(self, timeout=20):
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, context=UNVERIFIED, timeout=timeout)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def call(self, method, path, fields=None, headers=None, cookie=True, body=None, host=None):
        """One call. `fields`: of a form; `cookie`: whether the session is shown, or another cookie."""
        sent = {"Host": self.host if host is None else host}
        if cookie:
            shown = self.cookie if cookie is True else cookie
            sent |= {"Cookie": shown} if shown else {}
        if fields is not None:
            body, sent = urllib.parse.urlencode(fields), sent | FORM
        connection = self.connect()
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            data = body.encode() if isinstance(body, str) else body
            if method == "POST" or data:
                sent["Content-Length"] = str(len(data or b""))
            for name, value in (sent | (headers or {})).items():
                connection.putheader(name, value)
            connection.endheaders()
            try:
                if data:
                    connection.send(data)
            except (BrokenPipeError, ConnectionResetError):
                pass  # It has answered before it has read everything.
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post(self, path, fields=None, **more):
        """A change as the console's own pages make it."""
        return self.call("POST", path, fields or {}, **({"headers": SAME} | more))

    def sign_in(self, code, field="code"):
        answer = self.post("/login", {field: code}, cookie=False)
        if answer.status == 303 and answer.header("Set-Cookie"):
            self.cookie = answer.header("Set-Cookie").partition(";")[0]
        return answer

    def raw(self, text, seconds=5):
        """Sends bytes as they are, and returns what comes back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            try:
                connection.sendall(text)
                connection.shutdown(socket.SHUT_WR)
                parts = []
                while part := connection.recv(65536):
                    parts.append(part)
            except (TimeoutError, ConnectionError):
                pass
            return b"".join(parts)


def links_of(text):
    """The places of this console that a page links to, without their fragments."""
    found = []
    for link in re.findall(r'<a\b[^>]*?\bhref="([^"]*)"', text):
        link = link.replace("&amp;", "&").partition("#")[0]
        if link.startswith("/") and not link.startswith("//") and link not in found:
            found.append(link)
    return found
