import type { ComponentChildren, FunctionComponent } from "preact";
import { attempt, createStore } from "./toasts.ts";

type Show = (part: string | undefined, query: URLSearchParams) => ComponentChildren;
type Later = {
  /** What is shown at which address; the part in brackets is what it is shown of. */
  pages: [pattern: RegExp, show: Show][];
  Delivery: FunctionComponent<{ id: string; query: string; isAlone: boolean }>;
};

const later = createStore<Later | undefined>(undefined);
let isAsked = false;

/** All that the list does without, undefined until its script has come: asked for when it is first used. */
export function useLaterPages(): Later | undefined {
  const link = document.querySelector<HTMLLinkElement>("#later");
  if (link !== null && !isAsked) {
    isAsked = true;
    const script: Promise<unknown> = import(link.href);
    void attempt(() => script);
  }
  return later.use();
}

/** Called by the script that has them. */
export function offerLaterPages(pages: Later): void {
  later.set(pages);
}
