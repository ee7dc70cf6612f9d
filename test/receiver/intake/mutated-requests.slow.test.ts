import { expect, test } from "vitest";
import { idOf, newBody, post, signatureFor } from "../helpers/events.ts";
import { open, rawRequest } from "../helpers/raw.ts";
import { randomFrom, SEED } from "../../helpers/seed.ts";
import { startTestReceiver } from "../helpers/receiver.ts";

const REQUESTS = Number(process.env["MUTATED_REQUESTS"] ?? 1_000);
const random = randomFrom(SEED);
const AT_ONCE = 50;

/** Answers that a broken request may get. Never a 5xx: an unknown sender's input is never our error. */
const EXPECTED = new Set([200, 400, 401, 404, 405, 408, 411, 413, 414, 415, 417, 431]);

test(
  `${String(REQUESTS)} mutated requests, drawn from seed ${String(SEED)}, are answered or dropped, never stored when changed, and harm nobody`,
  { timeout: 60_000 + REQUESTS * 20 },
  async () => {
    const { url, store, logLines } = await startTestReceiver();
    const statuses = new Map<number, number>();
    const changed: string[] = [];
    for (let sent = 0; sent < REQUESTS; sent += AT_ONCE) {
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          const body = newBody();
          const original = rawRequest(url, { body, signatures: [signatureFor(body)] });
          const status = await exchange(url, mutate(original));
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          // The stored body of this id is the signed one.
          const found = await store.ledger.find(idOf(body));
          if (found && !body.equals((await store.ledger.body(found.seq))!)) changed.push(found.id);
        }),
      );
    }
    expect(changed).toEqual([]);
    const unexpected = [...statuses.keys()].filter((status) => status !== 0 && !EXPECTED.has(status));
    expect(unexpected).toEqual([]);
    expect(logLines.filter((line) => line.includes("a bug"))).toEqual([]);
    // Control: some mutations were harmless, and many were not.
    expect(statuses.get(401) ?? 0).toBeGreaterThan(REQUESTS / 20);
    expect((await post(url, newBody())).status).toBe(200);
  },
);

/** The status of the answer; 0 when the connection ended without one. */
async function exchange(url: string, bytes: Buffer): Promise<number> {
  return new Promise((resolve) => {
    const socket = open(url);
    let received = "";
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
      resolve(statuses.findLast((status) => status >= 200) ?? 0);
    });
    // End the request: the missing rest will not come.
    socket.end(bytes);
  });
}

function mutate(original: Buffer): Buffer {
  let bytes = Buffer.from(original);
  const changes = 1 + Math.floor(random() * 4);
  for (let change = 0; change < changes; change += 1) {
    const at = Math.floor(random() * bytes.length);
    const byte = Buffer.from([Math.floor(random() * 256)]);
    const kind = Math.floor(random() * 5);
    if (kind === 0) bytes[at] = byte[0]!;
    else if (kind === 1) bytes = Buffer.concat([bytes.subarray(0, at), byte, bytes.subarray(at)]);
    else if (kind === 2) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
    else if (kind === 3) bytes = bytes.subarray(0, Math.max(1, at));
    else
      bytes = Buffer.concat([
        bytes.subarray(0, at),
        bytes.subarray(Math.max(0, at - 40), at),
        bytes.subarray(at),
      ]);
  }
  return bytes;
}
