import {
  SIGNATURE_TOLERANCE_SECONDS,
  parseSignature,
  type SignatureProblem,
} from "../../shared/signature.ts";
import type { Deviation } from "./deviation.ts";
import { HEX } from "./digest-variants.ts";

/** The readable parts of a header, and its problems. */
export type HeaderReading = { t: string | undefined; digests: string[]; findings: Deviation[] };

/** Reads the signature header leniently, so that the digest can be examined even where the grammar is broken. */
export function readHeader(text: string, nowSeconds: number): HeaderReading {
  const findings: Deviation[] = [];
  const bare = unwrap(text, findings);
  const parsed = parseSignature([bare]);
  if (parsed.ok) {
    findings.push(...ageFindings(parsed.timestamp, nowSeconds));
    return { t: parsed.timestamp, digests: parsed.digests, findings };
  }
  const loose = looseRead(bare);
  findings.push(...grammarFindings(parsed.reason, bare, loose));
  if (loose.t !== undefined) findings.push(...ageFindings(loose.t, nowSeconds));
  return { ...loose, findings };
}

/** Removes what is often pasted with the value: the header's name, quotes, line breaks. */
function unwrap(text: string, findings: Deviation[]): string {
  const named = /^\s*x-service-signature\s*[:=]\s*/i;
  const withoutName = text.replace(named, "").trim();
  const value = /^(["'])(.*)\1$/s.exec(withoutName)?.[2] ?? withoutName;
  if (value !== withoutName) {
    const fix = "Use the bare value: t=…,v1=…, without quotes.";
    findings.push({ id: "header-quoted", title: "The header's value has quotes around it.", fix });
  }
  return value;
}

function looseRead(text: string): { t: string | undefined; digests: string[] } {
  const t = /(?:^|[^a-z0-9])t\s*[=:]\s*"?(-?[0-9.]+)/i.exec(text)?.[1];
  const digests = [...text.matchAll(/v1\s*[=:]\s*"?(?:sha256=)?([A-Za-z0-9+/_-]+={0,2})/gi)];
  return { t, digests: digests.map(([, digest]) => digest ?? "") };
}

const GRAMMAR = "It must be t=<unix seconds>,v1=<digest>.";
const REFUSE = "Refuse such a request.";

const PROBLEMS: Record<SignatureProblem, [title: string, fix: string]> = {
  header_missing: ["The request has no signature header.", "Read the header X-Service-Signature."],
  header_empty: [
    "The signature header is empty.",
    "Check whether a proxy drops or renames X-Service-Signature.",
  ],
  header_repeated: ["The request has two signature headers.", REFUSE],
  header_too_long: ["The signature header is longer than 1,024 characters.", `${REFUSE} It has about 80.`],
  pair_malformed: ["The header is not a list of key=value pairs with commas between them.", GRAMMAR],
  timestamp_missing: ["The header has no t.", GRAMMAR],
  timestamp_repeated: ["The header has more than one t.", REFUSE],
  timestamp_malformed: [
    "t is not a whole number of seconds.",
    "t is Unix time in seconds, without leading zeros.",
  ],
  timestamp_too_old: ["t is too old.", ""],
  timestamp_too_new: ["t lies too far in the future.", ""],
  signature_missing: ["The header has no v1.", GRAMMAR],
  signature_malformed: ["v1 is not 64 lower-case hexadecimal characters.", `${HEX} Nothing before it.`],
  signatures_too_many: ["The header has more than 8 v1.", REFUSE],
  no_match: ["No v1 fits.", ""],
};

function grammarFindings(reason: SignatureProblem, text: string, loose: { digests: string[] }): Deviation[] {
  const [title, fix] = PROBLEMS[reason];
  const id = `header-${reason.replace(/^header_/, "").replaceAll("_", "-")}`;
  const isUpperCase = loose.digests.some((digest) => /^[0-9A-F]{64}$/.test(digest) && /[A-F]/.test(digest));
  const isSpaced = /,\s+/.test(text) && reason === "pair_malformed";
  const more: [isSo: boolean, id: string, title: string, fix: string][] = [
    [isSpaced, "header-space", "There is white space after a comma of the header.", GRAMMAR],
    [/[;&|]\s*v1=/.test(text), "header-separator", "The pairs are not separated by commas.", GRAMMAR],
    [
      /v1\s*[=:]\s*"?sha256=/i.test(text),
      "header-algorithm",
      "v1 begins with sha256=.",
      "v1 is the bare digest.",
    ],
    [isUpperCase, "spelling-upper-case", "The digest was written as upper-case hexadecimal.", HEX],
  ];
  const found = more.filter(([isSo]) => isSo).map(([, id, title, fix]) => ({ id, title, fix }));
  return [{ id, title, fix }, ...found];
}

const DAY_SECONDS = 86_400;

function ageFindings(t: string, nowSeconds: number): Deviation[] {
  const seconds = Number(t);
  if (/^[0-9]{12,}$/.test(t)) {
    const fix = "t is Unix time in seconds: Math.floor(Date.now() / 1000).";
    return [{ id: "timestamp-milliseconds", title: "t is in milliseconds.", fix }];
  }
  const ageSeconds = nowSeconds - seconds;
  if (Math.abs(ageSeconds) <= SIGNATURE_TOLERANCE_SECONDS || Number.isNaN(ageSeconds)) return [];
  const isOld = ageSeconds > 0;
  const far = Math.abs(Math.round(ageSeconds));
  const words = far < 2 * DAY_SECONDS ? `${far} s` : `${Math.floor(far / DAY_SECONDS)} days`;
  return [
    {
      id: isOld ? "timestamp-too-old" : "timestamp-too-new",
      title: `t lies ${words} in the ${isOld ? "past" : "future"}; ${SIGNATURE_TOLERANCE_SECONDS} s are allowed.`,
      fix: isOld
        ? "If it was fresh when it arrived, it is valid (give the time with --at). Otherwise check the machine's clock, or for a queue before the verification."
        : "The machine's clock is behind: set it. (Give the time of arrival with --at.)",
    },
  ];
}
