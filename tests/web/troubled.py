"""A browser whose requests and replies come late, get lost or fail, by a seed; and a short story told in it."""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass, field

from playwright.sync_api import Browser, Error, Page

from tests.web.live_server import Live

PATIENCE = 60.0  # seconds until a page has to be through with what it was asked to do
KEYS = {"a": "anomaly", "n": "normal", "u": "unsure", "s": "skip"}
FETCH = """(() => {
  const { seed, most, lost, failed, only } = %s;
  let state = (seed + 1) * 2654435761 + performance.timeOrigin %% 997 * (seed < 0 ? 0 : 1);
  const random = () => ((state = (Math.imul(state | 0, 1664525) + 1013904223) >>> 0) / 2 ** 32);
  const pause = () => new Promise((done) => setTimeout(done, random() * most));
  const real = window.fetch.bind(window);
  window.inFlight = 0;
  window.fetch = async (path, options) => {
    if (only && !path.includes(only)) return real(path, options);
    const luck = random();
    window.inFlight += 1;
    try {
      await pause();
      if (luck < failed) throw new TypeError("the request was lost");
      const reply = await real(path, options);
      await pause();
      if (luck < failed + lost) throw new TypeError("the reply was lost");
      return reply;
    } finally {
      window.inFlight -= 1;
    }
  };
})();"""


def trouble(
    page: Page, seed: int = 0, most: int = 2000, lost: float = 0.0, failed: float = 0.0, only: str = ""
) -> None:
    """From the next load on, requests and replies wait up to `most` milliseconds each.

    lost, failed: the share of replies that never arrive, and of requests that never leave. only: a part of the paths.
    """
    options = {"seed": seed, "most": most, "lost": lost, "failed": failed, "only": only}
    page.add_init_script(FETCH % json.dumps(options))


QUIET = """() => window.inFlight === 0 && JSON.parse(sessionStorage.getItem('outbox') ?? '[]').length === 0
    && !['saving', 'trouble'].includes(document.getElementById('saved')?.dataset.state)"""


SENDING = """(path) => { const entry = JSON.parse(sessionStorage.getItem('outbox') ?? '[]')
    .filter((each) => each.path === path).at(-1); return entry ? [entry.id, entry.item] : [null, null]; }"""


def settle(page: Page) -> None:
    """Wait until nothing is on its way and nothing waits to be sent."""
    until, quiet = time.monotonic() + PATIENCE, 0
    while quiet < 3:
        try:
            is_quiet = page.evaluate(QUIET)
        except Error:  # the page loads itself again
            is_quiet = False
        quiet = quiet + 1 if is_quiet else 0
        assert time.monotonic() < until, "the page is still at work"
        page.wait_for_timeout(50)


