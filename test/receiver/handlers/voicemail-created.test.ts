import { expect, test } from "vitest";
import { voicemailCreated } from "../../../receiver/handlers/voicemail-created.ts";
import { sampleEnvelope, sampleVoicemail } from "../../../shared/samples.ts";
import { bench } from "../helpers/bench.ts";

const again = sampleEnvelope("voicemail.created", { id: `evt_${"f".repeat(32)}` });

test("a voicemail puts its caller on the list once, even if two events report it", async () => {
  const { run, rows } = await bench(voicemailCreated);
  await run(sampleEnvelope("voicemail.created"));
  await run(again);
  expect(await rows("SELECT voicemail_id, phone, called_back FROM callbacks")).toEqual([
    { voicemail_id: sampleVoicemail.id, phone: sampleVoicemail.phone, called_back: 0 },
  ]);
});

test("a call-back that was made is not undone by a second event about it", async () => {
  const { run, rows } = await bench(voicemailCreated);
  await run(sampleEnvelope("voicemail.created"));
  await rows("UPDATE callbacks SET called_back = 1 RETURNING 1");
  await run(again);
  expect(await rows("SELECT called_back FROM callbacks")).toEqual([{ called_back: 1 }]);
});
