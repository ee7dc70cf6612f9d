import { request } from "undici";
import { z } from "zod";
import type { Handled } from "./check.ts";

const READ_TIMEOUT_MS = 5_000;

/** What `--observe` has to answer: any JSON object with a number `handled`. */
const observationSchema = z.looseObject({ handled: z.int().nonnegative() });

export type Observer = (eventId: string) => Promise<Handled>;

/**
 * Reads how often the receiver handled an event from `urlTemplate`, in which `{id}` stands for the event id.
 * 404 counts as an event that was never handled.
 */
export function createObserver(urlTemplate: string): Observer {
  return async (eventId) => {
    const url = urlTemplate.replaceAll("{id}", encodeURIComponent(eventId));
    let status: number;
    let text: string;
    try {
      const response = await request(url, { headersTimeout: READ_TIMEOUT_MS, bodyTimeout: READ_TIMEOUT_MS });
      status = response.statusCode;
      text = await response.body.text();
    } catch (error) {
      return {
        known: false,
        reason: `${url} could not be read: ${error instanceof Error ? error.message : String(error)}`,
      };
    }
    if (status === 404) return { known: true, count: 0 };
    if (status !== 200) return { known: false, reason: `${url} answered ${status} instead of 200.` };
    const observation = observationSchema.safeParse(parseJson(text));
    if (observation.success) return { known: true, count: observation.data.handled };
    return {
      known: false,
      reason: `${url} must answer JSON with a number "handled", but answered: ${text.slice(0, 120)}`,
    };
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
