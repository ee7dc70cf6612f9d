import type { Check, CheckContext, Verdict } from "./check.ts";
import { type DeliverOptions, type Exchange, isAcknowledged } from "./delivery.ts";
import { ending } from "./judge.ts";
import { RULES } from "./rules.ts";

/** The two questions without which no other can be asked. They head every report. */
export const reachableCheck = {
  id: "preflight.reachable",
  title: "can be reached",
  level: "must",
  group: "preflight",
  again: "",
  spec: RULES.envelope,
  hint: "Start the receiver, or mend the URL.",
} satisfies Omit<Check, "run">;

export const acceptsCheck = {
  id: "preflight.accepts",
  title: "accepts genuine deliveries at all",
  level: "must",
  group: "preflight",
  again: "",
  spec: RULES.signedString,
  hint: "Start the receiver with the same signing secret that verify is given, and give verify the path of its webhook route.",
} satisfies Omit<Check, "run">;

export const observableCheck = {
  id: "preflight.observable",
  title: "shows through --observe what it has handled",
  level: "must",
  group: "preflight",
  again: "",
  spec: RULES.once,
  hint: 'The --observe URL must answer JSON with a number "handled" for the event id put in place of {id}, and 404 or 0 for one never handled.',
} satisfies Omit<Check, "run">;

export type Preflight = {
  /** Nobody was there, so nothing can be said about the receiver. */
  unreachable: boolean;
  accepts: Verdict;
  exchanges: Exchange[];
  /** How far the receiver's clock is ahead of ours, as far as its Date header tells. */
  clockSkewSeconds: number;
};

/** Sends one genuine delivery of each type and, when all are refused, finds out why. */
export async function preflight(context: CheckContext): Promise<Preflight> {
  const exchanges: Exchange[] = [];
  for (const type of context.events) {
    const exchange = await context.deliver(context.event(type));
    exchanges.push(exchange);
    if (isAcknowledged(exchange)) {
      const clockSkewSeconds = skewOf(exchange, context.nowSeconds());
      return { unreachable: false, accepts: { outcome: "passed" }, exchanges, clockSkewSeconds };
    }
    const { outcome } = exchange;
    if (outcome.kind === "no_answer" && ["dns", "refused", "tls"].includes(outcome.error)) {
      const reason = `${context.target.url} cannot be reached. ${outcome.message}`;
      return {
        unreachable: true,
        accepts: { outcome: "unverified", reason },
        exchanges,
        clockSkewSeconds: 0,
      };
    }
    // A second wait of ten seconds would tell no more than the first.
    if (outcome.kind === "no_answer" && outcome.error === "timeout") break;
  }
  const problem = await explain(context, exchanges);
  const accepts: Verdict = { outcome: "failed", problem, exchanges: exchanges.slice(0, 1) };
  return { unreachable: false, accepts, exchanges, clockSkewSeconds: 0 };
}

async function explain(context: CheckContext, exchanges: Exchange[]): Promise<string> {
  const [first] = exchanges;
  if (first === undefined || first.outcome.kind === "no_answer") {
    return `The receiver accepts connections, but ${first === undefined ? "nothing was sent" : ending(first)}.`;
  }
  const { status } = first.outcome;
  if (status === 404 || status === 405) {
    return `The receiver answers ${status} to every delivery: ${context.target.path} is not the path of its webhook route. Give the whole URL.`;
  }
  if (status >= 300 && status <= 399) {
    return `The receiver answers ${status}, a redirect, to every delivery. The service follows none: give the URL that answers itself.`;
  }
  for (const { mistake, options } of MISTAKES) {
    const exchange = await context.deliver(context.event(), { ...options, forged: true });
    if (isAcknowledged(exchange)) {
      return `The receiver refuses every genuine delivery (${status}), but accepts one signed wrongly: it ${mistake}.`;
    }
  }
  if (status >= 500) return `The receiver fails on every delivery: ${ending(first)}.`;
  return (
    `The receiver refuses every genuine delivery, of all ${exchanges.length} types: ${ending(first)}. ` +
    "Most likely it was started with another signing secret than verify was given."
  );
}

/** Well-known wrong recipes: a receiver that accepts one of them has made that mistake. */
const MISTAKES: { mistake: string; options: DeliverOptions }[] = [
  {
    mistake: "signs the body alone, without t and the period before it",
    options: { signature: ({ t, body, digest }) => [`t=${t},v1=${digest(body)}`] },
  },
  {
    mistake: "leaves out the period between t and the body",
    options: {
      signature: ({ t, body, digest }) => [`t=${t},v1=${digest(Buffer.concat([Buffer.from(t), body]))}`],
    },
  },
  {
    mistake: "takes t for milliseconds",
    options: {
      signature: ({ t, body, digest }) => [
        `t=${t}000,v1=${digest(Buffer.concat([Buffer.from(`${t}000.`), body]))}`,
      ],
    },
  },
  {
    mistake: "expects v1 in base64 instead of hexadecimal",
    options: { signature: ({ t, v1 }) => [`t=${t},v1=${Buffer.from(v1, "hex").toString("base64")}`] },
  },
  {
    mistake: "expects v1 in upper case",
    options: { signature: ({ t, v1 }) => [`t=${t},v1=${v1.toUpperCase()}`] },
  },
  {
    mistake: "decodes the secret from base64 before it uses it as a key",
    options: { signature: ({ t, body, digest, secret }) => [decodedKey(t, body, digest, secret, "base64")] },
  },
  {
    mistake: "decodes the secret from hexadecimal before it uses it as a key",
    options: { signature: ({ t, body, digest, secret }) => [decodedKey(t, body, digest, secret, "hex")] },
  },
  {
    mistake:
      "verifies over JSON that it wrote again (with spaces behind commas and colons), not over the raw body",
    options: {
      signature: ({ t, body, digest }) => [
        `t=${t},v1=${digest(`${t}.${spaced(JSON.parse(body.toString("utf8")))}`)}`,
      ],
    },
  },
  {
    mistake: "verifies over JSON that it wrote again with two spaces of indentation, not over the raw body",
    options: {
      signature: ({ t, body, digest }) => [
        `t=${t},v1=${digest(`${t}.${JSON.stringify(JSON.parse(body.toString("utf8")), null, 2)}`)}`,
      ],
    },
  },
];

function decodedKey(
  t: string,
  body: Buffer,
  digest: (signed: Uint8Array, secret: Buffer) => string,
  secret: string,
  encoding: "base64" | "hex",
): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), encoding);
  return `t=${t},v1=${digest(Buffer.concat([Buffer.from(`${t}.`), body]), key)}`;
}

/** JSON as Python's json.dumps and others write it: a space behind each comma and colon. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    return `{${Object.entries(value)
      .map(([key, member]) => `${JSON.stringify(key)}: ${spaced(member)}`)
      .join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** Seconds by which the Date header is ahead of our clock; 0 when there is none. */
function skewOf({ outcome }: Exchange, nowSeconds: number): number {
  if (outcome.kind === "no_answer") return 0;
  const date = outcome.headers.find(([name]) => name.toLowerCase() === "date")?.[1];
  const at = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(at) ? 0 : at / 1_000 - nowSeconds;
}
