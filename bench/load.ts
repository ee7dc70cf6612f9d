import { randomBytes } from "node:crypto";
import autocannon from "autocannon";
import { sampleEnvelope } from "../shared/samples.ts";
import { SIGNATURE_HEADER, sign } from "../shared/signature.ts";
import { runLoad } from "../simulator/load/run.ts";
import { startEndpoint } from "./support/endpoint.ts";
import { createReport, whole } from "./support/report.ts";
import { inTurns, numberOf } from "./support/rounds.ts";

/**
 * How much the load generator can send, compared with autocannon against the same endpoint with as many connections: ours
 * makes and signs an event for each request; autocannon repeats one body, or does the same as ours. Run it with
 * `npm run bench -- load`; `--seconds 1 --rounds 3` makes it shorter.
 */
const SECONDS = numberOf("--seconds") ?? 3;
const ROUNDS = numberOf("--rounds") ?? 5;
const CONNECTIONS = 50;
const SECRET = "whsec_bench";

const endpoint = await startEndpoint(200);
const report = createReport();
try {
  const { repeated, signed, ours } = await inTurns(ROUNDS, {
    repeated: autocannonRepeating,
    signed: autocannonSigning,
    ours: load,
  });
  report.line(`medians of ${ROUNDS} rounds in turns, ${SECONDS} s each, ${CONNECTIONS} connections`);
  report.line(`autocannon, one body repeated            ${whole(repeated).padStart(9)} requests/s`);
  report.line(`autocannon, unique and signed            ${whole(signed).padStart(9)} requests/s`);
  report.line(`load, unique and signed                  ${whole(ours).padStart(9)} requests/s`);
  report.held("load ÷ autocannon with one body", ours / repeated, { atLeast: 0.8 });
  report.held("load ÷ autocannon that signs each", ours / signed, { atLeast: 1 });
  report.conclude();
} finally {
  endpoint.close();
}

async function load(): Promise<number> {
  const result = await runLoad(
    {
      url: endpoint.url,
      secret: SECRET,
      durationMs: SECONDS * 1000,
      connections: CONNECTIONS,
      duplicates: 0,
    },
    { signal: new AbortController().signal },
  );
  return result.acknowledged / (result.elapsedMs / 1000);
}

function autocannonRepeating(): Promise<number> {
  return cannonade({
    headers: { "content-type": "application/json" },
    body: JSON.stringify(sampleEnvelope("call.completed")),
  });
}

function autocannonSigning(): Promise<number> {
  const setupRequest = (request: autocannon.Request): autocannon.Request => {
    const body = JSON.stringify(
      sampleEnvelope("call.completed", { id: `evt_${randomBytes(16).toString("hex")}` }),
    );
    const timestampSeconds = Math.floor(Date.now() / 1000);
    const signature = sign({ body, secret: SECRET, timestampSeconds });
    const headers = { "content-type": "application/json", [SIGNATURE_HEADER]: signature };
    return { ...request, body, headers };
  };
  return cannonade({ requests: [{ setupRequest }] });
}

async function cannonade(
  options: Pick<autocannon.Options, "headers" | "body" | "requests">,
): Promise<number> {
  const result = await autocannon({
    url: endpoint.url,
    connections: CONNECTIONS,
    duration: SECONDS,
    method: "POST",
    ...options,
  });
  return result["2xx"] / result.duration;
}
