import type { Say } from "./connection.ts";

const FIND_SETTINGS = `
  SELECT pg_is_in_recovery() AS standby, current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS "fullPageWrites", current_setting('synchronous_commit') AS "synchronousCommit",
    current_setting('synchronous_standby_names') AS "synchronousStandbys",
    (SELECT count(*) FROM pg_stat_replication) AS standbys`;
const FIND_TIMELINES = `
  SELECT timeline AS then, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS now FROM receiver.facts`;
const COUNT_ORPHANS = `
  SELECT count(*) AS count FROM (
    SELECT FROM (SELECT id FROM receiver.events ORDER BY seq DESC LIMIT 10000) AS events
    WHERE NOT EXISTS (SELECT FROM receiver.ids WHERE ids.id = events.id) LIMIT 1000) AS orphans`;

type Settings = {
  standby: boolean;
  fsync: string;
  fullPageWrites: string;
  synchronousCommit: string;
  synchronousStandbys: string;
  standbys: number;
};

/** What of this server's settings and past weakens a promise: one line each, with what to do. */
export async function findingsOf(run: Say): Promise<string[]> {
  const [settings] = await run<Settings>(FIND_SETTINGS);
  if (!settings) return ["PostgreSQL answered nothing about its settings."];
  if (settings.standby) {
    return ["This server is a standby and takes no events: let DATABASE_URL name the primary."];
  }
  const findings: string[] = [];
  if (settings.fsync === "off") {
    findings.push("fsync is off: a power cut loses acknowledged events, or the database. Turn it on.");
  }
  if (settings.fullPageWrites === "off") {
    findings.push("full_page_writes is off: a power cut may tear pages. Turn it on.");
  }
  if (settings.synchronousCommit === "off") {
    findings.push(
      "Somebody has turned synchronous_commit off. Events are committed synchronously all the same, handlers' writes are not: turn it on, or a crash undoes the last of them and their events are handled again.",
    );
  }
  if (settings.standbys > 0 && settings.synchronousStandbys === "") {
    findings.push(
      "The standbys replicate asynchronously: when one is promoted, events acknowledged just before are lost. Set synchronous_standby_names.",
    );
  }
  const [timelines] = await run<{ then: string; now: string }>(FIND_TIMELINES);
  if (timelines && timelines.then !== timelines.now) {
    findings.push(
      `A standby was promoted since this inbox was made (timeline ${timelines.then}, now ${timelines.now}). Unless it replicated synchronously, run reconcile for what it may lack; then UPDATE receiver.facts SET timeline = '${timelines.now}'.`,
    );
  }
  const [orphans] = await run<{ count: number }>(COUNT_ORPHANS);
  if (orphans && orphans.count > 0) {
    findings.push(
      `${String(orphans.count)} events have lost their id, which makes their duplicates new: restore a backup.`,
    );
  }
  return findings;
}
