import type { EventFilter, InboxEvent, Ledger } from "../engine.ts";

/** Events of a page. */
export const PAGE = 500;

/** Page by page, so that a million of them hold up nobody. */
export async function* pagesOf(
  ledger: Ledger,
  filter: EventFilter,
  order: "newest first" | "oldest first",
): AsyncGenerator<InboxEvent[]> {
  for (let seq: number | undefined; ;) {
    const from = order === "newest first" ? { beforeSeq: seq } : { afterSeq: seq ?? 0 };
    const page = await ledger.list(filter, { limit: PAGE, ...from });
    yield page;
    const last = page.at(-1);
    if (!last || page.length < PAGE) return;
    seq = last.seq;
  }
}
