import { Client } from "pg";
import { onTestFinished } from "vitest";
import { openPostgresEngine } from "../../../receiver/engines/postgres/index.ts";
import { administer, newDatabase } from "../../helpers/postgres/shared.ts";
import type { Backend } from "../engine-suite/harness.ts";

/** A database of its own for one test, with the means to age what is in it. */
export async function postgresBackend(): Promise<Backend & { url: string }> {
  const { url, drop } = await newDatabase();
  onTestFinished(drop);
  return {
    url,
    open: async (options) => {
      const engine = await openPostgresEngine({ databaseUrl: url, times: { lookMs: 50 }, ...options });
      const check = async (): Promise<string[]> => {
        const findings = (await engine.ledger.check?.()) ?? [];
        // True of this server, and meant.
        return findings.filter((finding) => !finding.startsWith("fsync is off"));
      };
      return { ...engine, ledger: { ...engine.ledger, check } };
    },
    age: async (ms) => administer(url, ageAll(ms)),
    rows: async (sql) => {
      const client = new Client({ connectionString: url });
      await client.connect();
      try {
        await client.query(`SET search_path = receiver_handlers`);
        const { rows } = await client.query<Record<string, unknown>>(sql);
        return rows.map((row) => ({
          ...row,
          ...(typeof row["attempt"] === "string" ? { attempt: Number(row["attempt"]) } : {}),
        }));
      } finally {
        await client.end();
      }
    },
  };
}

function ageAll(ms: number): string {
  const by = `interval '${String(ms)} ms'`;
  const days = String(Math.floor(ms / 86_400_000));
  return `
    BEGIN;
    UPDATE receiver.ids SET day = day - ${days} WHERE ${days} > 0;
    UPDATE receiver.events SET received_at = received_at - ${by}, due_at = due_at - ${by}, finished_at = finished_at - ${by};
    UPDATE receiver_boss.job SET created_on = created_on - ${by}, start_after = start_after - ${by},
      completed_on = completed_on - ${by}, data = CASE WHEN data ? 'requeuedAtMs'
        THEN jsonb_build_object('requeuedAtMs', (data->>'requeuedAtMs')::bigint - ${String(ms)}) END;
    UPDATE receiver.handlers SET seen = seen - ${by}, starts = ARRAY(SELECT at - ${by} FROM unnest(starts) AS at);
    UPDATE receiver.workers SET lease_until = lease_until - ${by};
    UPDATE receiver.facts SET pruned_before = pruned_before - ${by};
    COMMIT`;
}
