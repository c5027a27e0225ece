"""Pages that follow what changes, in the sight of a person."""

import re
import signal
import socket
import time

from browser import expect_same_page, mark, text_without_times
from checks import check, expect, until
from keyboard import press, settle

COUNTING = "/requests/com.example.counting/1"


def until_page(page, seconds, condition, message):
    expect(until(seconds, lambda: condition(page.inner_text("main")), 0.2),
           f"{message} within {seconds} s; the page says:\n{page.inner_text('main')[:1500]}")
    expect_same_page(page)


@check("live", "progress comes by itself; focus and open details stay")
def survive(bench):
    page = bench.browser.page()
    page.goto(COUNTING)
    settle(page)
    mark(page)
    page.evaluate("document.querySelectorAll('main details').forEach(it => it.open = true)")
    details = page.evaluate("document.querySelectorAll('main details[open]').length")
    expect(details > 0, "the page of a request has no details")
    page.focus("main a[href]:not([href='#'])")
    page.evaluate("window.wasFocused = document.activeElement")
    page.evaluate("window.scrollTo(0, 120)")
    top = page.evaluate("window.scrollY")
    before = text_without_times(page)
    expect(until(15, lambda: text_without_times(page) != before, 0.2), "the page did not change in 15 s")
    time.sleep(2)
    expect_same_page(page)
    now = page.evaluate("[document.querySelectorAll('main details[open]').length, "
                        "document.activeElement === window.wasFocused, window.scrollY]")
    expect(now[0] >= details, f"{details} details were open, and {now[0]} are after an update")
    expect(now[1], "the focus was lost by an update")
    expect(abs(now[2] - top) < 60, f"the page was at {top} px, and is at {now[2]} px after an update")
    expect(not page.context.complaints, "\n".join(page.context.complaints))
    page.context.close()


@check("live", "what a person types and selects stays")
def typed(bench):
    page = bench.browser.page()
    page.goto("/requests?state=running")
    settle(page)
    mark(page)
    boxes = page.locator("tbody input[type=checkbox]")
    expect(boxes.count() > 0, "running requests cannot be selected")
    boxes.first.check()
    page.fill("#search", "half a wor")
    before = text_without_times(page)
    until(8, lambda: text_without_times(page) != before, 0.2)
    time.sleep(1.5)
    expect_same_page(page)
    expect(page.input_value("#search") == "half a wor", "the search box was emptied by an update")
    expect(boxes.first.is_checked(), "the selection was lost by an update")
    page.context.close()


@check("live", "a paused page does not change, and goes on when it is resumed")
def pause(bench):
    page = bench.browser.page()
    page.goto(COUNTING)
    settle(page)
    mark(page)
    page.wait_for_timeout(500)
    press(page, "p")
    page.wait_for_timeout(1200)  # A fetch that was under way may still arrive.
    before = page.inner_text("main")
    page.wait_for_timeout(4000)
    expect(page.inner_text("main") == before, "a paused page changed")
    expect("Paused" in page.inner_text("#live"), f"a paused page says '{page.inner_text('#live')}'")
    press(page, "p")
    until_page(page, 10, lambda text: text != before, "a resumed page did not change")
    page.context.close()


@check("live", "a killed worker is seen: on its page, in the list, on the request that it ran")
def killed(bench):
    host = bench.fleet.json("show", "com.example.counting")["host"]
    other = "anna" if host == "ben" else "ben"
    context = bench.browser.context()
    pages = {}
    for name, path in {"request": COUNTING, "host": f"/hosts/{host}", "hosts": "/hosts", "overview": "/"}.items():
        pages[name] = context.new_page()
        pages[name].goto(path)
        settle(pages[name])
        mark(pages[name])
    bench.fleet.kill_worker(host)
    try:
        until_page(pages["hosts"], 15, lambda text: re.search(rf"{host}[\s\S]{{0,40}}(away|gone)", text),
                   f"the list does not show that {host} is away")
        until_page(pages["host"], 15, lambda text: re.search(r"\b(away|gone)\b", text), "its page does not show it")
        until_page(pages["request"], 20, lambda text: other in text and "lost" in text,
                   f"the request does not show that its launch was lost and goes on on {other}")
        until_page(pages["overview"], 15, lambda text: re.search("gone|away", text), "the overview does not show it")
        expect(not context.complaints, "\n".join(context.complaints))
    finally:
        bench.fleet.start_worker(host, slots=6)
        bench.fleet.until_ready(2)
    until_page(pages["hosts"], 15, lambda text: re.search(rf"{host}[\s\S]{{0,40}}ready", text),
               f"the list does not show that {host} is back")
    context.close()


