import { expect, test } from "vitest";
import { systemClock } from "../../../receiver/clock.ts";
import { createBodyReader } from "../../../receiver/intake/body.ts";
import { createFetch } from "../../../receiver/library/fetch.ts";
import { FULL, READ, recording } from "../helpers/recording.ts";

/** From requests of the Fetch API the same parts are read as from those of node:http. */

const body = createBodyReader({ maxBodyBytes: 100, clock: systemClock });

test("the parts of a webhook are read, and the answer is returned", async () => {
  const { seen, webhook } = recording();
  const POST = createFetch(webhook, body);
  const init = { method: "POST", headers: FULL, body: "{}" };
  const answer = await POST(new Request("http://kit.test/hooks?key=1", init));
  expect(seen).toEqual([{ ...READ, framework: "fetch" }]);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([
    200,
    "application/json; charset=utf-8",
  ]);
  expect(await answer.json()).toEqual({ received: true, duplicate: false });
});

test("the path is read from any URL, and a missing header is undefined", async () => {
  const { seen, webhook } = recording();
  const request = new Request("http://kit.test/", { method: "POST", body: "{}" });
  await createFetch(webhook, body)(request);
  Object.defineProperty(request, "url", { value: "/hooks?a=1" });
  await createFetch(webhook, body)(request);
  expect(seen).toMatchObject([
    { path: "/", signatures: [], headers: {}, body: "{}" },
    { path: "/hooks", body: "no_bytes" },
  ]);
});

test("a body that was read before, is being read, or is text, has no bytes", async () => {
  for (const headers of [{}, { "content-length": "2" }]) {
    const { seen, webhook } = recording();
    const request = new Request("http://kit.test/", { method: "POST", body: "{}", headers });
    await request.text();
    await createFetch(webhook, body)(request);
    expect(seen).toMatchObject([{ body: "no_bytes" }]);
  }
  const { seen, webhook } = recording();
  const init = { method: "POST", body: "{}", headers: { "content-length": "2" } };
  const request = new Request("http://kit.test/", init);
  request.body?.getReader();
  await createFetch(webhook, body)(request);
  for (const headers of [new Headers(), new Headers({ "content-length": "2" })]) {
    const texts: ReadableStream = ReadableStream.from(["{}"]);
    const streamed = { ...init, headers, body: texts, duplex: "half" as const };
    await createFetch(webhook, body)(new Request("http://kit.test/", streamed));
  }
  const noBytes = { body: "no_bytes" };
  expect(seen).toMatchObject([noBytes, noBytes, noBytes]);
});

test("a body that is cut off is incomplete, wherever it ends", async () => {
  const { seen, webhook } = recording();
  const broken = async function* () {
    yield Buffer.from("{}");
    throw new Error("reset");
  };
  const init = { method: "POST", body: ReadableStream.from(broken()), duplex: "half" as const };
  await createFetch(webhook, body)(new Request("http://kit.test/", init));
  expect(seen).toMatchObject([{ body: "incomplete" }]);
});

test("a body is measured by its bytes, whatever its length was announced as", async () => {
  const { seen, webhook } = recording();
  const init = { method: "POST", body: Buffer.alloc(101), headers: { "content-length": "10" } };
  await createFetch(webhook, body)(new Request("http://kit.test/", init));
  expect(seen).toMatchObject([{ body: "too_large" }]);
});

test("of a body that is too large some more is read, so that the client gets its answer; the rest is cancelled", async () => {
  for (const [pieces, isCancelled] of [
    [10, false],
    [1_000, true],
  ] as const) {
    const { seen, webhook } = recording();
    const over = Promise.withResolvers<boolean>();
    let sent = 0;
    const long = new ReadableStream({
      pull: (controller) => {
        controller.enqueue(new Uint8Array(100_000));
        if ((sent += 1) < pieces) return;
        controller.close();
        over.resolve(false);
      },
      cancel: () => over.resolve(true),
    });
    const init = { method: "POST", body: long, duplex: "half" as const };
    await createFetch(webhook, body)(new Request("http://kit.test/", init));
    expect(seen).toMatchObject([{ body: "too_large" }]);
    expect(await over.promise).toBe(isCancelled);
  }
});
