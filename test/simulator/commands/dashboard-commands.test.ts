import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";
import { run, startService } from "./in-process.ts";

test("endpoints: added, listed, shown, changed, tested and removed", async () => {
  const { sim, simulator } = await startService();
  const receiver = await startEndpoint();

  expect(await sim("endpoints")).toMatchObject({ code: 0, out: "" });
  const added = await sim("endpoints", "add", receiver.url, "--events", "call.completed,order.created");
  expect(added.code).toBe(0);
  const { id = "" } = simulator.endpoints.list()[0] ?? {};
  expect(added.out).toContain(id);
  const [secret = ""] = /whsec_\w+/.exec(added.out) ?? [];
  expect(added.err).toContain(`endpoints test ${id} --simulator ${simulator.url}`);

  const listed = await sim("endpoints", "list");
  expect(listed.out).toContain("call.completed, order.created");
  expect(listed.out).not.toContain(secret);
  expect((await sim("endpoints", "--json")).json()).toMatchObject({
    object: "list",
    data: [{ id, url: receiver.url, secret_last4: secret.slice(-4) }],
  });

  const changed = await sim("endpoints", "change", id, "--events", "", "--fault", "duplicate", "--json");
  expect(changed.json()).toMatchObject({ event_types: [], faults: ["duplicate"] });
  expect((await sim("endpoints", "change", id, "--no-faults", "--json")).json()).toMatchObject({
    faults: [],
  });
  expect((await sim("endpoints", "show", id)).out).toContain(`ends in ${secret.slice(-4)}`);

  const rotated = await sim("endpoints", "rotate", id, "--overlap", "90m");
  const [now = ""] = /whsec_\w+/.exec(rotated.out) ?? [];
  expect(now).not.toBe(secret);
  expect(rotated.out).toContain(`ends in ${secret.slice(-4)}, signs until `);
  const again = (
    await sim("endpoints", "rotate", id, "--secret", "whsec_mine", "--overlap", "0", "--json")
  ).json();
  expect(again).toMatchObject({ secret: "whsec_mine", previous_secret_last4: now.slice(-4) });
  // Half of a short secret is not shown either.
  expect((await sim("endpoints", "show", id)).out).toMatch(/^Secret +too short to show its end$/m);
  expect((await sim("endpoints", "rotate", id)).out).toMatch(
    /^Before +too short to show its end, signs until /m,
  );
  expect((await sim("endpoints", "rotate", id, "--overlap", "soon")).code).toBe(2);
  expect((await sim("endpoints", "rotate", id, "--overlap", "31d")).err).toBe(
    "--overlap: give 30d at most.\n",
  );
  const atOnce = await sim("endpoints", "rotate", id, "--overlap", "0");
  expect([atOnce.out, atOnce.err]).toEqual([
    expect.stringMatching(/, signs no longer$/m),
    expect.not.stringContaining("both"),
  ]);
  const nothing = { code: 2, err: expect.stringContaining("Say what to change: --url") };
  expect(await sim("endpoints", "change", id)).toMatchObject(nothing);
  expect((await sim("endpoints", "change", id, "--no-faults", "--fault", "delay")).err).toContain("not both");

  const tested = (await sim("endpoints", "test", id, "--json")).json();
  expect(tested.events).toMatchObject([{ type: "call.completed" }]);
  await receiver.until(1);

  expect((await sim("endpoints", "remove", id)).out).toBe(`Removed ${id}.\n`);
  expect(simulator.endpoints.list()).toEqual([]);
});

test("endpoints: with a given secret, organization and faults", async () => {
  const { sim, simulator } = await startService();
  const orgId = simulator.organizations()[0]?.id ?? "";
  const words = `endpoints add http://localhost:9/webhooks --secret whsec_mine --org ${orgId} --fault drop-answer:1 --json`;
  const { code, json } = await sim(...words.split(" "));
  expect(code).toBe(0);
  expect(json()).toMatchObject({ secret: "whsec_mine", org_id: orgId, faults: ["drop-answer:1"] });
  const { id } = json();
  expect((await sim("endpoints", "change", id, "--org", "", "--json")).json()).toMatchObject({
    org_id: null,
  });
  const file = join(temporaryDirectory(), "secret");
  writeFileSync(file, "whsec_filed\n");
  expect((await sim("endpoints", "rotate", id, "--secret", `@${file}`)).out).toContain("whsec_filed\n");
});

