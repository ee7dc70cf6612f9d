import { setTimeout as pause } from "node:timers/promises";
import { request } from "undici";
import { z } from "zod";

/** What a receiver says became of an event: how often it was handled, in words. */
export type Observation = { handled: number | undefined; words: string };

const PATIENCE_MS = 20_000;
const POLL_EVERY_MS = 50;

const answerSchema = z.looseObject({
  handled: z.number(),
  state: z.string().optional(),
  duplicates: z.number().optional(),
});

/** Asks `template` (with `{id}` for the event id) until the event was handled, or says why it was not within 20 s. */
export async function observe(template: string, eventId: string): Promise<Observation> {
  const url = template.replaceAll("{id}", eventId);
  const deadline = performance.now() + PATIENCE_MS;
  let words = "";
  let handled: number | undefined;
  while (performance.now() < deadline) {
    const answer = await ask(url);
    if (answer.ok) {
      handled = answer.handled;
      words = answer.words;
      if (handled > 0 || answer.isOver) return { handled, words };
    } else words = answer.words;
    await pause(POLL_EVERY_MS);
  }
  return { handled, words: `${words} after ${PATIENCE_MS / 1000} s` };
}

async function ask(
  url: string,
): Promise<{ ok: true; handled: number; words: string; isOver: boolean } | { ok: false; words: string }> {
  try {
    const { statusCode, body } = await request(url, { headersTimeout: 2_000, bodyTimeout: 2_000 });
    const text = await body.text();
    if (statusCode !== 200) return { ok: false, words: `${url} answered ${statusCode}` };
    const { handled, state, duplicates } = answerSchema.parse(JSON.parse(text));
    const times = handled === 1 ? "once" : `${handled} times`;
    const again =
      duplicates === undefined || duplicates === 0
        ? ""
        : `, ${duplicates} duplicate${duplicates === 1 ? "" : "s"} seen`;
    return {
      ok: true,
      handled,
      words: `${state ?? "handled"}, handled ${times}${again}`,
      isOver: state === "dead" || state === "ignored",
    };
  } catch (error) {
    return {
      ok: false,
      words: `${url} told nothing (${error instanceof Error ? error.message : String(error)})`,
    };
  }
}
