import { median } from "./report.ts";

/**
 * Runs the contenders in turns, so that other load affects all of them, and returns each one's median. The first round is a
 * warm-up and does not count.
 */
export async function inTurns<Name extends string>(
  rounds: number,
  contenders: Record<Name, () => Promise<number>>,
): Promise<Record<Name, number>> {
  const names = Object.keys(contenders).filter((name): name is Name => name in contenders);
  const measured = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of names) {
      const value = await contenders[name]();
      if (round > 0) measured.get(name)?.push(value);
    }
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one entry for each name
  return Object.fromEntries([...measured].map(([name, values]) => [name, median(values)])) as Record<
    Name,
    number
  >;
}

/** The number that follows `option` on the command line. */
export function numberOf(option: string): number | undefined {
  const index = process.argv.indexOf(option);
  return index === -1 ? undefined : Number(process.argv[index + 1]);
}
