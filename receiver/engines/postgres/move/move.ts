import { createHash } from "node:crypto";
import { isFinished, type MovedEvent, type MovedJob } from "./moved-event.ts";
import { openArriving, type Arrived, type ArrivingInbox } from "./arriving.ts";
import { openLeaving, type LeavingInbox } from "./leaving.ts";

const BATCH = 250;

export type MoveReport = {
  /** In this run; ids that were there already are not counted. */
  moved: number;
  alreadyThere: number;
  /** Not finished where they are, so nobody handles them here before `finish`. */
  waiting: number;
  /** Handed over by `finish`, to be handled here. */
  handedOver: number;
  compared: number;
  /** Ids whose state, count or body isn't the same on both sides, the first of them. */
  different: string[];
};

/** Receivers run on the inbox that is to be left for good. */
export class StillRunning extends Error {
  override readonly name = "StillRunning";
}

const MOST_NAMED = 20;

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
  await moveEvents(moving, report);
  const aliases = from.aliases();
  for (let start = 0; start < aliases.length; start += BATCH) {
    await to.arriveAliases(aliases.slice(start, start + BATCH));
  }
  await to.rememberPruned(from.prunedBeforeMs());
  await settleHeld(moving, report);
  await compare(moving, report);
  if (!finish) return report;
  for (const bookmark of from.bookmarks()) await to.addBookmark(bookmark);
  return report;
}

async function moveEvents({ from, to, onProgress }: Moving, report: MoveReport): Promise<void> {
  let seq = await to.position("arrived");
  for (;;) {
    const batch = from.after(seq, BATCH);
    const last = batch.at(-1);
    if (!last) return;
    const moved = await to.arrive(batch);
    report.moved += moved;
    report.alreadyThere += batch.length - moved;
    onProgress(report.moved);
    seq = last.seq;
  }
}

/** What the move holds is let go once it is finished where it comes from; at the end all of it is. */
async function settleHeld({ from, to, finish }: Moving, report: MoveReport): Promise<void> {
  let after = 0;
  for (;;) {
    const held = await to.held(after, BATCH);
    const last = held.at(-1);
    if (!last) return;
    const settled = held.flatMap(({ seq, id }) => {
      const event = from.find(id);
      if (!event || (!finish && !isFinished(event))) return [];
      return [{ ...event, jobs: event.jobs.map(dueAgain), seq }];
    });
    await to.handOver(settled);
    report.handedOver += settled.filter((event) => !isFinished(event)).length;
    report.waiting += held.length - settled.length;
    after = last.seq;
  }
}

/** As a job waits that nobody has in hand. One that was claimed lost its worker. */
function dueAgain(job: MovedJob): MovedJob {
  return job.state === "claimed" ? { ...job, state: "pending", suspect: true, dueAtMs: 0 } : job;
}

/** Compares what has arrived since the last time with what it was made from, and nothing that came since. */
async function compare({ from, to }: Moving, report: MoveReport): Promise<void> {
  let seq = await to.position("compared");
  const arrivedSeq = await to.position("arrived");
  for (;;) {
    const batch = from.after(seq, BATCH).filter((event) => event.seq <= arrivedSeq);
    const last = batch.at(-1);
    if (!last) return;
    const arrived = await to.readBack(batch.map(({ id }) => id));
    report.compared += batch.length;
    const different = batch.filter((event) => !isSame(event, arrived.get(event.id))).map(({ id }) => id);
    report.different.push(...different.slice(0, MOST_NAMED - report.different.length));
    // Where something is wrong, the next run looks at it again.
    if (report.different.length === 0) await to.setPosition("compared", last.seq);
    seq = last.seq;
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
  if (!isFinished(event) || arrived.isHeld) return true;
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
