import { z } from "zod";
import { requestText } from "../sender/request-text.ts";
import { jsonOf } from "../domain/exact-json.ts";
import { messageOf } from "../text/errors.ts";
import { withoutUserInfo } from "../text/redact.ts";

/** What a receiver reports about an event: how often it was handled, and optional details. */
export type Reading =
  | {
      known: true;
      count: number;
      state?: string | undefined;
      duplicates?: number | undefined;
      attempts?: number | undefined;
      /** When its handler, which deferred it, runs again. */
      deferredUntil?: string | undefined;
      isIgnored?: boolean;
    }
  | { known: false; reason: string };

/** Reads the state of an event once. Never rejects; ends early, with a reason, when `signal` aborts. */
export type Observer = {
  (eventId: string, signal?: AbortSignal): Promise<Reading>;
  /** The address it reads, with `{id}` in place of the event id, for printed commands. */
  urlTemplate?: string;
};

/** From the first byte of the request to the last one of the answer. */
const READ_TIMEOUT_MS = 5_000;

/** An inbox entry has a few hundred bytes. */
const MOST_BYTES = 64 * 1024;

const SHOWN_CHARACTERS = 120;

const answerSchema = z.looseObject({
  handled: z.int().nonnegative(),
  state: z.string().optional().catch(undefined),
  duplicates: z.int().nonnegative().optional().catch(undefined),
  attempts: z.int().nonnegative().optional().catch(undefined),
  deferred_until: z.string().optional().catch(undefined),
  ignored: z.boolean().optional().catch(undefined),
});

/** Reads how often an event was handled, in 5 s and 64 KiB at most. 404 counts as never handled. Never rejects. */
export function createObserver(urlTemplate: string, options: { timeoutMs?: number } = {}): Observer {
  const { timeoutMs = READ_TIMEOUT_MS } = options;
  const observe = async (eventId: string, signal?: AbortSignal): Promise<Reading> => {
    const url = URL.parse(urlTemplate.replaceAll("{id}", encodeURIComponent(eventId)));
    if (url === null) return { known: false, reason: `${JSON.stringify(urlTemplate)} is not a URL.` };
    const shown = withoutUserInfo(url.href);
    const limit = AbortSignal.timeout(timeoutMs);
    try {
      const answer = await requestText(url, {
        headers: { accept: "application/json", "accept-encoding": "identity" },
        signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
        mostBytes: MOST_BYTES,
      });
      return judge(answer, shown);
    } catch (error) {
      const why = limit.aborted ? `no whole answer within ${timeoutMs / 1000} s` : messageOf(error);
      return { known: false, reason: `${shown} could not be read: ${why}` };
    }
  };
  return Object.assign(observe, { urlTemplate });
}

function judge({ status, text }: { status: number; text: string }, url: string): Reading {
  if (status === 404) return { known: true, count: 0 };
  if (status !== 200) return { known: false, reason: `${url} answered ${status} instead of 200.` };
  const answer = answerSchema.safeParse(jsonOf(text));
  if (!answer.success)
    return {
      known: false,
      reason: `${url} must answer JSON with a number "handled", but answered: ${text.slice(0, SHOWN_CHARACTERS)}`,
    };
  const { handled: count, state, duplicates, attempts, deferred_until: deferredUntil, ignored } = answer.data;
  const isIgnored = ignored ?? state === "ignored";
  return { known: true, count, state, duplicates, attempts, deferredUntil, isIgnored };
}
