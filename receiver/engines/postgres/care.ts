/**
 * What of this server's settings and past weakens a promise: one line each, with what to do. Of a standby only that it is
 * one: it can't answer the rest.
 */
export const FIND_WEAKNESSES = `
  WITH server AS MATERIALIZED (SELECT pg_is_in_recovery() AS standby),
  place AS MATERIALIZED (
    SELECT timeline AS former, CASE WHEN NOT standby THEN substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END AS now
    FROM server, receiver.facts),
  orphans AS MATERIALIZED (
    SELECT count(*) AS count FROM (
      SELECT FROM (SELECT id FROM receiver.events ORDER BY seq DESC LIMIT 10000) AS events
      WHERE NOT EXISTS (SELECT FROM receiver.ids WHERE ids.id = events.id) LIMIT 1000) AS lost)
  SELECT 'This server is a standby and takes no events: let DATABASE_URL name the primary.' AS finding FROM server WHERE standby
  UNION ALL SELECT finding FROM server, place, orphans, LATERAL (VALUES
    (current_setting('fsync') = 'off',
      'fsync is off: a power cut loses acknowledged events, or the database. Turn it on.'),
    (current_setting('full_page_writes') = 'off',
      'full_page_writes is off: a power cut may tear pages. Turn it on.'),
    (current_setting('synchronous_commit') = 'off',
      'Somebody has turned synchronous_commit off. Events are committed synchronously all the same, handlers'' writes are not: turn it on, or a crash undoes the last of them and their events are handled again.'),
    (current_setting('synchronous_standby_names') = '' AND EXISTS (SELECT FROM pg_stat_replication),
      'The standbys replicate asynchronously: when one is promoted, events acknowledged just before are lost. Set synchronous_standby_names.'),
    (former <> now,
      format('A standby was promoted since this inbox was made (timeline %s, now %s). Unless it replicated synchronously, run reconcile for what it may lack; then UPDATE receiver.facts SET timeline = %L.', former, now, now)),
    (orphans.count > 0,
      format('%s events have lost their id, which makes their duplicates new: restore a backup.', orphans.count))
  ) AS weaknesses(applies, finding) WHERE applies AND NOT standby`;
