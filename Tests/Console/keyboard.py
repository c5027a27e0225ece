"""A repair with the keyboard alone."""

import json

from browser import focused, tab_to
from checks import check, expect, until


def is_link_to(path):
    return lambda name, _, link: name == "A" and link.partition("?")[0] == path


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def settle(page):
    """Waits until the page is there and its script has run."""
    page.wait_for_load_state("load")
    page.wait_for_selector("#pause:not([hidden])")


@check("keyboard", "sign in with a typed code")
def sign_in(bench):
    context = bench.browser.context(signed_in=False)
    page = context.new_page()
    page.goto("/hosts")
    expect("/login" in page.url, f"without a session /hosts is {page.url}, and not the sign-in")
    tab_to(page, lambda name, text, _: name == "INPUT")
    page.keyboard.type(bench.console.fresh_address().partition("#")[2])
    press(page, "Enter")
    page.wait_for_url("**/hosts")
    expect(not context.complaints, "\n".join(context.complaints))
    context.close()


@check("keyboard", "find the failed request, see why, retry it")
def retry(bench):
    page = bench.browser.page()
    page.goto("/")
    settle(page)
    press(page, "g", "r")
    page.wait_for_url("**/requests*")
    settle(page)
    # The filter is a form: choose 'failed', and send it.
    tab_to(page, lambda name, text, link: (name == "SELECT" and "state" in str(page.evaluate("document.activeElement.name")))
           or (name == "A" and "state=failed" in link))
    if focused(page)[0] == "SELECT":
        page.keyboard.type("fail")
    press(page, "Enter")
    if "state=failed" not in page.url:
        tab_to(page, lambda name, text, link: name == "BUTTON", most=20)
        press(page, "Enter")
    page.wait_for_url("**state=failed*")
    settle(page)
    path = "/requests/com.example.hostile/1"
    tab_to(page, is_link_to(path))
    press(page, "Enter")
    page.wait_for_url("**" + path)
    settle(page)
    expect("ended with status 3" in page.inner_text("main"), "the page does not say how the command ended")
    press(page, "w")
    page.wait_for_url("**/why")
    settle(page)
    press(page, "Alt+ArrowLeft")
    page.wait_for_url("**" + path)
    settle(page)
    tab_to(page, is_link_to(path + "/retry"))
    press(page, "Enter")
    confirm(page)
    expect(page.is_visible("[role=status] p, .notice"), "no notice says what was done")
    expect(until(20, lambda: bench.fleet.json("show", "com.example.hostile")["launches"] >= 2, 0.3),
           "the request was not launched again")
    page.context.close()


def confirm(page):
    """Answers the question that opens above the page, with its button."""
    page.wait_for_selector("dialog[open]")
    inside = page.evaluate("document.querySelector('dialog[open]').contains(document.activeElement)")
    expect(inside, "the focus is not in the dialog that opened")
    if focused(page)[0] != "BUTTON":
        tab_to(page, lambda name, text, link: name == "BUTTON", most=20)
    press(page, "Enter")
    page.wait_for_selector(".notice")


@check("keyboard", "drain a host, and undo it")
def drain(bench):
    def is_draining():
        return next(host for host in bench.fleet.json("hosts") if host["name"] == "ben")["state"] == "draining"

    page = bench.browser.page()
    page.goto("/")
    settle(page)
    press(page, "g", "h")
    page.wait_for_url("**/hosts*")
    settle(page)
    tab_to(page, is_link_to("/hosts/ben"))
    press(page, "Enter")
    page.wait_for_url("**/hosts/ben")
    settle(page)
    tab_to(page, is_link_to("/hosts/ben/drain"))
    press(page, "Enter")
    page.wait_for_selector("dialog[open]")
    press(page, "Escape")
    page.wait_for_selector("dialog[open]", state="detached")
    expect(not is_draining(), "the question was left with Escape, and the host drains")
    expect(is_link_to("/hosts/ben/drain")(*focused(page)), f"after Escape the focus is on {focused(page)}, not on Drain")
    press(page, "Enter")
    confirm(page)
    expect(until(10, is_draining, 0.3), "the host does not drain")
    page.wait_for_selector("a[href='/hosts/ben/undrain']")
    tab_to(page, is_link_to("/hosts/ben/undrain"))
    press(page, "Enter")
    confirm(page)
    expect(until(10, lambda: not is_draining(), 0.3), "the host still drains")
    page.context.close()


@check("keyboard", "more than 20 things need their number typed")
def count(bench):
    page = bench.browser.page()
    names = "&".join(f"id=com.example.waiting.{number}%231" for number in range(101, 123))
    page.goto("/requests/cancel?" + names)
    page.click("#question button")
    expect("/requests/cancel" in page.url, "22 requests were cancelled without a typed number")
    page.fill("#question input[name=count]", "22")
    page.keyboard.press("Enter")
    page.wait_for_selector(".notice")
    states = {bench.fleet.state(f"com.example.waiting.{number}") for number in (101, 122)}
    expect(states == {"cancelled"}, f"the requests are {states}")
    expect(bench.fleet.state("com.example.waiting.123") != "cancelled", "a request was cancelled that was not named")
    page.context.close()


@check("keyboard", "shortcuts: /, ?, j, k, x, p")
def shortcuts(bench):
    page = bench.browser.page()
    page.goto("/requests")
    settle(page)
    press(page, "j")
    first = focused(page)
    press(page, "j")
    second = focused(page)
    press(page, "k")
    expect(first[0] == "A" and second[0] == "A" and first != second, f"j goes to {first}, then to {second}")
    expect(focused(page) == first, f"k goes to {focused(page)}, not back to {first}")
    press(page, "x")
    expect(page.locator("tbody input[type=checkbox]:checked").count() == 1, "x selects nothing")
    press(page, "p")
    expect(page.get_attribute("#pause", "aria-pressed") == "true", "p does not pause")
    press(page, "p", "/")
    expect(focused(page)[1] == "q", f"/ goes to {json.dumps(focused(page))}, not to the search")
    page.keyboard.type("anna")
    press(page, "Enter")
    page.wait_for_url("**/hosts/anna")
    settle(page)
    press(page, "?")
    page.wait_for_url("**/help")
    page.context.close()
