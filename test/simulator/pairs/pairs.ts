import { expect } from "vitest";
import type { Json } from "../../helpers/service.ts";

/** Any two that are of different names. */
export function pairsOf<Item extends { name: string }>(items: readonly Item[]): Item[][] {
  return items.flatMap((one, index) =>
    items.slice(index + 1).flatMap((other) => (one.name === other.name ? [] : [[one, other]])),
  );
}

/** Ids of all pages of a list, of which none is longer than `limit`. */
export async function walk(
  ask: (method: string, path: string) => Promise<{ body: Json }>,
  path: string,
  asked: Readonly<Record<string, string>>,
  limit: number,
): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let after: Record<string, string> = {}; ;) {
    const query = new URLSearchParams({ ...asked, ...after, limit: String(limit) });
    const { body } = await ask("GET", `${path}?${query.toString()}`);
    const { data = [], next_cursor: next } = body;
    expect(data.length).toBeLessThanOrEqual(limit);
    found.push(...data.map(({ id }) => id));
    if (typeof next !== "string") return found;
    after = { starting_after: next };
  }
}
