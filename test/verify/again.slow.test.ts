import { expect, test } from "vitest";
import { SECRET } from "../mutants/receiver.ts";
import { run as runCommand } from "../simulator/commands/in-process.ts";
import { sideBySide } from "../../simulator/verify/side-by-side.ts";
import { runInBash } from "./bash.ts";
import { type Failing, FAILING, type Failure, failureOf, startCounts } from "./failing.ts";

const LANES = 6;

/** Bugs that show without a wait: one per group, by the check meant for it. */
const QUICKLY = [
  "refuses-bookings: acknowledgement.booking-created",
  "no-header-no-check: signature.missing-header",
  "trims: raw-bytes.trailing-newline",
  "conflict-on-duplicate: duplicates.in-sequence",
  "known-types: evolution.unknown-type",
  "string-concatenation: wire.split-multibyte",
  "conflict-on-object: readings.distinct-ids",
  "too-busy: load.burst-at-first",
  "never-de-duplicates: effects.in-sequence",
  "does-not-restart: crash.restarts",
];

test("an `again:` line, read by bash, fails as the check did: one of each group", async () => {
  const failures = await failuresOf(FAILING.filter((failing) => QUICKLY.includes(nameOf(failing))));
  expect(failures.map(nameOf).toSorted()).toEqual(QUICKLY.toSorted());

  const words = await runInBash(
    failures.map(({ again }) => again),
    { SIGNING_SECRET: SECRET },
    `voice-agent-simulator() { printf '%s\\0' "$@"; }`,
  );
  for (const [index, { id }] of failures.entries()) {
    const { code, out } = await runCommand(...(words[index] ?? "").split("\0").slice(0, -1));
    expect({ id, code, isShown: isShown(id, out) }, out).toEqual({ id, code: 1, isShown: true });
  }
});

async function failuresOf(subjects: readonly Failing[]): Promise<Failure[]> {
  const start = await startCounts();
  const failures: Failure[] = [];
  await sideBySide(LANES, subjects, async (failing) => {
    const failure = await failureOf(failing, start);
    if (failure !== undefined) failures.push(failure);
  });
  return failures;
}

function nameOf({ name, id }: Pick<Failing, "name" | "id">): string {
  return `${name}: ${id}`;
}

/** Whether the check is in the report as failed, or as advice. */
function isShown(id: string, output: string): boolean {
  return new RegExp(`^ +${id.replaceAll(".", String.raw`\.`)}  `, "m").test(output);
}
