import type { Readings } from "./readings.ts";

/** How long a rotated secret goes on signing beside the new one, unless told otherwise. */
export const OVERLAP_SECONDS = 86_400;

export type EndpointSecrets = {
  secret: string;
  previousSecret: { secret: string; untilMs: number } | null;
};

/** The secrets that sign at `nowMs` of schedule time: during an overlap, as the reading `rotated_secret_signs` says. */
export function signingSecrets(
  { secret, previousSecret }: EndpointSecrets,
  nowMs: number,
  { rotated_secret_signs: reading }: Readings,
): string[] {
  if (previousSecret === null || nowMs >= previousSecret.untilMs) return [secret];
  const { secret: previous } = previousSecret;
  return { both: [secret, previous], new: [secret], old: [previous] }[reading];
}

/** Every secret that an earlier attempt may have been signed with, as far as it is still known. */
export function knownSecrets({ secret, previousSecret }: EndpointSecrets): string[] {
  return previousSecret === null ? [secret] : [secret, previousSecret.secret];
}
