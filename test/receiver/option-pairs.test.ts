import { expect, test } from "vitest";
import { z } from "zod";
import type { Engine, EventState, Outcome } from "../../receiver/engine.ts";
import { exportEvents, listInbox, requeueEvents } from "../../receiver/operations/commands/inbox.ts";
import { orComplain } from "../../receiver/operations/commands/with-engine.ts";
import { handler, newEvent } from "./engine-suite/harness.ts";
import { get } from "./helpers/events.ts";
import { movableClock } from "./helpers/clock.ts";
import { startTestReceiver } from "./helpers/receiver.ts";
import { recordingTerminal } from "./helpers/terminal.ts";
import { workOff } from "./helpers/work-off.ts";

/** Any options of the inbox together, from the shell and over HTTP, against what the whole list says. */

const shownSchema = z.object({
  id: z.string(),
  type: z.string(),
  state: z.string(),
  received_at: z.iso.datetime(),
  jobs: z.array(z.object({ handler: z.string(), state: z.string() })),
});
const listSchema = z.object({ data: z.array(shownSchema) });
type Shown = z.infer<typeof shownSchema>;

const TYPES = ["call.completed", "order.created", "nobody.wants"];
/** How long before the others the first of them came. */
const OLD_SECONDS = 7_200;

/** Old and new events of three types, whose two handlers end differently with each of them. */
async function startVaried() {
  const clock = movableClock();
  const receiver = await startTestReceiver({ clock });
  const { engine } = receiver;
  const six = () => [...TYPES, ...TYPES].map((type) => newEvent({ type }));
  clock.move(-OLD_SECONDS * 1_000);
  await engine.intake.accept(six());
  clock.move(OLD_SECONDS * 1_000);
  await engine.intake.accept(six());
  let handled = 0;
  const outcomes: Outcome[] = [
    { kind: "done" },
    { kind: "dead", error: "no table" },
    { kind: "dead", error: "x" },
  ];
  await workOff(engine, {
    handlers: [
      handler({ name: "crm", types: TYPES.slice(0, 2) }),
      handler({ name: "pos", types: [TYPES[1]!] }),
    ],
    handle: async () => outcomes[(handled += 1) % outcomes.length]!,
  });
  const terminal = recordingTerminal();
  await listInbox({ engine, terminal }, { limit: 100, json: true });
  const all = listSchema.parse(JSON.parse(terminal.printed[0]!)).data;
  expect(all).toHaveLength(12);
  return { ...receiver, all };
}

type Choice = { state?: EventState; type?: string; handler?: string; since?: number };

/** Every choice of options, of none to all. */
const CHOICES: Choice[] = ([undefined, "done", "dead", "ignored"] as const).flatMap((state) =>
  [undefined, "order.created"].flatMap((type) =>
    [undefined, "crm", "pos"].flatMap((name) =>
      [undefined, OLD_SECONDS / 2].map((since) => ({
        ...(state === undefined ? {} : { state }),
        ...(type === undefined ? {} : { type }),
        ...(name === undefined ? {} : { handler: name }),
        ...(since === undefined ? {} : { since }),
      })),
    ),
  ),
);

/** Whether an event is meant: of a handler, by what became of its own job. */
function fits(shown: Shown, { state, type, handler: name, since }: Choice): boolean {
  const jobs = shown.jobs.filter((job) => job.handler === name);
  const states = name === undefined ? [shown.state] : jobs.map((job) => job.state);
  return (
    (type === undefined || shown.type === type) &&
    (since === undefined || Date.parse(shown.received_at) >= Date.now() - since * 1_000) &&
    states.some((one) => state === undefined || one === state)
  );
}

const idsOf = (shown: readonly { id: string }[]): string[] => shown.map(({ id }) => id);

test("inbox list and GET /inbox show what all options together choose, page by page", async () => {
  const { engine, adminUrl, all } = await startVaried();
  for (const { since: _, ...choice } of CHOICES.filter(({ since }) => since === undefined)) {
    const expected = idsOf(all.filter((shown) => fits(shown, choice)));
    const terminal = recordingTerminal();
    await listInbox({ engine, terminal }, { ...choice, limit: 2, json: true });
    const listed = idsOf(listSchema.parse(JSON.parse(terminal.printed[0]!)).data);
    const lines = recordingTerminal();
    await listInbox({ engine, terminal: lines }, { ...choice, limit: 2 });
    const inLines = lines.printed.map((line) => /evt_[0-9a-f]+/.exec(line)?.[0]);
    expect({ choice, listed, inLines, more: lines.said }).toEqual({
      choice,
      listed: expected.slice(0, 2),
      inLines: expected.slice(0, 2),
      more: MORE_SAID[Math.min(expected.length, 2)],
    });
    expect({ choice, ids: await pagesOf(adminUrl ?? "", choice) }).toEqual({ choice, ids: expected });
  }
});

