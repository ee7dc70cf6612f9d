import { type Exchange, isAcknowledged, type Recorded } from "./delivery.ts";

/** The state of one event over the whole run. */
export type LedgerEntry = {
  eventId: string;
  checkIds: Set<string>;
  acknowledged: boolean;
  /** Whether a genuine delivery of it reached the receiver, acknowledged or not. */
  genuine: boolean;
  /** A forged delivery of it was acknowledged: the check that sent it reports that, and nothing else can be concluded. */
  forgeryAccepted: boolean;
  /** A type that the service documents, so that a receiver can be expected to act on it. */
  documented: boolean;
  /** A later event is about the same object, and its effect may have replaced this one's. */
  superseded: boolean;
  exchanges: Exchange[];
};

export type Ledger = ReturnType<typeof createLedger>;

const EXCHANGES_KEPT = 12;

/** Records every sent event, so that effects can be compared with acknowledgements. */
export function createLedger() {
  const entries = new Map<string, Omit<LedgerEntry, "superseded">>();
  const undocumented = new Set<string>();
  const superseded = new Set<string>();
  const unread = new Set<string>();

  return {
    record(delivery: Recorded): void {
      const { exchange } = delivery;
      if (exchange.eventId === "" || unread.has(exchange.eventId)) return;
      const entry = entries.get(exchange.eventId) ?? {
        eventId: exchange.eventId,
        checkIds: new Set(),
        acknowledged: false,
        genuine: false,
        forgeryAccepted: false,
        documented: !undocumented.has(exchange.eventId),
        exchanges: [],
      };
      entries.set(exchange.eventId, entry);
      entry.checkIds.add(delivery.checkId);
      if (entry.exchanges.length < EXCHANGES_KEPT) entry.exchanges.push(exchange);
      if (delivery.forged) {
        entry.forgeryAccepted ||= isAcknowledged(exchange);
        return;
      }
      entry.genuine ||= delivery.connected;
      entry.acknowledged ||= isAcknowledged(exchange);
    },
    /** Marks an event that a receiver has to acknowledge, but need not handle. */
    undocumented: (eventId: string): void => void undocumented.add(eventId),
    /** Marks an event about whose object a later event came: a receiver may keep the effect of the later one only. */
    superseded: (eventId: string): void => void superseded.add(eventId),
    /** Leaves an event out, since only its delivery matters: reading the effects of a thousand takes seconds. */
    unread: (eventId: string): void => void unread.add(eventId),
    all: (): LedgerEntry[] =>
      [...entries.values()].map((entry) => ({ ...entry, superseded: superseded.has(entry.eventId) })),
  };
}
