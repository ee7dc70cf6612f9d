import type { ComponentChildren, FunctionComponent } from "preact";
import { attempt, createStore } from "./toasts.ts";

type Show = (part: string | undefined, query: URLSearchParams) => ComponentChildren;
type Later = {
  /** The page of each address; the part in brackets is its object. */
  pages: [pattern: RegExp, show: Show][];
  Delivery: FunctionComponent<{ id: string; query: string; isAlone: boolean }>;
};

const later = createStore<Later | undefined>(undefined);
let isAsked = false;

/** The parts that the list does not need; undefined until their script, loaded on first use, has arrived. */
export function useLaterPages(): Later | undefined {
  const link = document.querySelector<HTMLLinkElement>("#later");
  if (link !== null && !isAsked) {
    isAsked = true;
    const script: Promise<unknown> = import(link.href);
    void attempt(() => script);
  }
  return later.use();
}

/** Called by that script. */
export function offerLaterPages(pages: Later): void {
  later.set(pages);
}
