import { beginReading, control } from "./api.ts";
import { createFeed } from "./feed.ts";
import { createMeanwhile, createNewest } from "./late-answers.ts";
import { type Message, openStream } from "./stream.ts";
import { createStore, messageOf } from "./toasts.ts";
import type { About, Clock, Endpoint, Gets, Job, Organization, Verification } from "./types.ts";
import { placeOf } from "./words.ts";

/** How often a hidden tab is updated: it gets no frames. */
const HIDDEN_REFRESH_MS = 150;

class Live {
  connection: "connecting" | "open" | "lost" = "connecting";
  clock: Clock | undefined;
  /** By `performance.now()`, which never goes back. */
  clockReceivedAt = 0;
  /** How many clock messages the stream has sent, with counts and due times: the first one is the beginning. */
  clockChanges = 1;
  /** By id; undefined until loaded. */
  endpoints: Map<string, Endpoint> | undefined;
  organizations: Organization[] | undefined;
  /** The simulator: its version, how its commands are typed, the event types. */
  about: About | undefined;
  /** The running or last run of `verify`, with its checks in the order of completion. */
  verification: Verification | undefined;
  /** Bulk jobs, the newest first. */
  jobs: Job[] = [];
  feed = createFeed({ control, changed: () => changed() });
  /** Grows whenever the simulator's state was loaded anew, for pages that load more themselves. */
  generation = 0;
  problem: string | undefined;
  /** The schedule time chosen on the line ahead, in milliseconds; undefined while none is. */
  reachMs: number | undefined;
}

/** The dashboard's data about the simulator, kept up to date by the stream. Only this file changes it. */
export const live = new Live();

/** Replaced in each frame with a change. */
const frame = createStore({});
let isScheduled = false;
const newestClock = createNewest();
const meanwhile = createMeanwhile();
let loads = 0;

/** Connects and keeps everything up to date from then on. */
export function startLive(): void {
  openStream({
    onMessage: receive,
    onOpen(isReconnected) {
      live.connection = "open";
      void loadAll();
      if (isReconnected) live.generation++;
      beginReading();
      changed();
    },
    onLost() {
      live.connection = "lost";
      beginReading();
      changed();
    },
  });
}

/** Renders again when anything in `live` changed, at most once a frame. */
export function useLive(): Live {
  frame.use();
  return live;
}

/** Schedule time now, in milliseconds; undefined until the clock is known. */
export function scheduleNowMs(): number | undefined {
  if (live.clock === undefined) return undefined;
  const base = Date.parse(live.clock.now);
  return live.clock.mode === "manual" ? base : base + (performance.now() - live.clockReceivedAt);
}

/** Shows the clock from a request, unless a newer one is known; returns it. */
export function clockFrom(answering: Promise<Clock>): Promise<Clock> {
  return newestClock.of(answering, setClock);
}

function setClock(clock: Clock): void {
  live.clock = clock;
  live.clockReceivedAt = performance.now();
  changed();
}

export function setReach(reachMs: number | undefined): void {
  live.reachMs = reachMs;
  changed();
}

/** The event types of the service. */
export function eventTypes(): readonly string[] {
  return live.about?.event_types ?? [];
}

/** Endpoints by their addresses, to choose from. */
export function endpointChoices(): [id: string, place: string][] {
  return [...(live.endpoints?.values() ?? [])].map((endpoint) => [endpoint.id, placeOf(endpoint)]);
}

/** Organizations by their names, to choose from. */
export function organizationChoices(): [id: string, name: string][] {
  return (live.organizations ?? []).map(({ id, name }) => [id, name]);
}

async function loadAll() {
  const own = ++loads;
  live.feed.forget();
  const asked = Promise.all([
    control.get("/endpoints"),
    control.get("/organizations"),
    control.get("/about"),
    clockFrom(control.get("/clock")),
    live.feed.load(live.feed.list.filters),
  ]);
  try {
    await meanwhile.of(asked, ([endpoints, organizations, about]) => {
      // Another load has begun meanwhile.
      if (own !== loads) return false;
      live.endpoints = new Map(endpoints.data.map((endpoint) => [endpoint.id, endpoint]));
      live.organizations = organizations.data;
      live.about = about;
      live.problem = undefined;
      return true;
    });
  } catch (error) {
    if (own === loads) live.problem = messageOf(error);
  }
  changed();
}

/** Loads the last run of `verify` with all of its evidence, for the page that shows it. */
export const loadVerification = () =>
  loadMore("/verification", ({ verification }) => (live.verification = verification ?? undefined)).then(
    () => true,
  );

/** Loads the earlier bulk jobs. */
export const loadJobs = () => loadMore("/jobs", ({ data }) => (live.jobs = data));

async function loadMore<Path extends keyof Gets>(path: Path, keep: (answer: Gets[Path]) => unknown) {
  await meanwhile.of(control.get(path), keep);
  changed();
}

/** Stores the state of a bulk job, unless it is known to have ended. */
export function keepJob(job: Job): void {
  const known = live.jobs.find(({ id }) => id === job.id);
  if (known === undefined) live.jobs = [job, ...live.jobs];
  else if (known.ended_at === null || job.ended_at !== null)
    live.jobs = live.jobs.map((one) => (one === known ? job : one));
  changed();
}

function receive(message: Message): void {
  const { name, data } = message;
  if (name === "event") live.feed.addEvent(data);
  else if (name === "delivery") live.feed.put(data);
  else if (name === "clock") {
    newestClock.overtake();
    if (live.clock !== undefined) live.clockChanges++;
    setClock(data);
  } else if (name === "reset" || name === "resync") {
    live.generation++;
    void loadAll();
  } else meanwhile.repeat(() => keep(message));
  changed();
}

function keep({ name, data }: Message): void {
  if (name === "endpoint") live.endpoints?.set(data.id, data);
  else if (name === "endpoint_deleted") live.endpoints?.delete(data.id);
  else if (name === "job") keepJob(data);
  else if (name === "verification") receiveVerification(data);
}

/** A message contains at most one check: it is added to the earlier ones. */
function receiveVerification(data: Verification): void {
  const before = live.verification?.id === data.id ? live.verification.checks : [];
  const isNew = ({ id }: { id: string }) => before.every((check) => check.id !== id);
  live.verification = { ...data, checks: [...before, ...data.checks.filter(isNew)] };
}

function changed() {
  if (isScheduled) return;
  isScheduled = true;
  const update = () => {
    isScheduled = false;
    frame.set({});
  };
  // A hidden tab gets no frames, but must still be updated.
  if (document.visibilityState === "visible") requestAnimationFrame(update);
  else setTimeout(update, HIDDEN_REFRESH_MS);
}
