import { createHash } from "node:crypto";
import { isFinished, type MovedEvent, type MovedJob } from "./moved-event.ts";
import { openArriving, type Arrived, type ArrivingInbox } from "./arriving.ts";
import { openLeaving, type LeavingInbox } from "./leaving.ts";

const BATCH = 250;

export type MoveReport = {
  /** In this run; ids that were there already are not counted. */
  moved: number;
  alreadyThere: number;
  /** Not finished where they are: they come with `finish`. */
  waiting: number;
  /** Brought by `finish`, to be handled here. */
  handedOver: number;
  compared: number;
  /** Ids whose state, count or body isn't the same on both sides. */
  different: string[];
};

/** Receivers run on the inbox that is to be left for good. */
export class StillRunning extends Error {
  override readonly name = "StillRunning";
}

/**
 * Moves the inbox `file` into the PostgreSQL at `url`, whose tables are there: events with their states and attempts,
 * the ids of pruned ones, aliases, bookmarks; handlers' tables stay. It may run beside the receiver and break off at any
 * point: the next run goes on. What isn't finished yet stays the receiver's until `finish`, which wants it stopped.
 */
export async function moveInbox(options: {
  file: string;
  url: string;
  schema?: string | undefined;
  finish: boolean;
  nowMs: () => number;
  onProgress: (events: number) => void;
}): Promise<MoveReport> {
  const { file, url, schema, finish } = options;
  const from = openLeaving(file);
  const name = `move ${from.identity}`;
  try {
    const to = await openArriving({ url, schema, name });
    try {
      if (finish) leave(from, options);
      const report = { moved: 0, alreadyThere: 0, waiting: 0, handedOver: 0, compared: 0, different: [] };
      return await move({ from, to, finish, onProgress: options.onProgress }, report);
    } finally {
      await to.close();
    }
  } finally {
    from.close();
  }
}

function leave(from: LeavingInbox, { url, nowMs }: Parameters<typeof moveInbox>[0]): void {
  const alive = from.workers(nowMs());
  if (alive.length > 0) {
    throw new StillRunning(
      `events are still handled by the receiver (processes: ${String(alive.length)}): stop all of it (or wait 30 s if it was killed), then finish.`,
    );
  }
  const { host, pathname } = new URL(url);
  from.leave(`postgres://${host}${pathname}`);
}

type Moving = {
  from: LeavingInbox;
  to: ArrivingInbox;
  finish: boolean;
  onProgress: (events: number) => void;
};

async function move(moving: Moving, report: MoveReport): Promise<MoveReport> {
  const { from, to, finish } = moving;
  const waiting = new Set<string>();
  const ready = (events: readonly MovedEvent[]): MovedEvent[] => {
    if (finish) return events.map((event) => ({ ...event, jobs: event.jobs.map(dueAgain) }));
    for (const event of events) if (!isFinished(event)) waiting.add(event.id);
    return events.filter(isFinished);
  };
  let isWhole = true;
  for (const { events, lastSeq } of from.pages(await to.position("moved"), BATCH)) {
    const batch = ready(events);
    isWhole &&= batch.length === events.length;
    const fresh = await to.arrive(batch, { position: isWhole ? lastSeq : undefined });
    report.moved += fresh.size;
    report.alreadyThere += batch.length - fresh.size;
    report.handedOver += batch.filter((event, n) => fresh.has(n) && !isFinished(event)).length;
    moving.onProgress(report.moved);
  }
  for (const events of batchesOf(from.requeued())) {
    const batch = ready(events);
    const changed = await to.arrive(batch, { again: true });
    report.handedOver += batch.filter((event, n) => changed.has(n) && !isFinished(event)).length;
  }
  report.waiting = waiting.size;
  for (const aliases of batchesOf(from.aliases())) await to.arriveAliases(aliases);
  await to.rememberPruned(from.prunedBeforeMs());
  await compare(moving, report);
  if (!finish) return report;
  for (const bookmark of from.bookmarks()) await to.addBookmark(bookmark);
  return report;
}

function batchesOf<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / BATCH) }, (_, n) =>
    items.slice(n * BATCH, (n + 1) * BATCH),
  );
}

/** As a job waits that nobody has in hand. One that was claimed lost its worker. */
function dueAgain(job: MovedJob): MovedJob {
  return job.state === "claimed" ? { ...job, state: "pending", suspect: true, dueAtMs: 0 } : job;
}

/** Compares what has come over since the last time with what it was made from, and nothing behind what is left out. */
async function compare({ from, to }: Moving, report: MoveReport): Promise<void> {
  const movedSeq = await to.position("moved");
  for (const { events, lastSeq } of from.pages(await to.position("compared"), BATCH)) {
    const batch = events.filter(({ seq }) => seq <= movedSeq);
    const arrived = await to.readBack(batch.map(({ id }) => id));
    report.compared += batch.length;
    const different = batch.filter((event) => !isSame(event, arrived.get(event.id))).map(({ id }) => id);
    report.different.push(...different);
    // Where something is wrong, the next run looks at it again.
    if (report.different.length === 0) await to.setPosition("compared", Math.min(lastSeq, movedSeq));
    if (lastSeq >= movedSeq) return;
  }
}

/** What can't change any more is the same on both sides. */
function isSame(event: MovedEvent, arrived: Arrived | undefined): boolean {
  if (arrived === undefined) return false;
  // Pruned on one side since.
  if (event.body === null || arrived.hash === null) return true;
  if (arrived.receivedAtMs !== event.receivedAtMs) return false;
  if (arrived.hash !== createHash("sha256").update(event.body).digest("hex")) return false;
  const done = event.jobs.filter(({ state }) => state === "done");
  if (!isFinished(event)) return true;
  return done.every(({ handler, attempts, handled }) =>
    arrived.jobs.some(
      (job) =>
        job.state === "done" &&
        job.attempts === attempts &&
        job.handled === handled &&
        (handler === null || handler === job.handler),
    ),
  );
}
