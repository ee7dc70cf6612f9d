import { z } from "zod";

/** The part of Stryker's report that is counted here. */
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

/** A folder's results: how many of its files were mutated, and the outcomes of the mutations. */
type Count = {
  folder: string;
  files: number;
  tried: number;
  caught: number;
  survived: number;
  unreached: number;
};

/** The outcomes of the mutations, by folder. */
export function countByFolder(
  results: Results,
  folders: readonly { folder: string; files: readonly string[] }[],
): Count[] {
  return folders.map(({ folder, files }) => {
    const found = files.flatMap((file) => results.files[file] ?? []);
    const count = (...statuses: string[]): number =>
      found.flatMap(({ mutants }) => mutants).filter(({ status }) => statuses.includes(status)).length;
    return {
      folder,
      files: files.length,
      tried: found.length,
      caught: count("Killed", "Timeout"),
      survived: count("Survived"),
      unreached: count("NoCoverage"),
    };
  });
}

/** One line for each mutation that no test found. */
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

/** A row of Markdown for each folder, and one for all of them. */
export function tableOf(counts: readonly Count[]): string {
  const sum = (name: Exclude<keyof Count, "folder">): number =>
    counts.reduce((total, count) => total + count[name], 0);
  const all: Count = {
    folder: "all",
    files: sum("files"),
    tried: sum("tried"),
    caught: sum("caught"),
    survived: sum("survived"),
    unreached: sum("unreached"),
  };
  const rows = [...counts, all].map(({ folder, files, tried, caught, survived, unreached }) => {
    const changes = caught + survived + unreached;
    const score = changes === 0 ? "" : `${((100 * caught) / changes).toFixed(1)} %`;
    return `| ${[folder, `${tried} of ${files}`, changes, caught, survived, unreached, score].join(" | ")} |\n`;
  });
  return `| Folder | Files tried | Changes | Caught | Survived | No test comes there | Score |
| --- | --- | --- | --- | --- | --- | --- |
${rows.join("")}`;
}
