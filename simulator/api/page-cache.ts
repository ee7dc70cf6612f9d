import { hash } from "node:crypto";
import type { Answer } from "./answer.ts";

/** An answer of 200 as bytes, with its ETag. */
export type ReadyAnswer = { bytes: Buffer; etag: string };

const MOST_BYTES = 32 * 1024 * 1024;
const MOST_KEY_CHARACTERS = 500;

/** Caches answers, 32 MB at most, until a part of `version` changes: each page is computed once. */
export function createPageCache(options: { version: () => readonly unknown[]; mostBytes?: number }) {
  const { mostBytes = MOST_BYTES } = options;
  const kept = new Map<string, ReadyAnswer>();
  let keptBytes = 0;
  let version: readonly unknown[] = [];

  function forgetWhatChanged(): void {
    const current = options.version();
    const isSame =
      current.length === version.length && current.every((part, index) => part === version[index]);
    if (isSame) return;
    version = current;
    kept.clear();
    keptBytes = 0;
  }

  function keep(key: string, answer: ReadyAnswer): void {
    kept.set(key, answer);
    keptBytes += answer.bytes.byteLength;
    for (const [oldest, { bytes }] of kept) {
      if (keptBytes <= mostBytes) return;
      kept.delete(oldest);
      keptBytes -= bytes.byteLength;
    }
  }

  return {
    answer(key: string, compute: () => Answer): Answer | ReadyAnswer {
      forgetWhatChanged();
      const known = kept.get(key);
      if (known !== undefined) {
        // A page that is requested again is evicted last.
        kept.delete(key);
        kept.set(key, known);
        return known;
      }
      const computed = compute();
      if (computed.status !== 200 || key.length > MOST_KEY_CHARACTERS) return computed;
      const bytes = Buffer.from(JSON.stringify(computed.body));
      const ready = { bytes, etag: `"${hash("sha256", bytes, "base64url").slice(0, 27)}"` };
      keep(key, ready);
      return ready;
    },
  };
}
