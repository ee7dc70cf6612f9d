import { expect, test } from "vitest";
import { fetch } from "undici";
import type { Engine } from "../../receiver/engine.ts";
import { handler, newEvent } from "./engine-suite/harness.ts";
import { startTestReceiver } from "./helpers/receiver.ts";
import { workOff } from "./helpers/work-off.ts";

/** What a form of the operator's page asks to be requeued, with any of its fields together, and what it says before. */

type Asked = { ids: readonly string[]; handler: string | undefined };

/** Two dead events and one that is ignored; what is asked of the ledger is written down, and nothing is changed. */
async function startSeen() {
  const asked: Asked[] = [];
  const requeue: Engine["ledger"]["requeue"] = async (ids, name) => {
    if (ids.length > 0) asked.push({ ids: [...ids], handler: name });
    return ids.length;
  };
  const { engine, adminUrl } = await startTestReceiver({
    wrapEngine: (real) => ({ ...real, ledger: { ...real.ledger, requeue } }),
  });
  const events = ["order.created", "call.completed", "nobody.wants"].map((type) => newEvent({ type }));
  await engine.intake.accept(events);
  const states = await workOff(engine, {
    handlers: [
      handler({ name: "crm", types: ["order.created", "call.completed"] }),
      handler({ name: "pos", types: ["order.created"] }),
    ],
    handle: async (claim) => ({ kind: "dead", error: `no ${claim.handler}` }),
  });
  expect(states).toMatchObject({ dead: 2, ignored: 1 });
  const submit = async (fields: Record<string, string>) => {
    const body = new URLSearchParams(fields);
    const answer = await fetch(`${adminUrl ?? ""}/requeue`, { method: "POST", body });
    return { status: answer.status, page: await answer.text() };
  };
  const [order = "", call = "", ignored = ""] = events.map(({ id }) => id);
  return { submit, asked, order, call, ignored };
}

const FIELDS: Record<string, string[]> = {
  state: ["dead", "ignored"],
  type: ["order.created", "nobody.wants"],
  handler: ["crm", "pos"],
  error: ["no crm", "no pos"],
};

/** Every choice of fields, of none to all. */
function choices(names: readonly string[]): Record<string, string>[] {
  const [name, ...others] = names;
  if (name === undefined) return [{}];
  const more = choices(others);
  return [
    ...more,
    ...(FIELDS[name] ?? []).flatMap((value) => more.map((chosen) => ({ [name]: value, ...chosen }))),
  ];
}

test("what matches all fields of a form is counted before, and is what is requeued, for that handler alone", async () => {
  const { submit, asked, order, call, ignored } = await startSeen();
  /** The jobs that can be requeued, one without a handler for the event that none wants. */
  const jobs = [
    { id: ignored, state: "ignored", type: "nobody.wants", handler: undefined, error: undefined },
    { id: call, state: "dead", type: "call.completed", handler: "crm", error: "no crm" },
    { id: order, state: "dead", type: "order.created", handler: "crm", error: "no crm" },
    { id: order, state: "dead", type: "order.created", handler: "pos", error: "no pos" },
  ];
  for (const chosen of choices(Object.keys(FIELDS)).filter(({ state }) => state !== undefined)) {
    const meant = jobs.filter((job) =>
      Object.entries(chosen).every(([name, value]) =>
        Object.entries(job).some(([own, has]) => own === name && has === value),
      ),
    );
    const ids = [...new Set(meant.map(({ id }) => id))];
    const before = await submit(chosen);
    expect({ chosen, before: countIn(before.page), asked }).toEqual({
      chosen,
      before: ids.length,
      asked: [],
    });
    const after = await submit({ ...chosen, confirmed: "yes" });
    expect({ chosen, after: countIn(after.page), asked: asked.splice(0) }).toEqual({
      chosen,
      after: ids.length,
      asked: ids.length === 0 ? [] : [{ ids, handler: chosen["handler"] }],
    });
  }
  for (const chosen of [{}, { handler: "pos" }]) {
    const after = await submit({ ...chosen, id: order, confirmed: "yes" });
    expect({ after: countIn(after.page), asked: asked.splice(0) }).toEqual({
      after: 1,
      asked: [{ ids: [order], handler: "handler" in chosen ? "pos" : undefined }],
    });
    expect(await submit(chosen)).toMatchObject({ status: 400 });
  }
});

/** The number of events in what the page says, in words that fit it. */
function countIn(page: string): number {
  if (page.includes("Nothing to requeue")) return 0;
  const [, count, words] = /(\d+) (events? (?:gets?|was|were))/.exec(page) ?? [];
  expect({ count, words }).toEqual({
    count,
    words: /^event (gets|was)$/.test(words ?? "") === (count === "1") ? words : "",
  });
  return Number(count);
}
