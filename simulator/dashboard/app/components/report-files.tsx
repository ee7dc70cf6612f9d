import { Icon } from "./icon.tsx";

const WORDS: Record<string, string> = {
  pretty: "Text",
  json: "JSON",
  junit: "JUnit XML",
  markdown: "Markdown",
  github: "GitHub annotations",
};

/** The last report as files, in each format that there is of it. */
export function ReportFiles({ formats }: { formats: string[] }) {
  const known = Object.keys(WORDS).filter((format) => formats.includes(format));
  return (
    <div class="report-files" role="group" aria-label="Save the report">
      <span class="muted">
        <Icon name="save" size={14} /> Save as
      </span>
      {known.map((format) => (
        <a class="button small" key={format} href={`/control/reports/verify/${format}`} download>
          {WORDS[format]}
        </a>
      ))}
    </div>
  );
}