@check("live", "a killed coordinator: the page says so, goes on, and the person is signed in")
def restarted(bench):
    page = bench.browser.page()
    page.goto(COUNTING)
    settle(page)
    mark(page)
    until_live(page, 5)
    bench.fleet.kill_coordinator()
    try:
        said = until(20, lambda: "trying again" in page.inner_text("#live"), 0.2)
        expect(said, f"20 s after the coordinator was killed the page says '{page.inner_text('#live')}'")
        expect_same_page(page)
        expect("com.example.counting" in page.inner_text("main"), "what was on the page is gone")
        answer = bench.site.get("/hosts")
        expect(answer.status == 503, f"a page without a coordinator is {answer}")
    finally:
        bench.fleet.start_coordinator()
    expect(until(30, lambda: page.inner_text("#live") == "Live", 0.2),
           f"30 s after the coordinator is back the page says '{page.inner_text('#live')}'")
    before = text_without_times(page)
    expect(until(20, lambda: text_without_times(page) != before, 0.2), "the page does not go on")
    expect_same_page(page)
    page.goto("/hosts")
    expect("/login" not in page.url, "the session has ended")
    bench.fleet.until_ready(2)
    page.context.close()


def until_live(page, seconds):
    is_live = until(seconds, lambda: page.inner_text("#live") == "Live")
    expect(is_live, f"the page says '{page.inner_text('#live')}'")


@check("live", "twelve tabs share one stream, and another tab takes over")
def tabs(bench):
    context = bench.browser.context()
    streams = {"open": set()}

    def note(request):
        if request.url.endswith("/changes"):
            streams["open"].add(request)

    context.on("request", note)
    for name in ("requestfinished", "requestfailed"):
        context.on(name, lambda request: streams["open"].discard(request))
    pages = []
    for _ in range(12):
        page = context.new_page()
        page.goto(COUNTING)
        settle(page)
        mark(page)
        pages.append(page)
    pages[-1].wait_for_timeout(1500)
    expect(len(streams["open"]) == 1, f"12 tabs have {len(streams['open'])} streams")
    before = [text_without_times(page) for page in pages]
    late = until(20, lambda: all(text_without_times(page) != old for page, old in zip(pages, before)), 0.5)
    expect(late, "not every tab was brought up to date: "
           + str([text_without_times(page) != old for page, old in zip(pages, before)]))
    leader = next(iter(streams["open"])).frame.page
    streams["open"].clear()
    leader.close()
    rest = [page for page in pages if page != leader]
    rest[0].wait_for_timeout(1500)
    expect(len(streams["open"]) == 1, f"after the tab with the stream was closed, {len(streams['open'])} have one")
    before = text_without_times(rest[-1])
    expect(until(20, lambda: text_without_times(rest[-1]) != before, 0.3), "the other tabs do not go on")
    context.close()


@check("live", "baton console ends within 3 s of SIGTERM, with 100 open streams; one more is refused")
def streams(bench):
    from web import Site

    console = bench.fleet.console()
    site = Site(console.port)
    site.sign_in(console.code)
    asked = f"GET /changes HTTP/1.1\r\nHost: {site.host}\r\nCookie: {site.cookie}\r\n\r\n".encode()
    connections, answers = [], []
    for _ in range(101):
        connection = socket.create_connection(("127.0.0.1", console.port), timeout=10)
        connection.sendall(asked)
        answers.append(connection.recv(4096).split(b"\r\n")[0])
        connections.append(connection)
    expect(all(b" 200 " in answer for answer in answers[:100]), f"of 100 streams some are refused: {set(answers)}")
    expect(b" 503 " in answers[100], f"the 101st stream is answered {answers[100]}")
    begun = time.monotonic()
    console.process.send_signal(signal.SIGTERM)
    ended = until(10, lambda: console.process.poll() is not None, 0.05)
    took = time.monotonic() - begun
    for connection in connections:
        connection.close()
    expect(ended is not False and took <= 3, f"it took {took:.1f} s" if ended else "it does not end within 10 s")
    expect(console.process.returncode == 0, f"its status is {console.process.returncode}")
    return f"{took:.1f} s"
