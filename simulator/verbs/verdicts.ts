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
    /** Starts to ask a receiver what it did with each event, for all endpoints or only the given one. */
    observe(observer: Observer, endpointId?: string): void {
      stop?.();
      stop = watchHandling({ ...options, observer, endpointId });
      asked = { observer, endpointId };
    },
    /** The observer of this endpoint's receiver, if any. */
    observerOf: (endpointId: string): Observer | undefined =>
      asked?.endpointId === undefined || asked.endpointId === endpointId ? asked?.observer : undefined,
    /** The operator page of the event `{id}`, if the observed receiver is the kit's; otherwise null. */
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
