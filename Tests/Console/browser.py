"""Chromium, driven by playwright, and what it says about a page."""

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import sync_playwright

from checks import Failed, expect

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PROGRAM = "/usr/bin/chromium"


class Browser:
    def __init__(self, console):
        self.console = console
        self.playwright = sync_playwright().start()
        self.chromium = self.playwright.chromium.launch(
            executable_path=PROGRAM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        self.state = None

    def close(self):
        self.chromium.close()
        self.playwright.stop()

    def context(self, signed_in=True, **options):
        """A context whose pages note everything that a browser complains about."""
        if signed_in and self.state is None:
            self.sign_in()
        options = {"viewport": {"width": 1200, "height": 800}, "reduced_motion": "reduce"} | options
        context = self.chromium.new_context(
            base_url=self.console.origin, storage_state=self.state if signed_in else None, **options)
        context.set_default_timeout(15_000)
        context.complaints = []
        context.on("page", lambda page: watch(page, context.complaints))
        return context

    def page(self, **options):
        return self.context(**options).new_page()

    def sign_in(self):
        """Opens the address that `baton console` printed, and keeps the session for other contexts."""
        context = self.context(signed_in=False)
        page = context.new_page()
        page.goto(self.console.fresh_address() if self.console.is_used else self.console.address)
        self.console.is_used = True
        page.wait_for_url(lambda url: "/login" not in url)
        expect(not context.complaints, "while signing in:\n" + "\n".join(context.complaints))
        self.state = context.storage_state()
        context.close()

    @property
    def cookie(self):
        """The session, as a header of other clients."""
        if self.state is None:
            self.sign_in()
        return "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in self.state["cookies"])


def watch(page, complaints):
    # A page of a call that fails is itself what was asked for.
    def note(message):
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            complaints.append(f"{page.url}: {message.type}: {message.text}")

    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
    page.on("dialog", lambda dialog: (complaints.append(f"{page.url}: a dialog says {dialog.message}"), dialog.dismiss()))


def violations(page):
    """What axe finds on a page: one line each."""
    # The policy of the page forbids script elements. The evaluation by the protocol is not bound to it.
    page.evaluate(AXE + "; undefined")
    found = page.evaluate(
        "tags => axe.run(document, {runOnly: {type: 'tag', values: tags}, resultTypes: ['violations']})"
        ".then(result => result.violations)", TAGS)
    lines = []
    for violation in found:
        for node in violation["nodes"][:3]:
            why = (node.get("failureSummary") or "").replace("\n", " ")
            lines.append(f"{violation['id']}: {' '.join(map(str, node['target']))}: {why[:300]}")
        if len(violation["nodes"]) > 3:
            lines.append(f"{violation['id']}: and {len(violation['nodes']) - 3} more")
    return lines


# What has no place on any page, however hostile the texts on it are.
PLANTED = """() => {
  const found = [];
  if (window.planted) found.push(`a planted script ran: ${window.planted}`);
  const scripts = [...document.scripts].filter(script => !script.src || new URL(script.src).origin !== location.origin);
  if (scripts.length) found.push(`a script that is not ours: ${scripts[0].outerHTML.slice(0, 200)}`);
  for (const element of document.querySelectorAll('*'))
    for (const {name, value} of element.attributes) {
      if (name.startsWith('on')) found.push(`an event handler in markup: ${element.outerHTML.slice(0, 200)}`);
      if (name === 'style') found.push(`a style in markup: ${element.outerHTML.slice(0, 200)}`);
      if (/^\\s*javascript:/i.test(value)) found.push(`a link that runs: ${element.outerHTML.slice(0, 200)}`);
    }
  // Texts of the seeds have none of these.
  const raw = document.body.innerText.match(/.{0,40}<\/?(br|small|span|a|p|div|td|code|strong|time|ul|li)\b.{0,40}/);
  if (raw) found.push(`markup of ours is shown as text: ${raw[0]}`);
  const odd = document.body.innerText.match(/[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]/);
  if (odd) found.push(`the character U+${odd[0].codePointAt(0).toString(16)} is on the page as it is, near `
    + JSON.stringify(document.body.innerText.slice(Math.max(0, odd.index - 60), odd.index + 20)));
  return [...new Set(found)].slice(0, 5);
}"""

# What is wider than the window, if the page as a whole can be scrolled to the side.
TOO_WIDE = """() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth + 1) return null;
  const scrolls = element => {
    for (let at = element.parentElement; at && at !== document.body; at = at.parentElement)
      if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(at).overflowX)) return true;
    return false;
  };
  const wide = [...document.body.querySelectorAll('*')].filter(element =>
    element.getBoundingClientRect().right > root.clientWidth + 1 && !scrolls(element));
  return `${root.scrollWidth} px of ${root.clientWidth}: `
    + wide.slice(-3).map(element => element.outerHTML.slice(0, 120)).join(' | ');
}"""


def text_without_times(page):
    return page.evaluate("""() => {
      const copy = document.getElementById('main').cloneNode(true);
      copy.querySelectorAll('time').forEach(time => time.remove());
      return copy.textContent;
    }""")


def mark(page):
    """Leaves a mark in the page that a reload would remove."""
    page.evaluate("window.isTheSamePage = true")


def expect_same_page(page):
    expect(page.evaluate("window.isTheSamePage === true"), "the page was loaded again, and was not brought up to date")


def focused(page):
    """What has the focus: the name of its element, its text or name, and where it leads."""
    return page.evaluate("""() => {
      const it = document.activeElement;
      return [it.nodeName, (it.innerText || it.name || it.id || '').trim(), it.getAttribute('href') || ''];
    }""")


def tab_to(page, wanted, most=150, key="Tab"):
    """Presses Tab until a wanted element has the focus. `wanted` takes its name, text and link."""
    seen = []
    for _ in range(most):
        page.keyboard.press(key)
        at = focused(page)
        if wanted(*at):
            expect(has_visible_focus(page), f"the focus on {at} cannot be seen")
            return
        seen.append(" ".join(at)[:60])
    raise Failed(f"no wanted element on {page.url} is reached by {key}: " + " · ".join(dict.fromkeys(seen)))


def has_visible_focus(page):
    return page.evaluate("""() => {
      const style = getComputedStyle(document.activeElement);
      return (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none';
    }""")
