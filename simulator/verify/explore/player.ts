import { EVENT_TYPES } from "../../../shared/events.ts";
import type { SimulatorResult } from "../../simulator.ts";
import { type CauseName, causeOf } from "../causes.ts";
import type { CheckContext } from "../context.ts";
import { attempts } from "../attempts.ts";
import { type Exchange, isAcknowledged } from "../delivery.ts";
import { ending } from "../judgement.ts";
import { createNetwork } from "./network.ts";
import type { Schedule } from "./schedule.ts";

/** What became of one event under one schedule. */
export type Played = {
  schedule: Schedule;
  eventId: string;
  /** The sender got a 2xx for an attempt or a copy in time. */
  acknowledged: boolean;
  /** A whole, genuine delivery arrived at the receiver. */
  reached: boolean;
  /** Why the event was not acknowledged, where it was repeated until the end. */
  refusal: { cause: CauseName; problem: string } | undefined;
  /** What arrived at the receiver and what it answered, the telling exchange first. */
  exchanges: Exchange[];
};

type Simulator = Extract<SimulatorResult, { ok: true }>["simulator"];

export type Player = Awaited<ReturnType<typeof createPlayer>>;

/** Simulators that play side by side, since each waits for the receiver. */
const LANES = 6;

/** Starts simulators that deliver to the receiver over a network that plays schedules. */
export async function createPlayer(context: CheckContext) {
  const { target, secret, timing } = context;
  // Loaded only when schedules are searched: the rest of verify does without the service.
  const { createSimulator } = await import("../../simulator.ts");
  const network = createNetwork({ target, timeoutMs: timing.responseTimeoutMs });
  const lanes = Array.from({ length: LANES }, (_, seed): Simulator => {
    const created = createSimulator({ clock: "skip", seed, calls: 0, send: network.send });
    if (!created.ok) throw new Error(created.message);
    // Its requests go over the network to the receiver, whatever address they bear.
    created.simulator.endpoints.register({ url: "http://localhost/", secret });
    return created.simulator;
  });

  async function playOne(
    { events, deliveries, settled }: Simulator,
    schedule: Schedule,
    index: number,
  ): Promise<Played> {
    const envelope = context.event(EVENT_TYPES[index % EVENT_TYPES.length]);
    let acknowledged = false;
    let reached = false;
    let refusal: Played["refusal"];
    const copies: Exchange[] = [];
    network.plan(envelope.id, schedule, async () => {
      // While another copy is under way it may be refused once: the service repeats it.
      const sent = await attempts(context, envelope, { note: "A copy that slipped in." });
      const exchange = sent.at(-1);
      copies.push(...sent);
      reached = true;
      if (exchange !== undefined && isAcknowledged(exchange)) acknowledged = true;
      else if (exchange !== undefined)
        refusal ??= {
          cause: causeOf(exchange, "duplicate"),
          problem: `A copy of event ${envelope.id} was not acknowledged: ${ending(exchange)}.`,
        };
    });
    const replayed = events.replay([envelope], { newIds: false });
    if (!replayed.ok) throw new Error(replayed.message);
    await settled();
    const [sent] = replayed.emitted.flatMap((emitted) => emitted.deliveries);
    const delivery = sent && deliveries.find(sent.id);
    const passages = await network.passagesOf(envelope.id);
    acknowledged ||= delivery?.state === "delivered";
    reached ||= passages.length > 0;
    const last = passages.at(-1);
    if (delivery?.state !== "delivered" && last !== undefined && !isAcknowledged(last.exchange)) {
      // On a clock that skips, attempts meet copies that minutes would have kept apart: one more, later, decides.
      const sent = await attempts(context, envelope, { note: "Once more, after all attempts." });
      copies.push(...sent);
      if (sent.some(isAcknowledged)) acknowledged = true;
      else {
        const problem = `Event ${envelope.id} was given up. Its attempt ${last.attempt} arrived: ${ending(last.exchange)}.`;
        refusal ??= { cause: causeOf(last.exchange), problem };
      }
    }
    const exchanges = [...passages.map(({ exchange }) => exchange), ...copies].toReversed();
    return { schedule, eventId: envelope.id, acknowledged, reached, refusal, exchanges };
  }

  return {
    /** Plays each schedule with an event of its own. */
    async play(schedules: readonly Schedule[]): Promise<Played[]> {
      const played: Played[] = [];
      const next = schedules.entries();
      await Promise.all(
        lanes.map(async (simulator) => {
          for (const [index, schedule] of next) played[index] = await playOne(simulator, schedule, index);
        }),
      );
      return played;
    },
    async close(): Promise<void> {
      await Promise.all(lanes.map((simulator) => simulator.close()));
    },
  };
}
