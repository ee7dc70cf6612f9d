import { expect, onTestFinished, test } from "vitest";
import { verify } from "../../../shared/signature.ts";
import { startSimulator, type StartOptions } from "../../../simulator/index.ts";
import { startEndpoint } from "../../helpers/endpoint.ts";
import { temporaryDirectory } from "../../helpers/simulator.ts";

async function start(options: StartOptions = {}) {
  const simulator = await startSimulator({ calls: 0, ...options });
  onTestFinished(() => simulator.close());
  return simulator;
}

test("many run at once in one process, each with its own world and port", async () => {
  const receiver = await startEndpoint();
  const simulators = await Promise.all(Array.from({ length: 8 }, () => start()));
  expect(new Set(simulators.map(({ url }) => url)).size).toBe(8);
  for (const simulator of simulators) simulator.endpoints.add({ url: receiver.url });
  await Promise.all(simulators.map((simulator) => simulator.emit("call.completed")));
  const ids = receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id);
  expect(new Set(ids).size).toBe(8);
});

test("created is the current second, rounded down", async () => {
  const simulator = await start({ clock: "manual" });
  for (const step of ["300ms", "300ms", "500ms"]) {
    await simulator.clock.advance(step);
    const { events } = await simulator.emit("call.completed");
    const created = Math.floor(simulator.clock.now().getTime() / 1000);
    expect(events.map((event) => event.created)).toEqual([created]);
  }
});

test("close() leaves no socket, timer or listener behind", async () => {
  const before = process.getActiveResourcesInfo().filter(isOurs).length;
  const hanging = await startEndpoint(() => {});
  const simulator = await start({ clock: "real" });
  simulator.endpoints.add({ url: hanging.url });
  const emission = simulator.emit("call.completed");
  await hanging.until(1);
  await simulator.close();
  await simulator.close();
  await emission.catch(() => {});
  await hanging.close();
  await expect.poll(() => process.getActiveResourcesInfo().filter(isOurs).length).toBeLessThanOrEqual(before);
  await expect(fetch(simulator.url)).rejects.toThrow("fetch failed");
});

test("`await using` closes it", async () => {
  let url = "";
  {
    await using simulator = await startSimulator({ calls: 0 });
    ({ url } = simulator);
    expect((await fetch(`${url}/openapi.json`)).status).toBe(200);
  }
  await expect(fetch(url)).rejects.toThrow("fetch failed");
});

test("what an event carries equals what the REST API answers", async () => {
  const simulator = await start();
  const { events } = await simulator.emit("call.completed", { object: { outcome: "voicemail" } });
  const organization = simulator.organizations().find(({ id }) => id === events[0]?.org_id);
  const answer = await fetch(`${simulator.url}/api/v1/calls?outcome=voicemail`, {
    headers: { authorization: `Bearer ${organization?.apiKey}` },
  });
  expect(await answer.json()).toMatchObject({ data: [events[0]?.data.object] });
});

test("the same seed gives the same ids, and another run other ones", async () => {
  const idOf = async (options: StartOptions) =>
    (await (await start(options)).emit("call.completed")).events[0]?.id;
  expect(await idOf({ seed: 5 })).toBe(await idOf({ seed: 5 }));
  expect(await idOf({})).not.toBe(await idOf({}));
});

test("with the clock skip, emit resolves when the whole schedule is over", async () => {
  const simulator = await start({ clock: "skip" });
  const receiver = await startEndpoint(500);
  simulator.endpoints.add({ url: receiver.url });
  const { deliveries } = await simulator.emit("order.created");
  expect(deliveries).toMatchObject([{ state: "dead", attempts: { length: 6 } }]);
  expect(simulator.endpoints.list()).toMatchObject([{ flagged: true, consecutiveFailures: 6 }]);
});

