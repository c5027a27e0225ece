"""What each action does, by its own form in a browser, on each server of the console."""

import re
import subprocess

from checks import check, expect, until
from fleet import HOSTS, end, free_port
from web import Site

R = "/requests/com.example"


def act(page, path, fields=None):
    """Fills the question of an action in, presses its button, and returns what the notice says."""
    page.goto(path)
    for name, value in (fields or {}).items():
        field = page.locator(f"#question [name={name}]")
        if field.evaluate("it => it.nodeName") == "SELECT":
            field.select_option(value)
        elif field.get_attribute("type") == "checkbox":
            field.check()
        else:
            field.fill(value)
    page.click("#question .buttons button")
    page.wait_for_load_state("load")
    said = page.locator(".failure").all_inner_texts()
    expect(page.locator(".notice").count() == 1, f"{path} with {fields} says {said or page.inner_text('main')[:300]}")
    return page.inner_text(".notice")


def expect_soon(condition, message):
    expect(until(15, condition, 0.3), message)


def request(bench, name):
    return bench.fleet.json("show", f"com.example.{name}")


def host(bench, name):
    return next((it for it in bench.fleet.json("hosts") if it["name"] == name), None)


@check("actions", "those of a request: new definition, priority, start now, stop now, poke, cancel, retry")
def requests(bench):
    # A host that was restarted has external power again, and runs what waited for it.
    for name in ("anna", "ben"):
        bench.fleet.run("simulate", "conditions", name, "--power", "battery", "--for", "1h")
    names = [f"com.example.waiting.{number}" for number in (140, 141, 142)]
    bench.fleet.call("POST", "/v1/requests", [{"identifier": name} for name in names])
    page = bench.browser.page()
    act(page, f"{R}.waiting.140/1/priority", {"priority": "userInitiated"})
    expect(request(bench, "waiting.140")["priority"] == "userInitiated", "the priority was not set")
    act(page, f"{R}.waiting.141/1/simulate-launch")
    expect_soon(lambda: request(bench, "waiting.141")["state"] == "succeeded", "the request was not started")
    before = request(bench, "counting")["launches"]
    act(page, f"{R}.counting/1/simulate-expire", {"reason": "thermal"})
    expect_soon(lambda: request(bench, "counting")["launches"] > before, "the launch was not stopped")
    act(page, "/definitions/com.example.poked/submit?poke=5", {"payload": '{"from": "a browser"}'})
    pokes = request(bench, "poked")["pokes"]
    expect(pokes[-1]["principal"] and len(pokes) > 1, f"the poke did not join the request: {pokes}")
    act(page, f"{R}.scheduled/1/redefine")
    expect(request(bench, "scheduled")["title"] == "Is not due for two days", "the request keeps its old definition")
    expect(page.locator("a:has-text('Use the new definition')").count() == 0, "it can be given its definition again")
    act(page, f"{R}.waiting.142/1/cancel")
    expect(request(bench, "waiting.142")["state"] == "cancelled", "the request was not cancelled")
    act(page, f"{R}.broken.3/1/retry", {"skip": True})
    expect_soon(lambda: request(bench, "broken.3")["skippedBatches"] == [1], "the batch was not skipped")
    page.goto(f"{R}.broken.4/1/retry")
    page.check("#question [name=new]")
    page.click("#question .buttons button")
    expect("apply the repaired file first" in page.inner_text(".failure"), "an old definition is not refused")
    page.context.close()


@check("actions", "those of schedules, receivers and flows")
def flows(bench):
    def paused():
        return bench.fleet.json("schedules", "list", "com.example.nightly")[0]["paused"]

    page = bench.browser.page()
    act(page, "/definitions/com.example.nightly/resume")
    expect(paused() is None, "the schedule was not resumed")
    act(page, "/definitions/com.example.nightly/pause", {"reason": "the disk is full"})
    expect(paused()["reason"] == "the disk is full", f"the schedule was not paused: {paused()}")
    said = act(page, "/receivers/ops/test")
    expect("has not taken the test" in said, f"the test of a receiver that does not listen says {said}")
    text = page.inner_text("main")
    expect("no receiver 'old'" in text and "Connection refused" in text, f"the reasons are not there: {text[:800]}")
    flow = f"/flows/{bench.fleet.flow[0]['flow']}"
    page.goto(flow)
    expect(page.locator("svg.flow a").count() == 4, "the picture does not have the four requests")
    # By keyboard: from a box of the picture to the page of its request.
    page.locator("svg.flow a").nth(2).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/requests/com.example.flow.**")
    expect("after these" in page.inner_text("main"), "the request does not say what it waits for")
    act(page, f"{flow}/cancel")
    states = {name: request(bench, f"flow.{name}")["state"] for name in ("fetch", "work", "repair", "report")}
    expect(states == {"fetch": "failed", "work": "cancelled", "repair": "cancelled", "report": "cancelled"},
           f"the states after the flow was cancelled: {states}")
    page.context.close()


@check("actions", "those of selected requests, from the list")
def selected(bench):
    page = bench.browser.page()
    page.goto("/requests?state=failed")
    for box in page.locator("tbody input[type=checkbox]").all()[:2]:
        box.check()
    page.click("form button:has-text('Retry')")
    page.wait_for_selector("#question")
    page.click("#question .buttons button")
    page.wait_for_selector(".notice")
    expect("2" in page.inner_text(".notice"), f"the notice of two retries says {page.inner_text('.notice')}")
    page.context.close()


