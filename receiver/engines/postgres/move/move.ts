import { hash } from "node:crypto";
import { openArriving, type Arrived, type ArrivingInbox, type Target } from "./arriving.ts";
import { isFinished, openLeaving, type LeavingInbox, type MovedEvent } from "./leaving.ts";

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
  /** Ids of events whose body, time of arrival or done jobs aren't the same on both sides. */
  different: string[];
};

/** A worker still runs on the inbox that is to be left for good. */
export class StillRunning extends Error {
  override readonly name = "StillRunning";
}

/**
 * Moves the inbox `file` into the PostgreSQL at `url`, whose tables are there: events with their states and attempts,
 * the ids of pruned ones, aliases, bookmarks; handlers' tables stay. It may run beside the receiver and break off at any
 * point: the next run goes on. What isn't finished yet stays the receiver's until `finish`, which wants it stopped.
 */
export async function moveInbox(
  options: Target & {
    file: string;
    finish: boolean;
    nowMs: () => number;
    onProgress: (events: number) => void;
  },
): Promise<MoveReport> {
  const { file, finish } = options;
  const from = openLeaving(file);
  try {
    const to = await openArriving({ ...options, markName: `move ${from.identity} moved` });
    try {
      if (finish) leave(from, options);
      const report = await move(from, to, options);
      await to.arriveRest(from.aliases(), finish ? from.bookmarks() : [], from.prunedBeforeMs());
      return report;
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

/** Each page is stored, compared with what it was made from, and then marked: what isn't marked comes again, and changes nothing. */
async function move(
  from: LeavingInbox,
  to: ArrivingInbox,
  { finish, onProgress }: Parameters<typeof moveInbox>[0],
): Promise<MoveReport> {
  const report = { moved: 0, alreadyThere: 0, handedOver: 0, compared: 0, different: [] as string[] };
  const waiting = new Set<string>();
  let isWhole = true;
  for (const { events, mark } of from.pages(await to.mark(), BATCH)) {
    const batch = events.filter((event) => finish || isFinished(event));
    const { fresh, changed } = await to.arrive(batch);
    report.moved += fresh.size;
    report.handedOver += batch.filter((event, n) => changed.has(n) && !isFinished(event)).length;
    onProgress(report.moved);
    if (!finish) for (const event of events) if (!isFinished(event)) waiting.add(event.id);
    if (mark === undefined) continue;
    report.alreadyThere += batch.length - fresh.size;
    const arrived = await to.readBack(batch.map(({ id }) => id));
    report.compared += batch.length;
    report.different.push(
      ...batch.filter((event) => !isSame(event, arrived.get(event.id))).map(({ id }) => id),
    );
    isWhole &&= batch.length === events.length && report.different.length === 0;
    if (isWhole) await to.setMark(mark);
  }
  return { ...report, waiting: waiting.size };
}

/** What can't change any more is the same on both sides. */
function isSame(event: MovedEvent, arrived: Arrived | undefined): boolean {
  if (arrived === undefined) return false;
  // Pruned on one side since.
  if (event.body === null || arrived.hash === null) return true;
  if (arrived.receivedAtMs !== event.receivedAtMs) return false;
  if (arrived.hash !== hash("sha256", event.body)) return false;
  if (!isFinished(event)) return true;
  const done = arrived.jobs.filter(({ state }) => state === "done");
  return event.jobs
    .filter(({ state }) => state === "done")
    .every(({ handler, attempts, handled }) =>
      done.some(
        (job) =>
          job.attempts === attempts &&
          job.handled === handled &&
          (handler === null || handler === job.handler),
      ),
    );
}
