import { expect, test } from "vitest";
import { voicemailCreated } from "../../../receiver/handlers/voicemail-created.ts";
import { sampleEnvelope, sampleVoicemail } from "../../../shared/samples.ts";
import { createHandlerBench } from "../helpers/run-handler.ts";

test("a voicemail puts its caller on the list once, even when two events tell of it", async () => {
  const bench = createHandlerBench(voicemailCreated);
  await bench.run(sampleEnvelope("voicemail.created"));
  await bench.run(sampleEnvelope("voicemail.created", { id: `evt_${"f".repeat(32)}` }));
  expect(bench.rows("SELECT voicemail_id, phone, called_back FROM callbacks")).toEqual([
    { voicemail_id: sampleVoicemail.id, phone: sampleVoicemail.phone, called_back: 0 },
  ]);
});

test("a call-back that was made is not undone by an event that comes again", async () => {
  const bench = createHandlerBench(voicemailCreated);
  await bench.run(sampleEnvelope("voicemail.created"));
  bench.rows("UPDATE callbacks SET called_back = 1 RETURNING 1");
  await bench.run(sampleEnvelope("voicemail.created"));
  expect(bench.rows("SELECT called_back FROM callbacks")).toEqual([{ called_back: 1 }]);
});
