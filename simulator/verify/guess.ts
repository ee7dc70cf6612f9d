import { bodyVariants } from "../explain/body-variants.ts";
import type { Deviation } from "../explain/deviation.ts";
import { DIGEST_VARIANTS, SPELLING_VARIANTS } from "../explain/digest-variants.ts";
import { messageVariants } from "../explain/message-variants.ts";
import { secretVariants } from "../explain/secret-variants.ts";
import { digest, header, moment, T } from "../signature-recipe/recipe.ts";
import type { CheckContext } from "./context.ts";
import { type DeliverOptions, isAcknowledged, type SentRequest } from "./delivery.ts";
import { sideBySide } from "./side-by-side.ts";

type Guess = Pick<Deviation, "title" | "fix"> & { options: DeliverOptions };

const AT_ONCE = 8;

const IN_MILLISECONDS: Guess = {
  title: "It takes t for milliseconds.",
  fix: "t is Unix time in seconds.",
  options: { timestamp: [moment(0), "000"] },
};

/**
 * Why a receiver refuses correct signatures: signs deliveries by the well-known wrong recipes, the likeliest first, until it
 * accepts one. `makeBody` returns a new event's bytes each time. Undefined if it accepts none.
 */
export async function guessRecipe(
  { compose, deliver, secret }: CheckContext,
  makeBody: () => Buffer,
): Promise<string | undefined> {
  let isFound = false;
  const accepted = await sideBySide(AT_ONCE, guesses(secret, makeBody()), async (_, at) => {
    const body = makeBody();
    const guess = guesses(secret, body)[at];
    if (guess === undefined || isFound) return undefined;
    // A recipe that gives the right signature for these bytes proves nothing.
    if (signatureIn(compose(body, guess.options).request) === signatureIn(compose(body).request))
      return undefined;
    const exchange = await deliver(body, { ...guess.options, forged: true });
    isFound ||= isAcknowledged(exchange);
    return isAcknowledged(exchange) ? guess : undefined;
  });
  const found = accepted.find((guess) => guess !== undefined);
  return found && `It accepts a wrong signature of this kind: ${found.title} ${found.fix}`;
}

function guesses(secret: string, body: Buffer): Guess[] {
  const departures = [
    ...messageVariants({ t: "", header: "", eventId: "" }),
    ...SPELLING_VARIANTS,
    ...secretVariants(secret),
    ...bodyVariants(body),
    ...DIGEST_VARIANTS,
  ];
  const guessed = departures.map(({ deviation: { title, fix }, change }): Guess => {
    return { title, fix, options: { signature: [header`t=${T},v1=${digest(change)}`] } };
  });
  return [IN_MILLISECONDS, ...guessed];
}

function signatureIn({ headers, signature }: SentRequest): string {
  return headers.find(([name]) => name === signature.headerName)?.[1] ?? "";
}