@check("actions", "those of a host: evict, allow, simulate, end the simulation, forget")
def hosts(bench):
    page = bench.browser.page()
    act(page, "/hosts/anna/evict", {"pattern": "com.example.repeating"})
    kept = {"host": "anna", "identifier": "com.example.repeating"}
    expect(kept in bench.fleet.json("status", check=False)["evictions"], "the job was not evicted")
    act(page, "/definitions/com.example.repeating/allow")
    expect(kept not in bench.fleet.json("status", check=False)["evictions"], "the eviction was not ended")
    act(page, "/hosts/anna/simulate", {"power": "external", "battery": "93", "for": "1m"})
    expect_soon(lambda: host(bench, "anna")["conditions"]["battery"]["value"] == 93, "the battery is not simulated")
    act(page, "/hosts/anna/simulate?end=true")
    expect_soon(lambda: host(bench, "anna")["conditions"]["battery"]["source"] != "simulated", "the simulation goes on")
    act(page, "/hosts/gone/forget")
    expect(host(bench, "gone") is None, "the host was not forgotten")
    page.context.close()


@check("actions", "those of a definition: check, apply, submit, poke, revert, remove")
def definitions(bench):
    def known():
        return {it["identifier"] for it in bench.fleet.json("definitions")}

    page = bench.browser.page()
    page.goto("/definitions/check")
    page.fill("#yaml", "identifier: com.example.new\nkind: refesh\nbudge: 1s\n")
    page.click("main form button")
    page.wait_for_load_state("load")
    text = page.inner_text("main")
    expect("refresh" in text and "budget" in text, f"the check does not name both problems: {text[:600]}")
    expect("com.example.new" in page.input_value("#yaml"), "the text was lost")
    page.fill("#yaml", "identifier: com.example.new\nkind: refresh\nwork: {command: ['true']}\n")
    page.click("main form button")
    page.wait_for_load_state("load")
    expect("com.example.new" not in known(), "a check has applied the definition")
    page.click("main button:has-text('Apply')")
    page.wait_for_selector(".notice")
    expect("com.example.new" in known(), "the definition was not applied")
    act(page, "/definitions/com.example.new/submit", {"payload": '{"a": 1}', "date": "1h", "priority": "utility"})
    expect(request(bench, "new")["state"] == "scheduled", "the request was not submitted for later")
    act(page, "/definitions/com.example.new/submit?poke=5", {})
    expect(request(bench, "new")["pokes"], "the definition was not poked")
    bench.fleet.run("cancel", "com.example.new", check=False)
    act(page, "/definitions/com.example.new/remove")
    expect("com.example.new" not in known(), "the definition was not removed")
    act(page, "/definitions/com.example.repeating/revert?version=1")
    versions = bench.fleet.json("definitions", "--versions", "com.example.repeating")
    expect(max(it["version"] for it in versions) == 3, f"reverting made no new version: {versions}")
    page.context.close()


@check("actions", "over the coordinator's HTTPS, with a credential")
def https(bench):
    token = bench.fleet.run("credential", "create", "ana", "--scope", "operate").strip()
    page = bench.browser.context(
        signed_in=False, ignore_https_errors=True, base_url=f"https://127.0.0.1:{bench.fleet.https}").new_page()
    page.goto("/hosts")
    page.fill("#code", token)
    page.keyboard.press("Enter")
    page.wait_for_url("**/hosts")
    page.wait_for_selector("#live.live")
    act(page, "/hosts/anna/drain")
    expect(host(bench, "anna")["state"] == "draining", "the host does not drain")
    act(page, "/hosts/anna/undrain")
    who = [it for it in bench.fleet.json("audit") if "ana" in str(it)]
    expect(who, "the audit log does not say that ana did it")
    expect(not page.context.complaints, "\n".join(page.context.complaints))
    page.context.close()


@check("actions", "baton up serves the console too, unless that is off")
def up(bench):
    def start(*options):
        """The process of `baton up`, and what it says about the console."""
        log = bench.fleet.folder / "up.log"
        with open(log, "wb") as file:
            process = subprocess.Popen(
                [bench.fleet.binaries / "baton", "up", "--data", bench.fleet.folder / "up", "--listen",
                 f"127.0.0.1:{free_port()}", "--http", "off", *options],
                env=bench.fleet.environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        ready = until(30, lambda: b"ready" in log.read_bytes() or b"listens" in log.read_bytes())
        until(3, lambda: b"console" in log.read_bytes())
        text = log.read_text()
        if not ready or process.poll() is not None:
            end(process)
        expect(ready, f"baton up does not start:\n{text}")
        return process, re.search(r"http://(baton-[0-9a-f]+\.localhost):(\d+)/login#(\S+)", text), text

    process, address, text = start("--console", "127.0.0.1:0")
    try:
        expect(address, f"baton up prints no address of the console:\n{text}")
        port = int(address[2])
        HOSTS[port] = f"{address[1]}:{port}"
        site = Site(port)
        expect(site.sign_in(address[3]).status == 303, "the code does not sign in")
        expect(site.get("/").status == 200 and site.get("/hosts").status == 200, "the pages are not there")
        expect(Site(port).sign_in(address[3]).status == 401, "the code signs in twice")
    finally:
        end(process)
    process, address, text = start("--console", "off")
    end(process)
    expect(not address, f"the console is off, and baton up prints an address:\n{text}")
