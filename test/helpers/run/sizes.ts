/** Whether all tests run at full size: `npm run test:all`. */
export const ALL = process.env["TEST_ALL"] !== undefined;

/** How many of something a test tries: less in `npm test`, or as many as the variable says, which long runs set. */
export function sized(variable: string, { quick, all }: { quick: number; all: number }): number {
  return Number(process.env[variable] ?? (ALL ? all : quick));
}
