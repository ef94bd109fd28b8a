import { endView, h } from "./dom";
import type { Report } from "./model";
import { choose } from "./pages/choose";
import { compare } from "./pages/compare";
import { epp } from "./pages/epp";
import { comparisons, experiments } from "./pages/experiments";
import { leaderboard } from "./pages/leaderboard";
import { learner } from "./pages/learner";
import { made } from "./pages/made";
import { samples } from "./pages/samples";
import { skills } from "./pages/skills";
import { summary } from "./pages/summary";
import { parse, to } from "./route";
import { menu, saveCard, sentencesCopy } from "./share";
import { withVerdict } from "./statement";
import { briefLabels } from "./text";
import { themeButton } from "./theme";
import { hush, hushOnEscape } from "./tooltip";
import { unpacked } from "./unpack";
import { choice, type Page, View } from "./view";

interface Entry {
  page: Page;
  label: string;
  there: (report: Report) => boolean;
}

const diagnosed = (report: Report) => report.diagnoses.length > 0;
const PAGES: Record<string, Entry> = {
  summary: { page: summary, label: "Summary", there: diagnosed },
  leaderboard: { page: leaderboard, label: "Leaderboard", there: diagnosed },
  choose: { page: choose, label: "Choose", there: diagnosed },
  learner: { page: learner, label: "Learner", there: diagnosed },
  compare: { page: compare, label: "Compare", there: diagnosed },
  samples: { page: samples, label: "Samples", there: diagnosed },
  skills: { page: skills, label: "Skills", there: (report) => report.diagnoses.some((one) => one.skills.name.length > 1) },
  epp: { page: epp, label: "EPP", there: (report) => report.boards.length > 0 },
  comparisons: { page: comparisons, label: "Results", there: (report) => report.comparisons.length > 0 },
  experiments: { page: experiments, label: "Experiments", there: (report) => report.experiments.length > 0 },
  made: { page: made, label: "How it was made", there: () => true },
};

for (const [key, entry] of Object.entries(PAGES)) entry.page = withVerdict(key, entry.page);

function known(report: Report): string[] {
  return Object.keys(PAGES).filter((key) => PAGES[key].there(report));
}

/** Paper and pictures: this view or all of them printed, and a card to post. */
function sharing(report: Report, main: HTMLElement, pages: () => string[]): HTMLElement {
  const everything = () => {
    const view = new View(report, parse(location.hash).query);
    endView();
    main.replaceChildren(...pages().flatMap((key) => [...PAGES[key].page(view), h("hr", { class: "sheet" })]));
    addEventListener("afterprint", () => dispatchEvent(new Event("hashchange")), { once: true });
    setTimeout(() => print(), 400); // charts draw once they know their width
  };
  const items = [
    { label: "Print this view", about: "Print this view", act: () => print() },
    { label: "Print everything", about: "Print everything", act: everything },
  ];
  if (report.diagnoses.length) {
    const card = () => {
      const view = new View(report, parse(location.hash).query);
      saveCard(report, view.of, h("p", {}, ...view.sentence(view.of.headline)).textContent ?? "");
    };
    items.push({ label: "Card (PNG)", about: "Save a card to share as PNG", act: card });
  }
  return menu("Share", "Share or print", items);
}

function start(report: Report): void {
  document.title = `${report.title} · Camilla`;
  const main = h("main", { id: "main" });
  const nav = h("nav", { "aria-label": "Pages" });
  const side = h("div", { class: "side-tools" });
  document.getElementById("app")!.replaceChildren(
    h("a", { class: "skip", href: "#main", onclick: (event: Event) => { event.preventDefault(); main.querySelector<HTMLElement>("h1")?.focus(); } }, "Skip to content"),
    h("aside", {}, h("p", { class: "mark" }, "Camilla"), nav, side),
    main,
  );
  const theme = themeButton();
  const share = sharing(report, main, () => known(report));
  let before = "";
  const render = () => {
    const route = parse(location.hash);
    const pages = known(report);
    const current = pages.includes(route.page) ? route.page : pages[0];
    const view = new View(report, route.query);
    hush();
    endView();
    nav.replaceChildren(
      ...pages.map((key) => h("a", { href: to(key, { d: view.number || null }), "aria-current": key === current ? "page" : null }, PAGES[key].label)),
    );
    side.replaceChildren(
      ...(report.diagnoses.length > 1
        ? [choice("Diagnosis", briefLabels(report.diagnoses.map((one) => one.name), 40).map((label, i): [string, string] => [String(i), label]), String(view.number), (value) => (location.hash = to(current, { d: value === "0" ? null : value })))]
        : []),
      share,
      theme,
    );
    const active = nav.querySelector<HTMLElement>("[aria-current]");
    if (active) nav.scrollLeft = active.offsetLeft - nav.clientWidth / 2;
    main.replaceChildren(...PAGES[current].page(view));
    sentencesCopy(main);
    const place = `${current}?${route.query["name"] ?? ""}${route.query["sample"] ?? ""}${route.query["skill"] ?? ""}`;
    if (before && place !== before) {
      scrollTo(0, 0);
      main.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    }
    before = place;
  };
  addEventListener("hashchange", render);
  hushOnEscape();
  render();
  document.documentElement.dataset["ready"] = "yes";
}

unpacked(document.getElementById("data")!.textContent ?? "").then(start, (error: unknown) => {
  document.getElementById("app")!.replaceChildren(h("p", { class: "callout" }, `This page cannot read its data (${String(error)}). It needs a browser from 2023 or newer.`));
});
