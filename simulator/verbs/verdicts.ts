import type { Verdicts } from "../domain/verdicts.ts";
import type { Observer } from "../observer/observer.ts";
import { watchHandling } from "../observer/watch.ts";

export type VerdictVerbs = ReturnType<typeof createVerdictVerbs>;

/** Operations on verdicts: count them, and include what a receiver did with each event. */
export function createVerdictVerbs(
  options: Omit<Parameters<typeof watchHandling>[0], "observer" | "endpointId"> & { verdicts: Verdicts },
) {
  let stop: (() => void) | undefined;
  let asked: { observer: Observer; endpointId: string | undefined } | undefined;
  return {
    counts: () => options.verdicts.counts(),
    /** From now on asks a receiver what it did with each event; of one endpoint only if one is named. */
    observe(observer: Observer, endpointId?: string): void {
      stop?.();
      stop = watchHandling({ ...options, observer, endpointId });
      asked = { observer, endpointId };
    },
    /** Who asks what the receiver of this endpoint did, if anybody does. */
    observerOf: (endpointId: string): Observer | undefined =>
      asked?.endpointId === undefined || asked.endpointId === endpointId ? asked?.observer : undefined,
    /** Where the kit's receiver, if it is observed, shows its operator the event `{id}`; null for others. */
    operatorPage(): string | null {
      const { urlTemplate = "" } = asked?.observer ?? {};
      return urlTemplate.endsWith("/inbox/{id}")
        ? urlTemplate.replace("/inbox/{id}", "/event?id={id}")
        : null;
    },
    isObserved: (): boolean => stop !== undefined,
    close(): void {
      stop?.();
      options.verdicts.settle();
    },
  };
}
