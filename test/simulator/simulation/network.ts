import type { Outcome } from "../../../simulator/domain/outcome.ts";
import type { Send, SendRequest } from "../../../simulator/domain/flights.ts";
import type { Random } from "../../../simulator/domain/random.ts";
import type { VirtualWall } from "../../helpers/virtual-wall.ts";

/** One request on the wire, as the network saw it. */
export type Wired = {
  request: SendRequest;
  /** Which of the successive simulators sent it. */
  life: number;
  sentAtWallMs: number;
  outcome: Outcome;
};

type Flight = { wired: Wired; arrivesAtMs: number; durationMs: number; land: () => void };

const TIMEOUT_MS = 10_000;

/** What endpoints answer, with each answer's percentage, the most likely first. */
const OUTCOMES: readonly (readonly [Outcome, number])[] = [
  [{ status: 500 }, 40],
  [{ status: 200 }, 22],
  [{ error: "refused" }, 8],
  [{ error: "reset" }, 6],
  [{ status: 302 }, 6],
  [{ error: "timeout" }, 6],
  [{ status: 404 }, 6],
  [{ status: 204 }, 4],
  [{ error: "closed" }, 2],
];

/**
 * A network that exists only in virtual time: it accepts every request, decides randomly on its outcome and time, and
 * answers when the simulation reaches that time.
 */
export function createNetwork(options: {
  random: Random;
  wall: VirtualWall;
  /** Called while the request is being sent, before its outcome. */
  onSent: (wired: Wired) => void;
}) {
  const { random, wall } = options;
  let flights: Flight[] = [];

  return {
    /** The network's connection to one simulator; `isAlive` says whether this simulator still runs. */
    sendFor:
      (life: number, isAlive: () => boolean): Send =>
      (request) =>
        new Promise((resolve) => {
          if (!isAlive() || request.signal.aborted)
            return resolve({ outcome: { error: "interrupted" }, durationMs: 0 });
          const outcome = random.weighted(OUTCOMES);
          const isTimeout = "error" in outcome && outcome.error === "timeout";
          const durationMs = isTimeout ? TIMEOUT_MS : random.pick([0, 1, 15, 230, 4_000, 9_999]);
          const wired = { request, life, sentAtWallMs: wall.nowMs(), outcome };
          const land = () => resolve({ outcome, durationMs });
          request.signal.addEventListener("abort", () =>
            resolve({ outcome: { error: "interrupted" }, durationMs: 0 }),
          );
          options.onSent(wired);
          flights.push({ wired, arrivesAtMs: wall.monotonicMs() + durationMs, durationMs, land });
        }),
    /** How long until the next answer arrives; undefined if no request is open. */
    nextInMs: (): number | undefined =>
      flights.length === 0
        ? undefined
        : Math.max(0, Math.min(...flights.map(({ arrivesAtMs }) => arrivesAtMs)) - wall.monotonicMs()),
    /** Delivers the answers that have arrived by now. */
    deliver(): void {
      const arrived = flights.filter(({ arrivesAtMs }) => arrivesAtMs <= wall.monotonicMs());
      flights = flights.filter((flight) => !arrived.includes(flight));
      for (const { land } of arrived) land();
    },
    /** The other side is gone: open requests get no answer. */
    drop(): void {
      flights = [];
    },
  };
}
