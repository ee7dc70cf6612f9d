import type { RetentionBounds } from "../domain/retention.ts";
import type { Output } from "./output.ts";
import type { RunningSimulator } from "./running-simulator.ts";

/** The addresses and keys of a running service, as `serve` and `dev` print them. */
export function printBanner(running: RunningSimulator, output: Output, dataFile: string | undefined): void {
  const { simulator, server, token } = running;
  const dim = (text: string) => output.style("dim", text);
  const cyan = (text: string) => output.style("cyan", text);
  const link = token === undefined ? "" : `?token=${token}`;
  const rows: string[][] = [
    ["Dashboard", cyan(`${server.url}/dashboard${link}`)],
    ["REST API", cyan(`${server.url}/api/v1`)],
    ["API docs", cyan(`${server.url}/docs`)],
  ];
  for (const [index, { organization, apiKey }] of simulator.world.organizations().entries()) {
    rows.push([
      index === 0 ? "API keys" : "",
      `${output.style("bold", apiKey)}  ${dim(`${organization.name}, ${organization.industry}`)}`,
    ]);
  }
  rows.push(
    ["Clock", `${simulator.clock.mode}  ${dim(CLOCK_WORDS[simulator.clock.mode])}`],
    ["State", dataFile ?? `until it ends  ${dim("--data FILE keeps it")}`],
    ["Keeps", keptWords(simulator.retention)],
    ["Seed", String(simulator.seed)],
  );
  if (token !== undefined) rows.push(["Token", token]);
  output.table(rows, "  ");
}

export function bannerValue(running: RunningSimulator) {
  const { simulator, server, token } = running;
  return {
    object: "simulator",
    url: server.url,
    api_url: `${server.url}/api/v1`,
    dashboard_url: `${server.url}/dashboard`,
    seed: simulator.seed,
    clock: simulator.clock.mode,
    organizations: simulator.world
      .organizations()
      .map(({ organization, apiKey }) => ({ id: organization.id, name: organization.name, api_key: apiKey })),
    token,
  };
}

function keptWords({ deliveries, bytes }: RetentionBounds): string {
  return `the last ${deliveries.toLocaleString("en")} deliveries, ${bytes / 1e9} GB at most`;
}

const CLOCK_WORDS = {
  real: "six attempts take the real 14 h 36 min",
  skip: "waiting is skipped: the next attempt is made at once",
  manual: "stands still until you run `clock advance`",
};
