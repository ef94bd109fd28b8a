import { answersOf, filled, given, prose, question, type SampleRecord } from "../content";
import { h, name } from "../dom";
import { type Diagnosis, type Experiment, response } from "../model";
import { brief, count, number, percent, shown } from "../text";
import type { View } from "../view";
import { answer } from "./compare";

const AT_ONCE = 3;

/** Samples that one of two learners solved and the other did not, those that count most first. */
export function decidingSamples(of: Diagnosis, a: number, b: number): number[] {
  const rows: number[] = [];
  for (let j = 0; j < of.samples.name.length; j++) {
    const [one, other] = [response(of, j, a), response(of, j, b)];
    if (one !== null && other !== null && Math.abs(one - other) > 0.5) rows.push(j);
  }
  const weight = (j: number) => (Number.isFinite(of.samples.discrimination[j]) ? of.samples.discrimination[j] : -Infinity);
  const even = (j: number) => Math.abs(of.samples.accuracy[j] - 0.5);
  return rows.sort((i, j) => weight(j) - weight(i) || even(i) - even(j) || i - j);
}

/** The samples that decide between two learners, with what they ask and what both answered. */
export function deciding(view: View, a: number, b: number): HTMLElement {
  const { of } = view;
  const rows = decidingSamples(of, a, b);
  const names = of.learners.name;
  const first = rows.filter((j) => (response(of, j, a) ?? 0) > (response(of, j, b) ?? 0)).length;
  const weighed = rows.some((j) => Number.isFinite(of.samples.discrimination[j]));
  const part = of.samples.name.length < of.samples.total ? ` Among the ${count(of.samples.name.length)} samples on this page.` : "";
  const why = weighed
    ? `Ordered by discrimination: how sharply a sample separates strong from weak learners.${["irt", "camilla-base"].includes(String(of.provenance["diagnoser"])) ? " It is the sample's weight in the ability." : ""}`
    : "This diagnoser does not estimate discrimination; samples on which all learners split most evenly come first.";
  const list = h("div", { class: "deciding" });
  let shownRows = 0;
  const more = h("button", { type: "button", class: "small", onclick: () => show() }, "Show three more");
  const show = () => {
    list.append(...rows.slice(shownRows, shownRows + AT_ONCE).map((j) => decidingCard(view, j, a, b)));
    shownRows = Math.min(rows.length, shownRows + AT_ONCE);
    more.hidden = shownRows >= rows.length;
  };
  show();
  return h(
    "section",
    { class: "card" },
    h("header", { class: "bar" }, h("h2", {}, "Samples that decide between ", name(names[a], 40), " and ", name(names[b], 40))),
    h("p", { class: "quiet note" }, rows.length
      ? `${shown(brief(names[a], 40))} alone solved ${count(first)}, ${shown(brief(names[b], 40))} alone ${count(rows.length - first)}. ${why}${part}`
      : `Both were right or wrong on the same samples.${part}`),
    list,
    rows.length ? more : null,
  );
}

function decidingCard(view: View, j: number, a: number, b: number): HTMLElement {
  const { of } = view;
  const s = of.samples;
  const facts = [Number.isFinite(s.discrimination[j]) ? `discrimination ${number(s.discrimination[j])}` : "", `${view.plain} of all learners ${percent(s.accuracy[j])}`].filter(Boolean).join(", ");
  const both = (record: SampleRecord | null) => pair(record, [a, b], [of.learners.name[a], of.learners.name[b]], [response(of, j, a), response(of, j, b)], of.binary);
  return h(
    "article",
    { class: "decides" },
    h("h3", {}, view.sampleLink(j)),
    h("p", { class: "quiet" }, facts),
    of.content ? filled(of, j, (record) => [question(record, 400), both(record)]) : both(null),
  );
}

/** Two learners' answers side by side. */
function pair(record: SampleRecord | null, places: number[], names: string[], responses: (number | null)[], binary: boolean): HTMLElement {
  const said = record ? answersOf(record) : [];
  return h(
    "div",
    { class: "both" },
    ...places.map((place, at) => {
      const own = said.filter((one) => one.learner === place && given(one));
      return h(
        "div",
        {},
        h("p", { class: "by" }, name(names[at], 60), ": ", answer(responses[at], binary)),
        ...own.slice(0, 3).map((one) => prose(one.answer || one.extracted, 400)),
      );
    }),
  );
}

/** The samples that a comparison without a model was written with. */
export function shownSamples(one: Experiment): HTMLElement | null {
  const { shown: records = [], learners = [] } = one;
  if (!records.length) return null;
  return h(
    "section",
    { class: "card" },
    h("header", { class: "bar" }, h("h2", {}, "Samples that decide between the two")),
    h("p", { class: "quiet note" }, "The samples with the largest differences in each direction; without a model, all samples count equally."),
    h(
      "div",
      { class: "deciding" },
      ...records.map((record) =>
        h(
          "article",
          { class: "decides" },
          h("h3", {}, name(record.sample), record.why ? `: ${record.why}` : ""),
          question(record, 400),
          pair(record, [0, 1], learners, record.response ?? [null, null], (record.response ?? []).every((value) => value === null || value === 0 || value === 1)),
        ),
      ),
    ),
  );
}
