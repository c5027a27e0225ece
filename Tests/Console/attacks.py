"""What others may try: foreign pages, old codes, altered cookies, large bodies. None of it may change anything."""

import http.server
import json
import re
import threading
import time
import urllib.parse

from checks import check, expect, until
from places import ACTIONS, PAGES
from web import SAME, Site, FORM

PAUSE = "/fleet/pause"


def is_paused(bench):
    return bench.fleet.json("status", check=False)["paused"]


def expect_refused(bench, answer, statuses, what):
    expect(answer.status in statuses, f"{what} is answered {answer}, and not {statuses}")
    expect(not is_paused(bench), f"{what}: the fleet is paused")


@check("attacks", "a change needs to come from the console's own pages")
def origins(bench):
    site, own = bench.site, bench.console.origin
    tries = {
        "another port (Sec-Fetch-Site: same-site)": {
            "Sec-Fetch-Site": "same-site", "Origin": f"http://{bench.console.host.partition(':')[0]}:1"},
        "another site": {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
        "no page (Sec-Fetch-Site: none)": {"Sec-Fetch-Site": "none"},
        "a lie in Origin beside Sec-Fetch-Site": {"Sec-Fetch-Site": "same-site", "Origin": own},
        "neither header": {},
        "another port (Origin)": {"Origin": "http://baton.localhost:1"},
        "the same port of another name (Origin)": {"Origin": f"http://127.0.0.1:{bench.console.port}"},
        "Origin: null": {"Origin": "null"},
        "an Origin that begins like ours": {"Origin": own + ".evil.example"},
        "a form that is plain text": SAME | {"Content-Type": "text/plain"},
        "JSON": SAME | {"Content-Type": "application/json"},
    }
    for what, headers in tries.items():
        statuses = (415, 400) if "Content-Type" in headers else (403,)
        body = "{}" if "json" in str(headers) else ""
        merged = FORM | headers
        expect_refused(bench, site.call("POST", PAUSE, headers=merged, body=body), statuses, what)
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "HEAD", "GET"):
        answer = site.call(method, PAUSE, headers=SAME)
        allowed = (200,) if method in ("HEAD", "GET") else (403, 404, 405, 400, 501)
        expect_refused(bench, answer, allowed, method)
    answer = site.call("POST", PAUSE, {}, headers={"Origin": own})
    expect(answer.status == 303, f"a change from our own page of an older browser is answered {answer}")
    expect(is_paused(bench), "the fleet was not paused by its own button")
    expect(site.post("/fleet/resume").status == 303, "resume does not work")
    expect(not is_paused(bench), "the fleet was not resumed")


@check("attacks", "a page at another port of this machine cannot change anything, in a real browser")
def another_port(bench):
    target = f"{bench.console.origin}{PAUSE}"
    page_text = f"<form method=post action='{target}'><button>x</button></form>".encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page_text)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for host in (bench.console.host.partition(":")[0], "127.0.0.1", "other.localhost"):
            page = bench.browser.page()
            page.goto(f"http://{host}:{server.server_port}/")
            read = page.evaluate(
                "url => fetch(url, {credentials: 'include'}).then(answer => answer.type, () => 'refused')",
                bench.console.origin + "/hosts")
            expect(read == "refused", f"a page at another port of {host} can read the console: {read}")
            page.click("button")
            page.wait_for_url("**" + PAUSE)
            page.wait_for_load_state("load")
            expect(not is_paused(bench), f"a form at another port of {host} has paused the fleet")
            page.context.close()
    finally:
        server.shutdown()


@check("attacks", "the console answers at its own name only, which no other program of the machine knows")
def hosts(bench):
    port = bench.console.port
    for host in ("evil.example", f"evil.example:{port}", f"baton.localhost.evil.example:{port}", "10.0.0.1", "",
                 f"127.0.0.1.evil.example:{port}", "evil.example#.localhost", "user@evil.example",
                 f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", f"baton.localhost:{port}",
                 f"x.{bench.console.host}", f"x{bench.console.host}"):
        answer = bench.site.call("GET", "/hosts", host=host)
        expect(answer.status in (421, 400), f"for Host '{host}' the answer is {answer}")
        expect("anna" not in answer.text, f"for Host '{host}' the answer has the page")
    # Another port than its own: ssh may forward it.
    for host in (bench.console.host, bench.console.host.partition(":")[0] + ":1"):
        expect(bench.site.call("GET", "/hosts", host=host).status == 200, f"Host '{host}' is refused")