test("a delivery is waited for, sent again, and a recorded envelope replayed", async () => {
  const simulator = await start();
  const receiver = await startEndpoint(500);
  simulator.endpoints.add({ url: receiver.url });
  const { deliveries, events } = await simulator.emit("call.completed");
  const finished = simulator.deliveries.finished(deliveries[0]?.id ?? "");
  await simulator.clock.run();
  expect(await finished).toMatchObject({ state: "dead" });

  receiver.behave(200);
  const resent = await simulator.deliveries.resend(deliveries[0]?.id ?? "");
  expect(resent).toMatchObject({ state: "delivered", eventId: events[0]?.id });
  const [envelope] = events;
  if (envelope === undefined) throw new Error("Nothing was emitted.");
  const [same] = await simulator.deliveries.replay(envelope);
  const [other] = await simulator.deliveries.replay(envelope, { newId: true });
  expect([same?.eventId === envelope.id, other?.eventId === envelope.id]).toEqual([true, false]);
});

test("waiting for a delivery ends when the simulator is reset", async () => {
  const simulator = await start();
  const receiver = await startEndpoint(500);
  simulator.endpoints.add({ url: receiver.url });
  const { deliveries } = await simulator.emit("call.completed");
  const finished = simulator.deliveries.finished(deliveries[0]?.id ?? "");
  await Promise.all([
    expect(finished).rejects.toThrow("was reset before"),
    simulator.reset({ keepEndpoints: true }),
  ]);
  expect(simulator.endpoints.list()).toHaveLength(1);
  expect(simulator.deliveries.list()).toEqual([]);
});

test("endpoints are changed, tested and removed", async () => {
  const simulator = await start();
  const receiver = await startEndpoint();
  const { id, secret } = simulator.endpoints.add({
    url: "http://localhost:9/",
    eventTypes: ["order.created"],
  });
  expect(secret).toMatch(/^whsec_/);
  simulator.endpoints.change(id, { url: receiver.url, faults: ["drop-answer:2"] });
  expect(simulator.endpoints.get(id)).toMatchObject({ url: receiver.url, faults: ["drop-answer:2"] });
  // Only `add` and `rotate` return the secret.
  expect(JSON.stringify([simulator.endpoints.get(id), simulator.endpoints.list()])).not.toContain(secret);
  const eventId = await simulator.endpoints.test(id);
  expect(receiver.received).toHaveLength(1);
  expect(JSON.parse(receiver.received[0]?.body.toString() ?? "")).toMatchObject({ id: eventId });
  simulator.endpoints.remove(id);
  expect(simulator.endpoints.list()).toEqual([]);
});

test("a secret is rotated, and the one before it signs beside the new one until the overlap ends", async () => {
  const receiver = await startEndpoint();
  const simulator = await start();
  const before = simulator.endpoints.add({ url: receiver.url, secret: "whsec_before" });
  let { secret } = before;
  const signers = async () => {
    await simulator.emit("call.completed");
    const { signature = "", body = Buffer.alloc(0), t = 0 } = receiver.received.at(-1) ?? {};
    return ["whsec_before", secret].map(
      (signer) => verify({ headers: [signature], body, secrets: [signer], nowSeconds: t }).ok,
    );
  };

  const rotated = simulator.endpoints.rotate(before.id, { secret: "whsec_after", overlap: "1h" });
  expect(rotated).toMatchObject({ id: before.id, secret: "whsec_after", previousSecretLast4: "fore" });
  secret = rotated.secret;
  expect(await signers()).toEqual([true, true]);
  await simulator.clock.advance("59m59s");
  expect(await signers()).toEqual([true, true]);
  await simulator.clock.advance("1s");
  expect(await signers()).toEqual([false, true]);

  expect(simulator.endpoints.rotate(before.id).secret).toMatch(/^whsec_[0-9a-f]{48}$/);
  await simulator.clock.advance(86_399);
  expect(await signers()).toEqual([false, true]);
  expect(receiver.received.at(-1)?.signature.split("v1=")).toHaveLength(3);
  await simulator.clock.advance(1);
  await signers();
  expect(receiver.received.at(-1)?.signature.split("v1=")).toHaveLength(2);
  expect(() => simulator.endpoints.rotate(before.id, { overlap: "soon" })).toThrow("is not a duration");
  expect(() => simulator.endpoints.rotate(before.id, { secret: "a b" })).toThrow("no white space");
});

