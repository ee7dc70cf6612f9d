import { randomBytes } from "node:crypto";
import { sampleEnvelope } from "../../shared/samples.ts";
import { SIGNATURE_HEADER, sign } from "../../shared/signature.ts";
import { isSuccess } from "../domain/judgement.ts";
import { systemTime } from "../domain/wall-time.ts";
import { createSender } from "../sender/sender.ts";

/** The findings at a port, the most certain receiver first. */
export const FINDINGS = [
  "refuses_unsigned",
  "takes_unsigned",
  "fails",
  "everywhere",
  "no_path",
  "not_http",
] as const;

export type Finding = (typeof FINDINGS)[number];

/** `url` is where the receiver most likely takes webhooks; `sentence` says what was found and what it means. */
export type Probe = { finding: Finding; url: string; status: number | null; sentence: string };

export const USUAL_PATHS = ["/webhooks", "/webhook", "/api/webhooks", "/api/webhook", "/hooks", "/"] as const;

/** A path that no receiver has: another path with the same answer is no evidence. */
const NO_PATH = "/.voice-agent-simulator/nothing-is-here";

const TIMEOUT_MS = 2_000;
const NOT_THERE = new Set([404, 405, 410, 421, 501]);

type Kind = "not_there" | "refuses_unsigned" | "takes_unsigned" | "fails";

/** Looks for the path that takes webhooks by at most seven unsigned, empty POSTs, one after the other. */
export async function probeReceiver({ host, port }: { host: string; port: number }): Promise<Probe> {
  const origin = `http://${host}:${port}`;
  const usual = new URL(USUAL_PATHS[0], origin).href;
  const nowhere = await statusAt(origin + NO_PATH);
  if (nowhere === undefined) return probed("not_http", usual, null);
  let failing: Probe | undefined;
  for (const path of USUAL_PATHS) {
    const status = await statusAt(origin + path);
    const kind = status === undefined ? "fails" : kindOf(status);
    if (kind === "not_there" || kind === kindOf(nowhere)) continue;
    const probe = probed(kind, new URL(path, origin).href, status ?? null);
    if (kind !== "fails") return probe;
    failing ??= probe;
  }
  if (failing !== undefined) return failing;
  const isThere = kindOf(nowhere) !== "not_there";
  return probed(isThere ? "everywhere" : "no_path", usual, nowhere);
}

/** Whether the receiver at `url` accepts a test event signed with `secret`. */
export async function takesSecret(url: string, secret: string): Promise<boolean> {
  const timestampSeconds = Math.floor(Date.now() / 1000);
  const id = `evt_${randomBytes(16).toString("hex")}`;
  const body = JSON.stringify(sampleEnvelope("call.completed", { id, created: timestampSeconds }));
  const signature = { [SIGNATURE_HEADER]: sign({ body, secret, timestampSeconds }) };
  const status = await statusAt(url, body, signature);
  return status !== undefined && isSuccess(status);
}

/** Uses the sender of deliveries, so that a delivery later gets the same answer. */
const send = createSender({ wall: systemTime, allowedHosts: [], timeoutMs: TIMEOUT_MS });

async function statusAt(
  url: string,
  text = "",
  signature: Record<string, string> = {},
): Promise<number | undefined> {
  const body = Buffer.from(text);
  const headers = {
    host: new URL(url).host,
    "content-type": "application/json",
    "content-length": String(body.byteLength),
    "user-agent": "voice-agent-simulator (looks for a receiver)",
    connection: "close",
    ...signature,
  };
  const { signal } = new AbortController();
  const { outcome } = await send({ url, headers, body, answerMeans: "headers", faults: new Set(), signal });
  return "status" in outcome ? outcome.status : undefined;
}

function kindOf(status: number): Kind {
  if (NOT_THERE.has(status) || (status >= 300 && status <= 399)) return "not_there";
  if (isSuccess(status)) return "takes_unsigned";
  return status <= 499 ? "refuses_unsigned" : "fails";
}

function probed(finding: Finding, url: string, status: number | null): Probe {
  return { finding, url, status, sentence: SENTENCES[finding](status, new URL(url).pathname) };
}

const SENTENCES: Record<Finding, (status: number | null, path: string) => string> = {
  refuses_unsigned: (status, path) => `Good: ${path} exists and refuses unsigned requests (${status}).`,
  takes_unsigned: (status, path) =>
    `${path} exists, but accepts unsigned requests (${status}): verify the signature.`,
  fails: (status, path) =>
    status === null
      ? `${path} did not answer a request without a signature within ${TIMEOUT_MS / 1_000} s.`
      : `${path} exists, but fails on a request without a signature (${status}): answer 401 instead.`,
  everywhere: (status, path) =>
    status !== null && kindOf(status) === "refuses_unsigned"
      ? `It refuses unsigned requests at every path (${status}): if it is your receiver, use ${path}.`
      : `It answers ${status} at every path: if it is your receiver, give its webhook path.`,
  no_path: () =>
    `It answers at none of the usual paths (${USUAL_PATHS.join(", ")}): give the webhook path of your receiver.`,
  not_http: () => "A server listens, but it does not speak HTTP: it is not a receiver.",
};