test("events: listed newest first, by type, and shown with envelope and deliveries", async () => {
  const { sim, simulator } = await startService();
  const receiver = await startEndpoint();
  simulator.endpoints.add({ url: receiver.url });
  expect((await sim("events")).err).toContain("trigger call.completed");
  const { events } = await simulator.emit("call.completed");
  await simulator.emit("voicemail.created");

  const all = (await sim("events", "--json")).json<{ data: { type: string }[] }>();
  expect(all.data.map(({ type }) => type)).toEqual(["voicemail.created", "call.completed"]);
  const listed = await sim("events", "--type", "call.completed");
  expect(listed.out).toContain(events[0]?.id);
  expect(listed.out).not.toContain("voicemail.created");
  expect((await sim("events", "--type", "none")).err).toContain("No event has the type none. List all:");

  const shown = await sim("events", "show", events[0]?.id ?? "");
  expect(JSON.parse(shown.out)).toEqual(events[0]);
  expect(shown.err).toContain("delivered  200");
});

test("deliveries: listed, shown with their attempts, and sent again", async () => {
  const { sim, simulator } = await startService();
  const receiver = await startEndpoint(500);
  simulator.endpoints.add({ url: receiver.url });
  expect((await sim("deliveries")).err).toContain("trigger call.completed");
  const [delivery] = (await simulator.emit("call.completed")).deliveries;
  const id = delivery?.id ?? "";
  await simulator.clock.run();

  const listed = await sim("deliveries", "--state", "dead");
  expect(listed.out).toMatch(new RegExp(`${id} .*dead +6 +500`));
  expect(listed.err).toContain(`deliveries show ${id}`);
  expect((await sim("deliveries", "--state", "delivered", "--json")).json().data).toEqual([]);

  const shown = await sim("deliveries", "show", id);
  expect(shown.out.match(/ms +500$/gm)).toHaveLength(6);
  expect((await sim("deliveries", "show", id, "--json")).json().attempts).toHaveLength(6);
  expect(shown.out).not.toContain("Answered");

  receiver.behave((response, count) =>
    response.writeHead(500).end(count === 12 ? "still not" : `no table\n${"x\n".repeat(40)}`),
  );
  const failing = (await simulator.emit("call.completed")).deliveries[0]?.id ?? "";
  await simulator.clock.run();
  const answered = (await sim("deliveries", "show", failing)).out;
  // Five equal attempts are one line.
  expect(answered.match(/^Answered on attempt \d:/gm)).toEqual([
    "Answered on attempt 1:",
    "Answered on attempt 6:",
  ]);
  expect(answered).toMatch(/^ {2}no table$/m);
  expect(answered).toContain("  … 11 more lines: --json has them\n");
  expect(answered).toMatch(/^ {2}still not$/m);

  receiver.behave(200);
  const resent = (await sim("deliveries", "resend", id, "--json")).json();
  expect(resent).toMatchObject({ resend_of: id });
  expect(await simulator.deliveries.finished(resent.id)).toMatchObject({ state: "delivered" });
});

test("clock: shown, advanced by a time and to the next attempt, run to the end, changed in mode", async () => {
  const { sim, simulator } = await startService();
  const receiver = await startEndpoint(500);
  simulator.endpoints.add({ url: receiver.url });
  const [delivery] = (await simulator.emit("call.completed")).deliveries;
  const attempts = () => simulator.deliveries.get(delivery?.id ?? "").attempts.length;

  const shown = await sim("clock");
  expect(shown.out).toContain("manual");
  expect(shown.err).toContain("clock advance next");
  expect((await sim("clock", "advance", "59s", "--json")).json()).toMatchObject({ object: "clock" });
  expect(attempts()).toBe(1);
  await sim("clock", "advance", "1s");
  expect(attempts()).toBe(2);
  await sim("clock", "advance", "next");
  expect(attempts()).toBe(3);
  const run = await sim("clock", "run");
  expect(attempts()).toBe(6);
  expect(run.out).toContain("none is due");
  expect((await sim("clock", "mode", "skip", "--json")).json()).toMatchObject({ mode: "skip" });
});

test("readings: listed without a simulator, shown and set with one", async () => {
  const listed = await run("readings");
  expect(listed.code).toBe(0);
  expect(listed.out).toContain("limit_out_of_range  reject (default) | clamp");
  expect(listed.out).toContain("SPEC §8");
  expect((await run("readings", "--json")).json().data.length).toBeGreaterThanOrEqual(16);

  const { sim } = await startService();
  const set = await sim("readings", "set", "limit_out_of_range=clamp", "retry_body=reserialized");
  expect(set.out).toContain("clamp (default: reject)");
  const shown = (await sim("readings", "show", "--json")).json();
  expect(shown.data).toContainEqual(
    expect.objectContaining({ name: "retry_body", choice: "reserialized", default: "same_bytes" }),
  );
});