@check("attacks", "a code works once, and only exactly")
def codes(bench):
    site = Site(bench.console.port)
    code = bench.console.fresh_address().partition("#")[2]
    expect(re.fullmatch(r"[A-Za-z0-9_-]{22,}", code), f"a code is '{code}'")
    for wrong in ("", code[:-1], code + "x", code[:-1] + ("x" if code[-1] != "x" else "y"), "%00", "x" * 70_000):
        answer = Site(bench.console.port).sign_in(wrong)
        expect(answer.status in (400, 401, 413, 429), f"the code '{wrong[:50]}' is answered {answer}")
        expect("Set-Cookie" not in answer.headers, f"the code '{wrong[:50]}' gets a cookie")
    answer = site.post("/login", {"code": code}, cookie=False, headers={"Sec-Fetch-Site": "cross-site"})
    expect(answer.status == 403, f"a sign-in from another site is answered {answer}")
    answer = site.sign_in(code)
    expect(answer.status == 303 and site.cookie, f"after wrong codes the right one is answered {answer}")
    again = Site(bench.console.port).sign_in(code)
    expect(again.status in (401, 429) and "Set-Cookie" not in again.headers, f"a used code is answered {again}")
    words = {word.strip().lower() for word in answer.header("Set-Cookie").split(";")[1:]}
    expect({"httponly", "samesite=strict", "path=/"} <= words, f"the cookie is {answer.header('Set-Cookie')}")
    expect(re.match(r"baton_[0-9a-f]{8}=", site.cookie), f"the cookie is {site.cookie}")
    expect(site.get("/hosts").status == 200, "the session does not work")
    expect(site.post("/logout").status == 303, "the sign-out does not work")
    expect(site.get("/hosts").status == 303, "the session goes on after the sign-out")


@check("attacks", "without a session there is nothing")
def strangers(bench):
    site = Site(bench.console.port)
    for path in PAGES.values():
        answer = site.get(path)
        expect(answer.status == 303 and answer.header("Location").startswith("/login"), f"{path} is answered {answer}")
    for path, fields in ACTIONS.items():
        answer = site.post(path.partition("?")[0], fields)
        expect(answer.status == 401, f"POST {path} is answered {answer}")
    expect(site.post("/definitions/apply", ACTIONS["/definitions/check"]).status == 401, "definitions can be applied")
    answer = site.get("/changes", headers={"Accept": "text/event-stream", "Sec-Fetch-Mode": "cors"})
    expect(answer.status == 401, f"/changes is answered {answer}")


