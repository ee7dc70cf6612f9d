import { expect, test } from "vitest";
import { systemClock } from "../../receiver/clock.ts";
import { API_KEY, makeCalls, startRestService } from "../receiver/helpers/rest-service.ts";
import { dead, openInbox } from "../receiver/operations/inbox.ts";
import { runReceiver } from "./receiver-in-process.ts";

/** Every command of the receiver that reads or changes an inbox does its own work, and each option selects what it says. */

const DAY_MS = 86_400_000;
type Printed = { data: { id: string }[]; since: string };

test("inbox: list, export, requeue, discard, stats and prune", async () => {
  let ageMs = 40 * DAY_MS;
  const inbox = await openInbox(undefined, { ...systemClock, nowMs: () => systemClock.nowMs() - ageMs });
  const kitchen = { handler: "kitchen", type: "order.created" };
  const order = await inbox.handled(dead("HTTP 500"), kitchen);
  ageMs = 0;
  const [call, done] = [await inbox.handled(dead("no customer")), await inbox.handled({ kind: "done" })];
  const run = async (words: string): Promise<string> => {
    const split = `inbox ${words}`.split(" ").map((word) => word.replace("+", " "));
    return (await runReceiver(split, { DATABASE_URL: `sqlite:${inbox.file}` })).out;
  };
  const json = async (words: string) => JSON.parse(await run(`${words} --json`)) as Printed;

  for (const [option, ids] of [
    ["--limit 50", [done, call, order]],
    ["--limit 1", [done]],
    ["--state dead", [call, order]],
    ["--type order.created", [order]],
    ["--handler kitchen", [order]],
    ["--cause HTTP+500", [order]],
  ] as const)
    expect((await json(`list ${option}`)).data.map(({ id }) => id)).toEqual(ids);
  for (const [option, ids] of [
    ["--state dead", [order, call]],
    ["--type order.created", [order]],
    ["--since 7d", [call, done]],
  ] as const)
    expect((await run(`export ${option}`)).match(/evt_\w+/g)).toEqual(ids);

  const states = async () => [
    (await inbox.ledger.find(order))?.state,
    (await inbox.ledger.find(call))?.state,
  ];
  for (const option of ["--type order.created --since 7d", "--handler kitchen --since 7d"])
    expect(await json(`requeue --state dead ${option}`)).toEqual({ requeued: 0, left: 0 });
  expect(await json("requeue --state dead --since 7d")).toEqual({ requeued: 1, left: 0 });
  expect(await states()).toEqual(["dead", "waiting"]);
  expect(await run("stats")).toMatch(/kitchen: 1 dead\nlog-call: 1 waiting, the oldest since \d{4}-.*Z\n/);
  expect(await json(`discard ${order} --handler kitchen --reason a+test`)).toEqual({ discarded: 1, left: 0 });
  expect(await inbox.ledger.find(order)).toMatchObject({ jobs: [{ lastError: "a test" }] });
  expect(await run("prune")).toBe("Pruned 1 events older than 30 days and 0 ids older than 400 days.\n");
  expect(await run("list --state pruned")).toMatch(new RegExp(`^pruned .*  pruned +${order}  0 attempts\n$`));
  expect(await json(`requeue ${call} ${order}`)).toEqual({ requeued: 0, left: 2 });
});

test("reconcile looks back a week, or as far as --since says, and changes nothing with --dry-run", async () => {
  const inbox = await openInbox();
  const { state, baseUrl } = await startRestService();
  state.calls = makeCalls(1, systemClock.nowMs() - 3 * DAY_MS);
  const { id, created_at: at } = state.calls[0]!;
  const environment = { DATABASE_URL: `sqlite:${inbox.file}`, API_BASE_URL: baseUrl, API_KEY };
  const run = async (...words: string[]) => runReceiver(["reconcile", ...words], environment);
  const sinceMs = async (...words: string[]) =>
    systemClock.nowMs() - Date.parse((JSON.parse((await run(...words, "--json")).out) as Printed).since);
  for (const [words, hours] of [
    [["--dry-run"], 7 * 24],
    [["--dry-run", "--since", "36h"], 36],
    [["--dry-run", "--since", "120m"], 2],
    [["--since", "7200s"], 2],
  ] as const)
    expect(Math.round((await sinceMs(...words)) / 3_600_000)).toBe(hours);
  const line = `  call.completed  ${id}  ${at}  as evt_`;
  expect((await run("--dry-run")).out).toMatch(new RegExp(`^Would be healed, since .*: 1\n${line}`));
  expect((await inbox.ledger.counts()).events).toBe(0);
  expect(await run()).toMatchObject({ code: 0, out: expect.stringMatching(/^Healed, since .*: 1\n/) });
  expect((await inbox.ledger.counts()).events).toBe(1);
  expect((await run()).out).toMatch(/: 0\nAlready there: 1\nCannot be healed:\n  order\.created /);
  state.interludes.push((_request, response) => response.writeHead(401).end());
  const stopped = { code: 1, err: expect.stringMatching(/^reconcile did not finish: .*401.* run it again/) };
  expect(await run()).toMatchObject(stopped);
});
