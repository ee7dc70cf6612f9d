import { bodyVariants } from "../explain/body-variants.ts";
import type { Deviation } from "../explain/deviation.ts";
import { DIGEST_VARIANTS, SPELLING_VARIANTS } from "../explain/digest-variants.ts";
import { messageVariants } from "../explain/message-variants.ts";
import { secretVariants } from "../explain/secret-variants.ts";
import { digest, header, moment, T } from "../signature-recipe/recipe.ts";
import type { CheckContext } from "./context.ts";
import { type DeliverOptions, isAcknowledged, type SentRequest } from "./delivery.ts";

type Guess = Pick<Deviation, "title" | "fix"> & { options: DeliverOptions };

const AT_ONCE = 8;

const IN_MILLISECONDS: Guess = {
  title: "It takes t for milliseconds.",
  fix: "t is Unix time in seconds.",
  options: { timestamp: [moment(0), "000"] },
};

/**
 * Why a receiver refuses what is signed rightly: signs deliveries by the well-known wrong recipes, the likeliest first,
 * until it accepts one. `makeBody` gives a new event's bytes each time. Undefined if it accepts none.
 */
export async function guessRecipe(
  { compose, deliver, secret }: CheckContext,
  makeBody: () => Buffer,
): Promise<string | undefined> {
  const count = guesses(secret, makeBody()).length;
  let next = 0;
  const accepted: { at: number; guess: Guess }[] = [];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let at = next++; at < count && accepted.length === 0; at = next++) {
        const body = makeBody();
        const guess = guesses(secret, body)[at];
        // A recipe that comes to the right signature for these bytes tells nothing.
        if (
          guess === undefined ||
          signatureIn(compose(body, guess.options).request) === signatureIn(compose(body).request)
        )
          continue;
        const exchange = await deliver(body, { ...guess.options, forged: true });
        if (isAcknowledged(exchange)) accepted.push({ at, guess });
      }
    }),
  );
  const found = accepted.toSorted((a, b) => a.at - b.at)[0];
  return found && `It accepts one that is signed wrongly. ${found.guess.title} ${found.guess.fix}`;
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
