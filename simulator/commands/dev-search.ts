import { setTimeout as pause } from "node:timers/promises";
import { freePort, isListening } from "../processes/listening.ts";
import { isInGroup } from "../processes/process-group.ts";
import {
  likeliestReceiver,
  searchReceivers,
  takesWebhooks,
  type FoundReceiver,
} from "../processes/receiver-search.ts";
import { OPTION_BOUNDS } from "../domain/option-bounds.ts";
import { CommandError } from "./command-error.ts";
import type { Output } from "./output.ts";

const USUAL_PORT = 3000;
const [, LARGEST_PORT] = OPTION_BOUNDS.port;
const LOOK_EVERY_MS = 1_000;
/** How long a receiver that listens may take to have its paths. */
const ROUTES_MS = 2_000;

/** A port that the user's receiver can have: the one in the user's PORT, or 3000; or any where somebody else has that. */
export async function portForReceiver(wanted = ""): Promise<number> {
  const port = /^[1-9]\d{0,4}$/.test(wanted) && Number(wanted) <= LARGEST_PORT ? Number(wanted) : USUAL_PORT;
  if (!(await isListening({ hostname: "localhost", port }))) return port;
  return (await freePort(0)) ?? port;
}

/**
 * Looks where a command that we started listens, and at which path it takes webhooks: in its own process group, or, where
 * the system tells no groups, at the port that it was given. `locate` answers whether it was found; `found` says where.
 */
export function createLocator(givenPort: number) {
  let found: FoundReceiver | undefined;
  let firstSeenMs: number | undefined;
  return {
    found: (): FoundReceiver | undefined => found,
    locate: async (group: number): Promise<boolean> => {
      const search = await searchReceivers(({ pid, port }) =>
        pid === null || process.platform === "win32" ? port === givenPort : isInGroup(pid, group),
      );
      // Where the system does not tell who listens: the receiver has the given port, or its user names it with --url.
      if (!search.ok) return isListening({ hostname: "localhost", port: givenPort });
      [found] = search.found;
      if (found === undefined) return false;
      firstSeenMs ??= performance.now();
      // It may open another port next, or add its paths.
      const isWhereTold = found.finding === "everywhere" && found.listener.port === givenPort;
      return takesWebhooks(found) || isWhereTold || performance.now() - firstSeenMs >= ROUTES_MS;
    },
  };
}

/**
 * Finds a receiver that runs already, among the processes of this user (or the one that `pid` names). Looks again until
 * there is one or `signal` ends the search; answers undefined then.
 */
export async function findRunningReceiver(options: {
  pid: number | undefined;
  /** The secret that the user's receiver verifies with: a listener that accepts it is the one. */
  secret: string | undefined;
  output: Output;
  signal: AbortSignal;
  onNone: () => void;
}): Promise<FoundReceiver | undefined> {
  const { pid, secret, output, signal, onNone } = options;
  const asked = new Set<string>();
  let isTold = false;
  while (!signal.aborted) {
    const search = await searchReceivers((listener) => {
      const id = `${listener.pid}:${listener.port}`;
      // Each listener is asked once.
      const isNew = !asked.has(id);
      asked.add(id);
      return isNew && (pid === undefined ? listener.pid !== null : listener.pid === pid);
    }, secret);
    if (!search.ok) throw new CommandError(`${search.message} Name your receiver's address with --url.`);
    const found = pid === undefined ? likeliestReceiver(search.found) : search.found[0];
    const others = search.found.filter((one) => one !== found);
    for (const { listener, sentence } of others) {
      output.note(`  localhost:${listener.port} (${listener.program ?? "?"}): ${sentence}`);
    }
    if (found !== undefined) {
      if (others.length > 0)
        output.note("That listens, too: name your receiver's address with --url if it is one of these.");
      if (secret !== undefined && !found.hasSecret)
        output.note(
          `Nobody who listens takes what is signed with this secret: ${found.url} is the likeliest.`,
        );
      return found;
    }
    if (search.found.length > 0) output.note("One of these is yours? Name its address with --url.");
    if (!isTold) onNone();
    isTold = true;
    await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
  }
  return undefined;
}