@dataclass
class Story:
    """Somebody labels, corrects, takes back, writes notes and reloads, all faster than the server answers."""

    live: Live
    browser: Browser
    seed: int
    most: int = 2000
    said: dict[str, str | None] = field(default_factory=dict)
    noted: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def run(self, n_steps: int = 6) -> list[str]:
        """Tell the story; returns the differences between what was done, the page and the server."""
        rng = random.Random(self.seed)
        page = self.live.open(self.browser)
        trouble(page, self.seed, self.most, lost=0.1, failed=0.1)
        for _ in range(2):
            steps = rng.choice((self._label, self._correct, self._review))
            steps(page, rng, n_steps // 2)
        settle(page)
        differences = self._compare()
        page.context.close()
        return differences

    def _label(self, page: Page, rng: random.Random, n_steps: int) -> None:
        page.goto(self.live.address)
        page.locator("#labelling").wait_for(timeout=PATIENCE * 1000)
        for _ in range(n_steps):
            self._wait_for_item(page)
            if rng.random() < 0.4:
                self._note(page, f"note {rng.random():.3f}")
                page.keyboard.press("Escape")
            if rng.random() < 0.2:
                page.keyboard.press(key := rng.choice(("ArrowLeft", "ArrowRight")))
                self.log.append(key)
            elif rng.random() < 0.25:
                self._undo(page)
            else:
                self._answer(page, rng)
            if rng.random() < 0.2:
                self.log.append("reload")
                page.reload()
                page.locator("#labelling").wait_for(timeout=PATIENCE * 1000)
        settle(page)
        self._compare_label_page(page)

    def _wait_for_item(self, page: Page) -> None:
        page.wait_for_function(
            "() => !['saving', 'trouble'].includes(document.getElementById('saved').dataset.state)"
            " && !document.getElementById('labelling').hidden",
            timeout=PATIENCE * 1000,
        )

    def _answer(self, page: Page, rng: random.Random) -> None:
        key, is_late = rng.choice("aannus"), rng.random() < 0.3
        before, _ = page.evaluate(SENDING, "/api/answers")
        page.keyboard.press(key)
        sent, item = page.evaluate(SENDING, "/api/answers")  # what was on the page then
        if sent in (None, before):  # while a page moves on a key is ignored
            self.log.append(f"{key} ignored")
            return
        self.said[item] = KEYS[key]
        self.log.append(f"{key} on {item}")
        if is_late and page.locator("#item-title").inner_text() == item:
            self._note(page, f"late {rng.random():.3f}")  # while the answer is on its way
            page.keyboard.press("Escape")

    def _note(self, page: Page, text: str) -> None:
        """Write a note on the item that is shown at this moment: the page may be on its way to another one."""
        page.locator("#note").focus()
        item = page.evaluate(
            "(text) => { const note = document.getElementById('note'); note.value = text;"
            " note.dispatchEvent(new Event('input')); note.dispatchEvent(new Event('change'));"
            " return document.getElementById('item-title').innerText; }",
            text,
        )
        self.noted[item] = text
        self.log.append(f"{text} on {item}")

    def _undo(self, page: Page) -> None:
        settle(page)  # what is taken back is the last answer that was given, which may still be on its way
        before = self.live.page.view_model.session.state.undoable.get("expert")
        page.keyboard.press("z")
        self.log.append("z")
        if page.evaluate(SENDING, "/api/undo")[0]:
            settle(page)
            after = self.live.page.view_model.session.state.undoable.get("expert")
            self.log.append(f"undo {before} to {after}")
            held = self.live.page.view_model.session.state
            for item in list(self.said):
                vote = held.vote_of(item, "expert")
                if before is not None and item == before.item:
                    self.said[item] = None if vote is None else str(vote.verdict)

    def _correct(self, page: Page, rng: random.Random, n_steps: int) -> None:
        page.goto(f"{self.live.address}/items?sort=row")
        rows = page.locator("#top > li[tabindex]")
        rows.first.wait_for(timeout=PATIENCE * 1000)
        for _ in range(n_steps):
            row = rows.nth(rng.randrange(4))
            item = str(row.get_attribute("data-item"))
            for verdict in rng.choices(("anomaly", "normal"), k=rng.randint(1, 3)):
                page.locator(f"#top > li[data-item='{item}'] [data-verdict={verdict}]").click()
                self.said[item] = verdict
                self.log.append(f"list: {verdict} on {item}")
            if rng.random() < 0.2:
                page.reload()
                rows.first.wait_for(timeout=PATIENCE * 1000)
        settle(page)
        self._compare_pressed(page, "#top > li[data-item]")

    def _review(self, page: Page, rng: random.Random, n_steps: int) -> None:
        page.goto(f"{self.live.address}/review")
        settle(page)
        rows = page.locator("#rows > li")
        for _ in range(n_steps if rows.count() else 0):
            item = str(rows.nth(rng.randrange(rows.count())).get_attribute("data-item"))
            for verdict in rng.choices(("anomaly", "normal", "skip"), k=rng.randint(1, 2)):
                page.locator(f"#rows > li[data-item='{item}'] [data-verdict={verdict}]").click()
                self.said[item] = verdict
                self.log.append(f"review: {verdict} on {item}")
        settle(page)
        self._compare_pressed(page, "#rows > li[data-item]")

    def _compare_pressed(self, page: Page, rows: str) -> None:
        """The answers that a list shows are those of the server."""
        state = self.live.page.view_model.session.state
        shown = page.locator(rows).evaluate_all(
            "(all) => all.map((row) => [row.dataset.item,"
            " row.querySelector('[aria-pressed=true]')?.dataset.verdict ?? null])"
        )
        for item, verdict in shown:
            vote = state.vote_of(item, "expert")
            held = None if vote is None else str(vote.verdict)
            if "review" not in page.url and held not in ("anomaly", "normal"):
                held = None  # a list shows labels only
            assert verdict == held, (self.seed, item, verdict, held, self.log)

    def _compare_label_page(self, page: Page) -> None:
        """The item on the page shows this user's answer and note as the server has them."""
        if page.locator("#labelling").is_hidden():
            return
        item = page.locator("#item-title").inner_text()
        state = self.live.page.view_model.session.state
        vote = state.vote_of(item, "expert")
        pressed = page.locator(".actions [aria-pressed=true]")
        shown = pressed.first.get_attribute("data-verdict") if pressed.count() else None
        assert shown == (None if vote is None else str(vote.verdict)), (self.seed, item, shown, vote, self.log)
        n_given = state.budget - state.n_left
        assert f"{n_given} of {state.budget} labels" in page.locator("#progress-words").inner_text(), self.log
        note = page.locator("#note").input_value()
        assert note == self.noted.get(item, ""), (self.seed, item, note, self.noted, self.log)

    def _compare(self) -> list[str]:
        """What was done, beside what the server has; a note on an item without an answer is still the page's."""
        state = self.live.page.view_model.session.state
        found = []
        for item, verdict in self.said.items():
            vote = state.vote_of(item, "expert")
            held = None if vote is None else str(vote.verdict)
            if held != verdict:
                events = [event for event in self.live.page.view_model.session.events if event.item == item]
                found.append(f"seed {self.seed}: {item} was called {verdict}, stored is {held}; {self.log}; {events}")
            if item in self.noted and vote is not None and state.note_of(item, "expert") != self.noted[item]:
                kept = state.note_of(item, "expert")
                found.append(f"seed {self.seed}: {item} was noted {self.noted[item]!r}, stored is {kept!r}; {self.log}")
        return found
