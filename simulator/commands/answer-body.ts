import type { DeliveryDetailValue } from "./control-schemas.ts";

/** More of a page that explains an error is for `--json`. */
const SHOWN_LINES = 30;

type Answer = DeliveryDetailValue["attempts"][number]["answer"];

/** The lines of the body that a receiver answered with, as far as one reads them in a terminal. */
export function answerLines(answer: Answer | undefined): string[] {
  const text = answer?.body.trimEnd() ?? "";
  if (text === "") return [];
  const lines = text.split(/\r?\n/);
  const more = lines.length - SHOWN_LINES;
  return [
    ...lines.slice(0, SHOWN_LINES),
    ...(more > 0 ? [`… ${more} more lines: --json has them`] : []),
    ...(answer?.truncated === true ? ["… and what came after 16 KiB, which is not kept"] : []),
  ];
}
