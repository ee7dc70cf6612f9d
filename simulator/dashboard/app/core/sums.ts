import type { Filters } from "./filters.ts";
import type { DeliveryCount } from "./types.ts";

type Ending = DeliveryCount["endings"][number];
/** How many deliveries match the filters, and the counts under all filters but one. */
export type Sums = { total: number; by: (name: "state" | "verdict" | "cause") => Map<string, number> };

/** The sums by state, verdict and cause; `own` is that of a selected state that is none of these. */
export function sumsOf(
  all: readonly Ending[],
  own: readonly Ending[],
  wanted: Pick<Filters, "state" | "verdict" | "cause">,
): Sums {
  const names = ["state", "verdict", "cause"] as const;
  const fits = (group: Ending, but?: string) =>
    names.every((name) => name === but || wanted[name] === "" || wanted[name] === (group[name] ?? ""));
  const sum = (groups: readonly Ending[]) => groups.reduce((total, { count }) => total + count, 0);
  return {
    total: sum(own.filter((group) => fits(group))),
    by(name) {
      const groups = (name === "state" ? all : own).filter((group) => fits(group, name));
      const byValue = Map.groupBy(groups, (group) => group[name] ?? "");
      return new Map([...byValue].map(([value, of]) => [value, sum(of)]));
    },
  };
}
