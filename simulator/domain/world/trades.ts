import type { Language, Topic } from "./phrases/phrases.ts";
import trades from "./trades.json" with { type: "json" };

/** Restaurants confirm orders, service businesses book appointments (SPEC §6 Event types). */
export type Trade = keyof typeof trades;

/**
 * The properties of a trade: how busy each local hour and, from Sunday, each weekday is, relative to the others;
 * when somebody is there to take a call, and when appointments begin; what calls are about and which languages are spoken,
 * each with its weight. Ids and keys of the first of each trade never change, so that a test suite can name them.
 */
export const TRADES: Readonly<
  Record<
    Trade,
    Omit<(typeof trades)[Trade], "topics"> & {
      topics: Partial<Record<Topic, number>>;
      languages: Record<Language, number>;
    }
  >
> = trades;
