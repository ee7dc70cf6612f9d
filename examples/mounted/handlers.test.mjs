import assert from "node:assert/strict";
import { test } from "node:test";
import { createHandlerBench } from "voice-agent-webhook-kit/receiver";
import { handlers } from "./handlers.mjs";

/** The event of a call of 94 seconds; `object` overrides fields of the call. */
const completed = (object = {}) => ({
  id: "evt_0123456789abcdef0123456789abcdef",
  type: "call.completed",
  created: 1_769_882_709,
  api_version: "v1",
  org_id: "org_1",
  data: { object: { object: "call", id: "call_1", duration_sec: 94, ...object } },
});

const listCalls = handlers.find(({ name }) => name === "list-calls");

test("a call is listed once, however often its event comes", async () => {
  const bench = await createHandlerBench(listCalls);
  assert.equal((await bench.run(completed())).outcome, "done");
  assert.equal((await bench.run(completed())).outcome, "duplicate");
  assert.deepEqual(await bench.rows("SELECT call_id, seconds FROM calls"), [
    { call_id: "call_1", seconds: 94 },
  ]);
  await bench.close();
});

for (const missing of [null, undefined])
  test(`a call whose length is ${missing} is listed, too`, async () => {
    const bench = await createHandlerBench(listCalls);
    assert.equal((await bench.run(completed({ duration_sec: missing }))).outcome, "done");
    assert.deepEqual(await bench.rows("SELECT seconds FROM calls"), [{ seconds: null }]);
    await bench.close();
  });
