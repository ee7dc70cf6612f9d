import { useEffect, useState } from "preact/hooks";
import { control } from "./api.js";
import { createFeed } from "./feed.js";
import { createMeanwhile } from "./meanwhile.js";
import { createNewest } from "./newest.js";
import { openStream } from "./stream.js";

const CLOCK_REFRESH_MS = 150;

/** What the dashboard knows of the simulator, kept up to date by the stream. Read it; only this file changes it. */
export const live = {
  /** `connecting` at first, then `open` or `lost`. */
  connection: "connecting",
  clock: undefined,
  /** By `performance.now()`, which nobody can set back. */
  clockReceivedAt: 0,
  /** By id; undefined until loaded. */
  endpoints: undefined,
  organizations: undefined,
  /** What the simulator is: its version, how its commands are typed, the event types there are. */
  about: undefined,
  /** The run of `verify` that is under way, or the last one, with its checks in the order in which they came. */
  verification: undefined,
  feed: createFeed({ control, changed: () => changed() }),
  /** Grows whenever the simulator's state was loaded anew, for pages that load more themselves. */
  generation: 0,
  problem: undefined,
  /** Up to where one is about to move schedule time, in milliseconds; undefined while nobody is. */
  reachMs: undefined,
};

const watchers = new Set();
let version = 0;
let isScheduled = false;
let clockTimer;
const newestClock = createNewest();
const meanwhile = createMeanwhile();
let loads = 0;

/** Connects and keeps everything up to date from then on. */
export function startLive() {
  openStream({
    onMessage: receive,
    onOpen(isReconnected) {
      live.connection = "open";
      void loadAll();
      if (isReconnected) live.generation++;
      changed();
    },
    onLost() {
      live.connection = "lost";
      changed();
    },
  });
}

/** Renders again when anything in `live` changed, at most once a frame. */
export function useLive() {
  const [, setVersion] = useState(version);
  const rendered = version;
  useEffect(() => {
    const update = () => setVersion(version);
    watchers.add(update);
    // What changed after this render and before anybody watched for it must not be missed.
    if (rendered !== version) update();
    return () => watchers.delete(update);
  }, []);
  return live;
}

/** Schedule time now, in milliseconds; undefined until the clock is known. */
export function scheduleNowMs() {
  if (live.clock === undefined) return undefined;
  const base = Date.parse(live.clock.now);
  return live.clock.mode === "manual" ? base : base + (performance.now() - live.clockReceivedAt);
}

/** Shows the clock that a request brings, unless a newer one is known by then; answers what it brought. */
export function clockFrom(answering) {
  return newestClock.of(answering, setClock);
}

function setClock(clock) {
  live.clock = clock;
  live.clockReceivedAt = performance.now();
  changed();
}

export function setReach(reachMs) {
  live.reachMs = reachMs;
  changed();
}

/** The event types of the service. */
export function eventTypes() {
  return live.about?.event_types ?? [];
}

export function endpointOf(id) {
  return live.endpoints?.get(id);
}

async function loadAll() {
  const own = ++loads;
  live.feed.forget();
  const asked = Promise.all([
    control.get("/endpoints"),
    control.get("/organizations"),
    control.get("/about"),
    control.get("/verification"),
    clockFrom(control.get("/clock")),
    live.feed.load(live.feed.filters),
  ]);
  try {
    await meanwhile.of(asked, ([endpoints, organizations, about, { verification }]) => {
      // Begun anew meanwhile.
      if (own !== loads) return false;
      live.endpoints = new Map(endpoints.data.map((endpoint) => [endpoint.id, endpoint]));
      live.organizations = organizations.data;
      live.about = about;
      live.verification = verification ?? undefined;
      live.problem = undefined;
      return true;
    });
  } catch (error) {
    if (own === loads) live.problem = error.message;
  }
  changed();
}

function receive(name, data) {
  if (name === "event") live.feed.addEvent(data);
  else if (name === "delivery") {
    live.feed.put(data);
    refreshClockSoon();
  } else if (name === "clock") {
    newestClock.overtake();
    setClock(data);
  } else if (name === "reset" || name === "resync") {
    live.generation++;
    void loadAll();
  } else {
    meanwhile.tell(() => keep(name, data));
  }
  changed();
}

function keep(name, data) {
  if (name === "endpoint") live.endpoints?.set(data.id, data);
  else if (name === "endpoint_deleted") live.endpoints?.delete(data.id);
  else receiveVerification(data);
}

/** A message brings one check, or none: it joins those that came before. */
function receiveVerification(data) {
  const before = live.verification?.id === data.id ? live.verification.checks : [];
  const isNew = ({ id }) => before.every((check) => check.id !== id);
  live.verification = { ...data, checks: [...before, ...data.checks.filter(isNew)] };
}

/** Counts and the next due time come from the simulator, which knows more deliveries than we hold. */
function refreshClockSoon() {
  clockTimer ??= setTimeout(async () => {
    clockTimer = undefined;
    try {
      await clockFrom(control.get("/clock"));
    } catch {
      // The stream notices the same and says so.
    }
  }, CLOCK_REFRESH_MS);
}

function changed() {
  version++;
  if (isScheduled) return;
  isScheduled = true;
  const update = () => {
    isScheduled = false;
    for (const watcher of watchers) watcher();
  };
  // Frames stop in a tab that nobody sees; what it shows must not.
  if (document.visibilityState === "visible") requestAnimationFrame(update);
  else setTimeout(update, CLOCK_REFRESH_MS);
}
