import { z } from "zod";

/** What Stryker found, as far as it is counted here. */
export const resultsSchema = z.object({
  files: z.record(
    z.string(),
    z.object({
      mutants: z.array(
        z.object({
          mutatorName: z.string(),
          replacement: z.string().optional(),
          location: z.object({ start: z.object({ line: z.int() }) }),
          status: z.string(),
        }),
      ),
    }),
  ),
});

export type Results = z.infer<typeof resultsSchema>;

type Count = { folder: string; caught: number; survived: number; unreached: number };

const BEGIN = "<!-- mutants: npm run mutation -- --figures -->";
const END = "<!-- end of mutants -->";

/** How many changes to the files below each folder were caught, survived, and stand where no test comes. */
export function countByFolder(results: Results, folders: readonly string[]): Count[] {
  return folders.flatMap((folder) => {
    const mutants = Object.entries(results.files)
      .filter(([file]) => file.startsWith(`${folder}/`))
      .flatMap(([, file]) => file.mutants);
    const count = (...statuses: string[]): number =>
      mutants.filter(({ status }) => statuses.includes(status)).length;
    const counted = {
      folder,
      caught: count("Killed", "Timeout"),
      survived: count("Survived"),
      unreached: count("NoCoverage"),
    };
    return totalOf(counted) === 0 ? [] : [counted];
  });
}

/** One line for each change that no test saw. */
export function survivors(results: Results): string[] {
  return Object.entries(results.files).flatMap(([file, { mutants }]) =>
    mutants
      .filter(({ status }) => status === "Survived" || status === "NoCoverage")
      .map(({ location, mutatorName, replacement = "", status }) => {
        const where = `${file}:${String(location.start.line)}`;
        return `${where} ${status} ${mutatorName}: ${replacement.replaceAll(/\s+/g, " ").slice(0, 100)}`;
      }),
  );
}

/** A table as the formatter of the project sets it, with the sum of all in the last row. */
export function tableOf(counts: readonly Count[]): string {
  const sum = (name: "caught" | "survived" | "unreached"): number =>
    counts.reduce((total, count) => total + count[name], 0);
  const all = {
    folder: "all",
    caught: sum("caught"),
    survived: sum("survived"),
    unreached: sum("unreached"),
  };
  const rows = [...counts, all].map((count) => [
    count.folder,
    String(totalOf(count)),
    String(count.caught),
    String(count.survived),
    String(count.unreached),
    `${((100 * count.caught) / Math.max(1, totalOf(count))).toFixed(1)} %`,
  ]);
  const cells = [["Folder", "Changes", "Caught", "Survived", "No test comes there", "Score"], ...rows];
  const widths = [0, 1, 2, 3, 4, 5].map((column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |\n`;
  const [head = [], ...others] = cells;
  return line(head) + line(widths.map((width) => "-".repeat(width))) + others.map(line).join("");
}

/** The page with these figures in the place of those that it had; undefined when it has no place for them. */
export function withMutants(page: string, figures: string): string | undefined {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin === -1 || end < begin) return undefined;
  return `${page.slice(0, begin)}${BEGIN}\n\n${figures}\n${page.slice(end)}`;
}

function totalOf({ caught, survived, unreached }: Omit<Count, "folder">): number {
  return caught + survived + unreached;
}