@check("attacks", "an altered cookie, and one of another console, are no session")
def cookies(bench):
    cookie = bench.site.cookie
    name, _, value = cookie.partition("=")
    places = sorted({0, 1, 20, 30, len(value) // 2, len(value) - 2, len(value) - 1})
    altered = [value[:at] + ("0" if value[at] != "0" else "1") + value[at + 1:] for at in places]
    altered += [value[:-2], value + "00", "", value.upper(), "é", "0" * 9000]
    for other in altered:
        answer = Site(bench.console.port).get("/hosts", cookie=f"{name}={other}".encode("latin-1", "ignore"))
        expect(answer.status in (303, 400, 431), f"an altered cookie is answered {answer}")
    other = bench.fleet.console()
    foreign = Site(other.port)
    foreign.sign_in(other.code)
    expect(foreign.get("/hosts").status == 200, "the second console does not work")
    theirs = foreign.cookie.partition("=")[2]
    for shown in (foreign.cookie, f"{name}={theirs}"):
        expect(bench.site.get("/hosts", cookie=shown).status == 303, "a cookie of another console is a session here")
    other.close()


@check("attacks", "GET of an action asks, and changes nothing")
def asking(bench):
    def everything():
        kept = {key: bench.fleet.json(*words) for key, words in {
            "paused": ["status"], "definitions": ["definitions"], "hosts": ["hosts"],
            "requests": ["list", "--all", "--limit", "1000"]}.items()}
        return {
            "paused": kept["paused"]["paused"], "evictions": kept["paused"]["evictions"],
            "definitions": sorted(json.dumps(it["definition"], sort_keys=True) if "definition" in it else
                                  it["identifier"] for it in kept["definitions"]),
            "hosts": [
                (it["name"], it["state"] == "draining", it["conditions"]["power"]["value"]) for it in kept["hosts"]],
            "requests": sorted((it["identifier"], it["request"], it["state"] in ("cancelled",), it["priority"])
                               for it in kept["requests"]),
        }

    before = everything()
    for path, fields in ACTIONS.items():
        joint = "&" if "?" in path else "?"
        for place in (path, path + joint + urllib.parse.urlencode(fields, doseq=True)):
            for method in ("GET", "HEAD"):
                answer = bench.site.call(method, place, headers=SAME)
                expect(answer.status in (200, 400, 404, 409), f"{method} {place} is answered {answer}")
        answer = bench.site.get(path)
        expect(answer.status == 200, f"the question of {path} is answered {answer}")
        expect('id="question"' in answer.text or "<form" in answer.text, f"{path} asks nothing: {answer}")
    after = everything()
    for key in before:
        expect(before[key] == after[key], f"{key} changed: {before[key]} is now {after[key]}"[:3000])


@check("attacks", "a sign-in leads to this console only, and no header can be added")
def redirects(bench):
    for place in ("//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example", "/\t/evil.example",
                  "javascript:alert(1)", "/a\r\nSet-Cookie: x=1", "/a\nX-Evil: 1", "/%0d%0aX-Evil:1", "evil.example",
                  "/\r/evil.example", "///evil.example", "/.//evil.example", "/..//evil.example", "/a/..//evil.example",
                  "\u2028//evil.example"):
        code = bench.console.fresh_address().partition("#")[2]
        answer = Site(bench.console.port).post("/login", {"code": code, "to": place}, cookie=False)
        location = answer.header("Location") or ""
        expect(answer.status in (303, 400), f"to={place!r} is answered {answer}")
        expect(answer.status != 303 or re.match(r"/(?![/\\])[!-~]*$", location), f"to={place!r} leads to {location!r}")
        expect(not answer.header("X-Evil") and "x=1" not in str(answer.headers.get_all("Set-Cookie")),
               f"to={place!r} adds a header: {answer}")
        encoded = Site(bench.console.port).call(
            "GET", "/login?" + urllib.parse.urlencode({"to": place}))
        expect(encoded.status in (200, 400), f"GET /login with to={place!r} is answered {encoded}")
        expect('value="//' not in encoded.text and "X-Evil" not in encoded.headers,
               f"GET /login with to={place!r} is answered {encoded}")
    answer = bench.site.raw(
        f"GET /x%0d%0aX-Evil:%201 HTTP/1.1\r\nHost: {bench.site.host}\r\nConnection: close\r\n\r\n".encode())
    expect(b"\r\nX-Evil" not in answer.partition(b"\r\n\r\n")[0], f"a path adds a header: {answer[:300]}")
    for query in ("//evil.example", "https://evil.example", "a\r\nX-Evil: 1", "../../x", "anna/../ben"):
        answer = bench.site.call("GET", "/search?" + urllib.parse.urlencode({"q": query}))
        location = answer.header("Location") or "/"
        expect(answer.status in (200, 303, 400, 404) and re.match(r"/(?![/\\])[!-~]*$", location),
               f"the search for {query!r} leads to {location!r}: {answer}")
        expect(not answer.header("X-Evil"), f"the search for {query!r} adds a header")


@check("attacks", "assets are those of the console, and pages say what browsers need to know")
def assets(bench):
    page = bench.site.get("/hosts")
    style = re.search(r'href="(/assets/[^"]+\.css)"', page.text)
    expect(style, "the page names no style sheet")
    answer = bench.site.get(style[1], cookie=False)
    expect(answer.status == 200 and "immutable" in (answer.header("Cache-Control") or ""), f"the style sheet: {answer}")
    expect(answer.header("Content-Type").startswith("text/css"), f"the style sheet is {answer}")
    folder = style[1].rpartition("/")[0]
    for path in ("/assets/../hosts", "/assets/../../../../etc/passwd", f"{folder}/../../../etc/passwd",
                 f"{folder}/..%2f..%2f..%2fetc%2fpasswd", f"{folder}/%2e%2e/%2e%2e/etc/passwd", f"{folder}/",
                 "/assets/0000/console.css", f"{folder}/console.css%00.js", f"{folder}//console.css",
                 "/assets/" + "a" * 8000):
        answer = bench.site.call("GET", path, cookie=False)
        expect(answer.status in (404, 400, 303, 414, 431), f"{path} is answered {answer}")
        expect("root:" not in answer.text, f"{path} shows a file of the machine")
    policy = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
              "form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
    for path in (*PAGES.values(), "/login", "/nothing", style[1]):
        answer = bench.site.get(path)
        wanted = {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
                  "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin"}
        if not path.startswith("/assets"):
            wanted["Cache-Control"] = "no-store"
        for name, value in wanted.items():
            expect(answer.header(name) == value, f"{path}: {name} is {answer.header(name)!r}, not {value!r}")


@check("attacks", "bodies and headers that are too large are refused, and slow ones do not block")
def sizes(bench):
    site = bench.site
    for path in ("/login", PAUSE, "/definitions/check"):
        body = "x=" + "a" * (40 * 1024 * 1024)
        answer = call_or_closed(site, path, body)
        expect(answer is None or answer.status in (400, 413), f"40 MiB to {path}: {answer}")
    answer = call_or_closed(site, PAUSE, "&".join(f"a{n}=1" for n in range(20_000)))
    expect(answer is None or answer.status in (400, 413), f"20,000 fields: {answer}")
    head = f"GET /hosts HTTP/1.1\r\nHost: {site.host}\r\nCookie: {'a' * 2_000_000}\r\n\r\n".encode()
    answer = site.raw(head)
    expect(not answer or re.match(rb"HTTP/1.1 4", answer), f"a header of 2 MB: {answer[:100]}")
    for body in ("a=1", "a=%zz", "a=%", "%00=1", "\x00\xff", "id=" + "%F0%28%8C%28"):
        answer = site.call("POST", PAUSE, headers=SAME | FORM, body=body)
        expect_refused(bench, answer, (400, 413), f"the body {body!r}")
    for query in ("?state=nonsense", "?after=%zz", "?after=%27%3B--", "?since=yesterday-or-so", "?nonsense=1",
                  "?state=failed&state=ready", "?id=" + "a" * 5000):
        answer = site.get("/requests" + query)
        expect(answer.status in (200, 400, 414), f"/requests{query[:60]} is answered {answer}")
    expect(site.get("/hosts").status == 200, "the console does not answer any more")
    expect(not is_paused(bench), "the fleet is paused")


def call_or_closed(site, path, body):
    try:
        return site.call("POST", path, headers=SAME | FORM, body=body)
    except (ConnectionError, TimeoutError):
        return None


@check("attacks", "a read-only console has no buttons, and changes nothing")
def read_only(bench):
    console = bench.fleet.console("--read-only")
    site = Site(console.port)
    site.sign_in(console.code)
    expect_only_reading(bench, site)
    console.close()


@check("attacks", "a credential that may only read has no buttons, over the coordinator's HTTPS")
def reader(bench):
    token = bench.fleet.run("credential", "create", "viewer", "--scope", "read").strip()
    site = Site(bench.fleet.https, tls=True)
    answer = site.sign_in("bt1_wrong", field="credential")
    expect(answer.status in (401, 403, 429) and "Set-Cookie" not in answer.headers, f"a wrong credential: {answer}")
    answer = site.sign_in(token, field="credential")
    expect(answer.status == 303 and site.cookie, f"the credential is answered {answer}")
    expect("secure" in answer.header("Set-Cookie").lower(), f"the cookie is {answer.header('Set-Cookie')}")
    expect(token not in answer.header("Set-Cookie"), "the cookie has the credential in it")
    # What was done by whom is for administrators.
    expect_only_reading(bench, site, but=("activity",))
    bench.fleet.run("credential", "revoke", "viewer")
    ended = until(5, lambda: site.get("/hosts").status != 200, 0.2)
    expect(ended, "the session goes on after its credential was revoked")


def expect_only_reading(bench, site, but=()):
    for name, path in PAGES.items():
        if name in ("question", "question-flow", "check", *but):
            continue
        answer = site.get(path)
        expect(answer.status == (404 if name == "missing" else 200), f"{path} is answered {answer}")
        buttons = re.findall(r"<a[^>]*data-dialog[^>]*>", answer.text)
        forms = [form for form in re.findall(r'<form[^>]*method="post"[^>]*>', answer.text) if "/logout" not in form]
        expect(not buttons and not forms, f"{path} has {buttons[:2]} {forms[:2]}")
    for path, fields in ACTIONS.items():
        answer = site.post(path.partition("?")[0], fields)
        reads = path == "/definitions/check"
        expect(answer.status == 403 or (reads and answer.status == 200), f"POST {path} is answered {answer}")
    answer = site.post("/definitions/apply", ACTIONS["/definitions/check"])
    expect(answer.status == 403, f"applying definitions is answered {answer}")
    expect(not is_paused(bench), "the fleet is paused")
    expect("com.example.new" not in bench.fleet.run("definitions"), "a definition was applied")


@check("attacks", "a code of a minute ago is no code")
def expired(bench):
    """The console was started at the beginning, and its code was not used."""
    site = Site(bench.old.port)
    time.sleep(max(0, 61 - (time.monotonic() - bench.old.begun)))
    answer = site.sign_in(bench.old.code)
    expect(answer.status == 401 and "Set-Cookie" not in answer.headers, f"an old code is answered {answer}")
    fresh = bench.old.fresh_address().partition("#")[2]
    expect(site.sign_in(fresh).status == 303, "a fresh code is refused")
