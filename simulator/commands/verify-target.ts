import { randomBytes } from "node:crypto";
import { bareHost, checkEndpointUrl, isLoopbackHost } from "../domain/endpoint-url.ts";
import { orUsageError, usageError } from "./command-error.ts";
import { wantSecret } from "./secret-option.ts";

export const DEFAULT_URL = "http://localhost:3000/webhooks";

type Given = { url?: string; secret?: string; observe?: string; allowHost: readonly string[] };

export type VerifyTarget = {
  receiver: { url: string; secret: string; secretGiven: boolean; command?: string[] };
  hostsBeyond: string[];
};

/** Reads the words and options of `verify`; ends the command on hosts beyond this machine that no `--allow-host` names. */
export function verifyTarget(words: readonly string[], given: Given): VerifyTarget {
  const receiver = receiverOf(words, given);
  const urls = given.observe === undefined ? [receiver.url] : [receiver.url, given.observe];
  const beyond = urls.filter((url) => !isLoopbackHost(url)).map((url) => bareHost(new URL(url)));
  const hostsBeyond = [...new Set(beyond)];
  for (const host of hostsBeyond) {
    if (given.allowHost.includes(host)) continue;
    throw usageError(
      `verify sends hundreds of deliveries, forged and broken ones among them, to this machine only, and ${host} is ` +
        `another: add --allow-host ${host} if it is yours to test, and never a system in production.`,
    );
  }
  return { receiver, hostsBeyond };
}

function receiverOf(words: readonly string[], given: Given): VerifyTarget["receiver"] {
  const [first = ""] = words;
  const hasUrl = /^[a-z][a-z\d+.-]*:\/\//i.test(first);
  const command = hasUrl ? words.slice(1) : [...words];
  if (/^[\w.-]+:\d+(?:\/|$)/.test(first))
    throw usageError(`${first} is not a URL: write it in full, such as http://${first}.`);
  if (hasUrl && given.url !== undefined)
    throw usageError(`There are two URLs: ${first} and --url ${given.url}. Give one.`);
  const url = hasUrl ? first : given.url;
  // A URL that the service would refuse is not judged; `verifyTarget` checks the allowed hosts.
  if (url !== undefined)
    orUsageError(checkEndpointUrl(url, [bareHost(URL.parse(url) ?? new URL(DEFAULT_URL))]));
  if (command.length > 0) {
    const isGiven = given.secret !== undefined && given.secret !== "";
    const secret = isGiven ? wantSecret(given.secret) : `whsec_${randomBytes(24).toString("hex")}`;
    return { url: url ?? DEFAULT_URL, secret, secretGiven: isGiven, command };
  }
  if (url !== undefined) return { url, secret: wantSecret(given.secret), secretGiven: true };
  throw usageError(
    "verify needs a receiver: its URL and --secret, or after -- the command that starts it. See verify --help.",
  );
}
