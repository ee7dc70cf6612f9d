import type { Counts } from "../../engine.ts";
import { roughly } from "../present.ts";
import type { DeadGroup } from "./dead-letters.ts";
import { html, type Html } from "./html.ts";
import { distance, moment, requeueForm, table } from "./layout.ts";

/** The counts of an earlier look, to say what happened since. */
export type Look = { atMs: number; counts: Counts };

/** What an operator looks at first: how many wait, since when, what died and why. */
export function overview(options: {
  look: Look;
  before: Look | undefined;
  dead: { groups: DeadGroup[]; isWhole: boolean };
  checks: Record<string, string>;
}): Html {
  const { look, before, dead, checks } = options;
  const { byState, isEstimate, oldestUnfinishedAgeMs } = look.counts;
  const some = (state: string, events: number): string => roughly(look.counts, state) + grouped(events);
  const troubles = Object.entries(checks).filter(([, answer]) => answer !== "ok");
  return html`${troubles.map(([name, answer]) => html`<p class="dead" role="alert">Not ready: ${name}: ${answer}</p>`)}
    <ul class="counts">
      ${Object.entries(byState).map(
        ([state, events]) =>
          html`<li>
            <a href="/events?state=${state}"><b class="${state}">${some(state, events)}</b>${state}</a>
          </li>`,
      )}
    </ul>
    <p>
      ${
        oldestUnfinishedAgeMs === null
          ? "Nothing waits."
          : `The oldest unfinished event came ${distance(-oldestUnfinishedAgeMs)}.`
      }
      ${before && isEstimate !== true && rates(before, look)}
    </p>
    <h2>Dead letters</h2>
    ${dead.groups.length === 0 ? html`<p>None.</p>` : deadTable(dead, look.atMs)}
    <h2>Handlers</h2>
    ${handlersTable(look.counts)}`;
}

function rates(before: Look, now: Look): Html {
  const seconds = Math.max(1, Math.round((now.atMs - before.atMs) / 1_000));
  const ended = ({ byState }: Counts): number => byState.done + byState.ignored + byState.dead;
  const all = (counts: Counts): number => ended(counts) + counts.byState.pending + counts.byState.claimed;
  const perMinute = (of: (counts: Counts) => number): string =>
    // Retention makes counts smaller, which is no rate.
    grouped(Math.round((Math.max(0, of(now.counts) - of(before.counts)) * 60) / seconds));
  return html`<span class="quiet"
    >In the last ${grouped(seconds)} s ${perMinute(all)} came and ${perMinute(ended)} ended a minute.</span
  >`;
}

function deadTable({ groups, isWhole }: { groups: DeadGroup[]; isWhole: boolean }, nowMs: number): Html {
  const rows = groups.map(({ handler, error, jobs, newestReceivedAtMs }) => {
    const chosen = Object.entries({ state: "dead", handler, error });
    return html`<tr>
      <td><a href="/events?state=dead&handler=${encodeURIComponent(handler)}">${handler}</a></td>
      <td>${error}</td>
      <td class="number" data-name="Jobs">${grouped(jobs)}</td>
      <td>${moment(newestReceivedAtMs, nowMs)}</td>
      <td>${requeueForm(chosen, "Requeue …")}</td>
    </tr>`;
  });
  return html`${table(["Handler", "Why", "#Jobs", "Newest", "-Action"], rows)}
  ${!isWhole && html`<p class="quiet">There are more dead letters than the newest 5,000, which were looked at.</p>`}`;
}

function handlersTable({ byHandler }: Counts): Html {
  if (byHandler.length === 0) return html`<p>Nothing of any handler waits, runs or is dead.</p>`;
  const states = ["pending", "claimed", "dead", "ignored"] as const;
  const rows = byHandler.map(
    (counted) =>
      html`<tr>
        <td>${counted.handler}</td>
        ${states.map(
          (state) =>
            html`<td class="number" data-name="${state}">
              <a href="/events?state=${state}&handler=${encodeURIComponent(counted.handler)}"
                >${grouped(counted[state])}</a
              >
            </td>`,
        )}
      </tr>`,
  );
  return table(["Handler", ...states.map((state) => `#${state}`)], rows);
}

function grouped(count: number): string {
  return count.toLocaleString("en");
}