test("the clock is read, moved by texts and seconds, and changed in mode", async () => {
  const simulator = await start();
  const before = simulator.clock.now();
  await simulator.clock.advance("1h30m");
  await simulator.clock.advance(30);
  expect(simulator.clock.now().getTime() - before.getTime()).toBe(5_430_000);
  await simulator.clock.next();
  simulator.clock.setMode("real");
  expect(simulator.clock.mode()).toBe("real");
  for (const wrong of ['"later"', '"90"', "-1", "NaN", "Infinity"])
    await expect(
      simulator.clock.advance(wrong.startsWith('"') ? wrong.slice(1, -1) : Number(wrong)),
    ).rejects.toThrow(
      `${wrong} is not a duration: give a number of seconds, or a text with its unit such as 90s`,
    );
});

test("mistakes throw with what to change", async () => {
  const simulator = await start();
  expect(() => simulator.endpoints.add({ url: "http://example.com/" })).toThrow(
    "http:// is for localhost only",
  );
  const elsewhere = { url: "http://localhost:9/", orgId: "org_x" };
  expect(() => simulator.endpoints.add(elsewhere)).toThrow('There is no organization "org_x": use one of');
  expect(() => simulator.endpoints.get("ep_x")).toThrow('There is no endpoint "ep_x".');
  expect(() => simulator.deliveries.get("dlv_x")).toThrow('There is no delivery "dlv_x".');
  await expect(simulator.emit("call.completed", { orgId: "org_x" })).rejects.toThrow("org_x");
  // Callers without types can pass wrong values.
  const untyped = (value: unknown) => value as never;
  await expect(start({ faults: [untyped("slow")] })).rejects.toThrow("Unknown fault");
  await expect(start({ readings: untyped({ limit: "clamp" }) })).rejects.toThrow(
    'There is no reading "limit"',
  );
  const dataFile = `${temporaryDirectory()}/data.db`;
  const taken = { port: Number(new URL(simulator.url).port), dataFile };
  await expect(start(taken)).rejects.toThrow("is taken");
  // The refused one has released its file.
  await (await start({ dataFile })).close();
  await expect(start({ dataFile: import.meta.dirname })).rejects.toThrow("Cannot open");
});

test("a built-in or own scenario runs as the clock moves", async () => {
  const simulator = await start();
  const receiver = await startEndpoint();
  simulator.endpoints.add({ url: receiver.url });
  const story = await simulator.tell("outage");
  expect(story.name).toBe("outage");
  await simulator.clock.run();
  expect(receiver.received.length).toBeGreaterThanOrEqual(story.steps);
  const steps = [{ after_seconds: 60, type: "order.created" }];
  const own = await simulator.tell({ name: "mine", summary: "Mine.", steps });
  expect(own.endsAt.getTime() - simulator.clock.now().getTime()).toBe(60_000);
  await expect(simulator.tell("outge")).rejects.toThrow('Did you mean "outage"?');
  await expect(simulator.tell({ name: "mine" })).rejects.toThrow("summary");
});

test("with a data file it continues", async () => {
  const dataFile = `${temporaryDirectory()}/data.db`;
  const first = await start({ dataFile });
  const { id } = first.endpoints.add({ url: "http://localhost:9/" });
  await first.close();
  const second = await start({ dataFile });
  expect(second.seed).toBe(first.seed);
  expect(second.endpoints.get(id).url).toBe("http://localhost:9/");
});

function isOurs(resource: string): boolean {
  return /TCP|Timeout|Immediate|Pipe/.test(resource) && !resource.startsWith("Pipe");
}