const MORE_SAID = [["No event matches."], [], ["There may be more: --limit shows them."]];

async function pagesOf(adminUrl: string, choice: Omit<Choice, "since">): Promise<string[]> {
  const ids: string[] = [];
  for (let before: Record<string, string> = {}; ;) {
    const query = new URLSearchParams({ ...choice, ...before, limit: "2" });
    const page = pageSchema.parse(await (await get(`${adminUrl}/inbox?${query.toString()}`)).json());
    ids.push(...idsOf(page.data));
    if (!page.has_more) return ids;
    before = { before_seq: String(page.data.at(-1)!.seq) };
  }
}

const pageSchema = z.object({
  data: z.array(z.object({ id: z.string(), seq: z.number() })),
  has_more: z.boolean(),
});

test("inbox export writes what all options together choose, oldest first", async () => {
  const { engine, all } = await startVaried();
  for (const choice of CHOICES.filter(({ handler: name }) => name === undefined)) {
    for (const includePersonalData of [true, false]) {
      const terminal = recordingTerminal();
      await exportEvents({ engine, terminal }, { ...choice, includePersonalData });
      const written = terminal.printed.map((line) => z.object({ id: z.string() }).parse(JSON.parse(line)));
      const expected = all.filter((shown) => fits(shown, choice)).toReversed();
      expect({ choice, ids: idsOf(written) }).toEqual({ choice, ids: idsOf(expected) });
    }
  }
});

test("inbox requeue asks for what all options together choose, and for no job of another handler", async () => {
  const { engine, all } = await startVaried();
  for (const choice of CHOICES.filter(({ state }) => state !== "done")) {
    const { asked, recording } = recordRequeues(engine);
    const terminal = recordingTerminal();
    const code = await orComplain(terminal, async () =>
      requeueEvents({ engine: recording, terminal }, [], { ...choice, json: true }),
    );
    const { state, handler: name, since } = choice;
    const isEnough = state !== undefined || (name !== undefined && since !== undefined);
    // A handler gets what it wants also of the events that came before there was one of its name.
    const meant = state === undefined ? { ...choice, handler: undefined } : choice;
    const { handler: _, ...without } = meant;
    const chosen = all.filter((shown) => fits(shown, meant.handler === undefined ? without : choice));
    const ids = isEnough ? idsOf(chosen).toReversed() : [];
    expect({ choice, code, ids: asked.flatMap((one) => one.ids) }).toEqual({
      choice,
      code: isEnough ? 0 : 2,
      ids,
    });
    expect(asked.filter((one) => one.handler !== name)).toEqual([]);
    expect(terminal.printed).toEqual(isEnough ? [JSON.stringify({ requeued: ids.length, left: 0 })] : []);
  }
  const named = idsOf(all).slice(0, 3);
  for (const name of [undefined, "crm"]) {
    const { asked, recording } = recordRequeues(engine);
    await requeueEvents(
      { engine: recording, terminal: recordingTerminal() },
      named,
      name === undefined ? {} : { handler: name },
    );
    expect(asked).toEqual([{ ids: named, handler: name }]);
  }
  for (const choice of [{ state: "dead" }, { type: "order.created" }, { since: 3_600 }] as const) {
    const { asked, recording } = recordRequeues(engine);
    const terminal = recordingTerminal();
    expect(
      await orComplain(terminal, async () => requeueEvents({ engine: recording, terminal }, named, choice)),
    ).toBe(2);
    expect({ asked, said: terminal.said }).toEqual({
      asked: [],
      said: [expect.stringContaining("not both")],
    });
  }
});

/** An engine whose jobs stay as they are, and what was asked of it. */
function recordRequeues(engine: Engine) {
  const asked: { ids: readonly string[]; handler: string | undefined }[] = [];
  const requeue: Engine["ledger"]["requeue"] = async (ids, name) => {
    asked.push({ ids, handler: name });
    return ids.length;
  };
  return { asked, recording: { ...engine, ledger: { ...engine.ledger, requeue } } };
}
