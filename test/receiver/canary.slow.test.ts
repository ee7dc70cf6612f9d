import { expect, test } from "vitest";
import { SIGNATURE_HEADER } from "../../shared/signature.ts";
import { sampleEnvelope } from "../../shared/samples.ts";
import { idOf, newBody, post, signatureFor } from "./helpers/events.ts";
import { startProcess } from "./helpers/process.ts";
import { rawRequest, sendRaw } from "./helpers/raw.ts";
import { temporaryDirectory } from "./helpers/temporary.ts";
import { until } from "./helpers/until.ts";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What must never be seen: planted in everything that the receiver is given, looked for in everything it says. */
const CANARIES = {
  secret: "whsec_canary_5e0bb2",
  apiKey: "key_canary_77ac01",
  password: "password_canary_31ffe0",
  adminToken: "token_canary_9d20c4",
  phone: "+12125550199",
  name: "Canary Featherstone",
  transcript: "Caller: the canary sings at midnight",
  message: "please whistle for the canary",
  recording: "http://localhost/recordings/canary.mp3",
};

test("no secret, signature, phone number or text reaches a log, an answer, a metric or the admin port", async () => {
  const receiver = await startProcess({
    entry: fileURLToPath(new URL("./helpers/receiver-with-handlers.ts", import.meta.url)),
    environment: {
      HANDLERS_MODULE: new URL("./canary-handlers.ts", import.meta.url).href,
      DATABASE_URL: `sqlite:${join(temporaryDirectory(), "receiver.db")}`,
      SIGNING_SECRET: `${CANARIES.secret},${CANARIES.secret}_old`,
      API_KEY: CANARIES.apiKey,
      API_BASE_URL: "http://127.0.0.1:9",
      ADMIN_HOST: "0.0.0.0",
      ADMIN_TOKEN: CANARIES.adminToken,
      LOG_LEVEL: "trace",
    },
  });
  const ask = async (path: string): Promise<Response> =>
    fetch(receiver.adminUrl + path, { headers: { authorization: `Bearer ${CANARIES.adminToken}` } });
  const said: string[] = [];
  const signatures: string[] = [];
  const send = async (
    body: Uint8Array,
    signature = signatureFor(body, { secret: CANARIES.secret }),
  ): Promise<void> => {
    signatures.push(...signature.split("v1=").slice(1));
    said.push(await (await post(receiver.url, body, signature)).text());
  };

  const bodies = [
    personal("call.completed"),
    personal("voicemail.created"),
    personal("call.transferred"),
    personal("throws-the-event"),
    personal("logs-the-event"),
    personal("dies-of-the-event"),
    personal("unknown.type"),
    personal(`unknown.${CANARIES.name}`),
    personal("tells-secrets"),
  ];
  for (const body of bodies) await send(body);
  await send(bodies[0]!, signatureFor(bodies[0]!, { secret: "wrong" }));
  await send(
    Buffer.concat([bodies[1]!, Buffer.from(" ")]),
    signatureFor(bodies[1]!, { secret: CANARIES.secret }),
  );
  await send(Buffer.from(JSON.stringify({ id: CANARIES.phone, type: CANARIES.transcript })));
  await send(Buffer.from(CANARIES.transcript));
  await send(newBody("call.completed", { id: idOf(bodies[0]!), note: CANARIES.message }));
  for (const extra of [
    { path: `/webhooks/${CANARIES.phone}`, body: bodies[0]! },
    { path: `/webhooks?phone=${CANARIES.phone}`, body: Buffer.from("x") },
    {
      headers: [
        ["Authorization", `Bearer ${CANARIES.apiKey}`],
        ["Content-Encoding", "gzip"],
      ] as const,
      body: bodies[0]!,
    },
  ]) {
    const answer = await sendRaw(
      receiver.url,
      rawRequest(receiver.url, { ...extra, signatures: [CANARIES.secret] }),
    );
    said.push(answer.body);
  }

  for (const body of bodies) {
    const found = await until(
      async () =>
        (await ask(`/inbox/${idOf(body)}`)).json() as Promise<{
          state: string;
          attempts: number;
        }>,
      ({ state, attempts }) => state !== "claimed" && (attempts > 0 || state !== "pending"),
    );
    said.push(JSON.stringify(found));
  }
  said.push(await (await ask("/inbox")).text());
  said.push(await (await ask("/metrics")).text());
  await send(personal("crashes-with-the-event"));
  await until(
    () => receiver.lines.some((line) => line.includes("the handlers' process died")),
    (died) => died,
  );
  receiver.child.kill("SIGTERM");
  await receiver.exited;

  const everything = [...said, ...receiver.lines, ...receiver.errors].join("\n");
  // The control: it was there to be said.
  expect(everything).toContain(idOf(bodies[3]!));
  expect(everything).toContain("a handler that quotes its event");
  expect(everything).toContain("a handler that tells secrets");
  expect(everything).toContain("a handler that says nothing of its event");
  expect(everything).toContain('"names":["API_BASE_URL","API_KEY","DATABASE_URL"]');
  expect(everything).toMatch(/"error":"Error","at":\["at .*canary-handlers\.ts:\d+/);
  for (const [what, canary] of Object.entries(CANARIES)) {
    // The path is the sender's own, and it is in the log of requests.
    const withoutPaths = everything.replaceAll(/"path":"[^"]*"/g, "");
    expect(withoutPaths.includes(canary), `${what} leaked`).toBe(false);
  }
  for (const signature of signatures) expect(everything).not.toContain(signature);
  expect(SIGNATURE_HEADER).toBe("X-Service-Signature");
});

function personal(type: string): Buffer {
  const base =
    type === "voicemail.created" ? sampleEnvelope("voicemail.created") : sampleEnvelope("call.completed");
  const object = {
    ...base.data.object,
    phone: CANARIES.phone,
    transcript: CANARIES.transcript,
    customer_name: CANARIES.name,
    message_text: CANARIES.message,
    recording_url: CANARIES.recording,
    notes: CANARIES.message,
    transfer_to: CANARIES.phone,
  };
  return newBody("call.completed", { type, data: { object } });
}
