import { cloud } from "../charts/cloud";
import { forest } from "../charts/forest";
import { heat } from "../charts/heat";
import { extent } from "../charts/axes";
import { h, name } from "../dom";
import { figure } from "../figure";
import type { Board } from "../model";
import { remember, to } from "../route";
import { type Column, WindowedTable } from "../table";
import { briefLabels, count, interval, number, percent, pValue, shown } from "../text";
import { choice, facts, heading, type Page } from "../view";

const MOST = 26;
const sigma = (x: number) => 1 / (1 + Math.exp(-x));

export const epp: Page = (view) => {
  const { boards } = view.report;
  const at = Math.max(0, Math.min(boards.length - 1, Number(view.query["b"] ?? 0) || 0));
  const board = boards[at];
  return [
    heading("EPP leaderboard", "Differences of EPP are log-odds of winning: a player who is ahead by 1 wins about 73 % of their matches."),
    boards.length > 1
      ? h("div", { class: "controls" }, choice("Tournament", briefLabels(boards.map((one) => one.name), 60).map((label, i): [string, string] => [String(i), label]), String(at), (value) => (location.hash = to("epp", { b: value }))))
      : h("span"),
    facts([
      [count(board.player.length), "players"],
      [count(Number(board.provenance["rounds"])), "rounds"],
      [number(board.fit.deviance, 1), `deviance on ${count(board.fit.df)} degrees of freedom`],
      [pValue(board.fit.p_value_rounds ?? board.fit.p_value ?? NaN) || "–", board.fit.p_value_rounds !== null ? `p of the fit, ${board.fit.units} as units` : "p of the fit, matches as units"],
    ]),
    ...described(board),
    ...board.notes.map((note) => h("p", { class: "callout" }, note)),
    table(board, view.query["sort"]),
    h("div", { class: "columns even" }, ranks(board), fit(board)),
    ...wins(board, view.query["players"] === "all"),
  ];
};

/** Whether EPP describes these matches. */
function described(board: Board): HTMLElement[] {
  const p = board.fit.p_value_rounds ?? board.fit.p_value;
  if (p === null || board.player.length < 2) return [];
  const text = p < 0.05 ? "EPP does not describe all matches: some pairs win more or less often than their EPP predicts (see the fit below)." : "Pairs do not deviate from EPP by more than chance.";
  return [h("p", { class: "verdict" }, `${text} p = ${pValue(p)}, ${board.fit.p_value_rounds !== null ? board.fit.units : "matches"} as units.`)];
}

function table(board: Board, sort: string | undefined): HTMLElement {
  const columns: Column[] = [
    { key: "player", label: "Player", width: 200, value: (i) => board.player[i], show: (i) => name(board.player[i]) },
    { key: "rank", label: "Rank", width: 80, numeric: true, value: (i) => i + 1 },
    { key: "rank_low", label: "Rank may be", minor: true, width: 120, numeric: true, value: (i) => board.rank_low[i], show: (i) => `${board.rank_low[i]}–${board.rank_high[i]}`, more: [["rank_high", (i) => board.rank_high[i]]] },
    { key: "epp", label: "EPP", width: 200, numeric: true, value: (i) => board.epp[i], show: (i) => interval(board.epp[i], board.low[i], board.high[i]), more: [["low", (i) => board.low[i]], ["high", (i) => board.high[i]]] },
    { key: "p_beats_average", label: "Beats the average", width: 150, numeric: true, value: (i) => board.p_beats_average[i], show: (i) => percent(board.p_beats_average[i]) },
  ];
  return new WindowedTable({ title: "Players by EPP", columns, rows: board.player.map((_, i) => i), sort: sort ?? "rank", onSort: (one) => remember({ sort: one }) }).element;
}

function ranks(board: Board): HTMLElement {
  const shownPlayers = board.player.slice(0, MOST);
  return figure({
    title: `EPP with intervals${shownPlayers.length < board.player.length ? `, first ${MOST}` : ""}`,
    note: `${percent(board.level, 0)} intervals, rounds resampled or clustered; bars at the left join players that cannot be told apart.`,
    draw: (width) => ({
      svg: forest(
        shownPlayers.map((who, i) => ({
          name: who,
          value: board.epp[i],
          low: board.low[i],
          high: board.high[i],
          lines: [who, `EPP ${interval(board.epp[i], board.low[i], board.high[i])}`, `beats the average player ${percent(board.p_beats_average[i])}`],
        })),
        width,
        { label: "EPP of the first players", axis: "EPP (logits)", ties: board.ties, rowHeight: 20 },
      ),
    }),
  });
}

function fit(board: Board): HTMLElement {
  const { predicted, empirical, played, first, second } = board.fit;
  const [low] = extent(empirical);
  return figure({
    title: "Does EPP fit the matches?",
    note: `One dot per pair, the stronger player first${predicted.length < board.fit.pairs ? ` (${count(predicted.length)} of ${count(board.fit.pairs)})` : ""}; if EPP fits, the dots are on the line.`,
    draw: (width) =>
      cloud(width, {
        label: "Share of matches won against the predicted probability",
        xLabel: "predicted probability of winning",
        yLabel: "share won",
        x: predicted,
        y: empirical,
        domain: [[0.5, 1], [Math.min(0.5, low), 1]],
        diagonal: [0.5, 1],
        height: Math.min(520, Math.max(320, width * 0.9)),
        lines: (at) => [`${shown(board.player[first[at]])} against ${shown(board.player[second[at]])}`, `predicted ${percent(predicted[at])}`, `won ${percent(empirical[at])} of ${count(Math.round(played[at]))}`],
      }),
  });
}

const NUMBERED = 20; // players of the matrix with room for its numbers

function wins(board: Board, everyone: boolean): HTMLElement[] {
  const n = board.win.players;
  const state = { all: everyone || n <= NUMBERED };
  const words = (i: number, j: number) => {
    const d = board.epp[i] - board.epp[j];
    const half = board.win.half?.[i * n + j];
    return half === undefined || i === j ? percent(sigma(d)) : `${percent(sigma(d))} (${percent(sigma(d - half))} to ${percent(sigma(d + half))})`;
  };
  const chart = figure({
    title: "Who beats whom",
    wide: true,
    note: `The probability, in percent, that the player in the row beats the player in the column${n < board.player.length ? `, of the first ${n}` : ""}.`,
    draw: (width) => {
      const players = board.player.slice(0, state.all ? n : NUMBERED);
      return heat(width, {
        label: "Matrix of win probabilities",
        rows: players,
        columns: players,
        value: (i, j) => (i === j ? NaN : sigma(board.epp[i] - board.epp[j])),
        middle: 0.5,
        reach: 0.5,
        ends: ["loses", "wins"],
        figure: (value) => number(100 * value, 0),
        lines: (i, j) => [`${players[i]} beats ${players[j]}`, words(i, j)],
      });
    },
  });
  if (n <= NUMBERED) return [chart];
  const show = (value: string) => {
    state.all = value === "all";
    remember({ players: value });
    chart.redraw();
  };
  return [h("div", { class: "controls" }, choice("Players of the matrix", [["first", `first ${NUMBERED}`], ["all", `all ${count(n)}`]], state.all ? "all" : "first", show)), chart];
}
