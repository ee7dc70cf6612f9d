import { expect, test } from "vitest";
import { voicemailCreated } from "../../../receiver/handlers/voicemail-created.ts";
import { sampleEnvelope, sampleVoicemail } from "../../../shared/samples.ts";
import { bench } from "../helpers/bench.ts";

const again = sampleEnvelope("voicemail.created", { id: `evt_${"f".repeat(32)}` });

test("a voicemail puts its caller on the list once, even if two events report it", async () => {
  const { run, rows } = await bench(voicemailCreated);
  await run(sampleEnvelope("voicemail.created"));
  await run(again);
  const { id, call_id, phone, customer_name, message_text: message, created_at: left_at } = sampleVoicemail;
  const row = { voicemail_id: id, call_id, phone, customer_name, message, left_at, called_back: 0 };
  expect(await rows("SELECT * FROM callbacks")).toEqual([row]);
});

test("a voicemail of which nothing is known is on the list by its event", async () => {
  const { run, rows } = await bench(voicemailCreated);
  await run({ ...again, data: { object: { object: "voicemail" } } });
  const none = { call_id: null, phone: null, customer_name: null, message: null, left_at: null };
  expect(await rows("SELECT * FROM callbacks")).toEqual([
    { voicemail_id: again.id, ...none, called_back: 0 },
  ]);
});

test("a call-back that was made is not undone by a second event about it", async () => {
  const { run, rows } = await bench(voicemailCreated);
  await run(sampleEnvelope("voicemail.created"));
  await rows("UPDATE callbacks SET called_back = 1 RETURNING 1");
  await run(again);
  expect(await rows("SELECT called_back FROM callbacks")).toEqual([{ called_back: 1 }]);
});
