import type { Report as ReportOf } from "../core/types.ts";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { numberOf, shortOf } from "../core/format.ts";
import { CheckRow, type Standing, STANDING_NAMES, standingOf, STANDINGS } from "./check-row.tsx";
import { BodyView, type Choice, Segments } from "./code-view.tsx";
import { Icon, type IconName } from "./icon.tsx";

const VERDICTS: Record<string, [tone: string, icon: IconName, words: string]> = {
  passed: ["ok", "check", "The receiver passed"],
  failed: ["bad", "cross", "The receiver failed"],
  could_not_run: ["wait", "flag", "Nothing could be verified"],
  incomplete: ["wait", "flag", "The run did not come to its end"],
};

/** A report of `verify`, also one that is still being made: the verdict, then the checks, what failed first. */
export function Report({ report, children }: { report: ReportOf; children: ComponentChildren }) {
  const checks = Array.isArray(report.checks) ? report.checks : undefined;
  const [shown, setShown] = useState<Standing | "">("");
  if (checks === undefined) return <BodyView text={JSON.stringify(report)} label="Report" />;

  const byStanding = Map.groupBy(checks, standingOf);
  const counted = (standing: Standing) => byStanding.get(standing)?.length ?? 0;
  const there = STANDING_NAMES.filter((standing) => counted(standing) > 0);
  const options: Choice<Standing | "">[] = [
    ["", `All ${checks.length}`],
    ...there.map((standing): Choice<Standing> => [
      standing,
      `${counted(standing)} ${STANDINGS[standing].word}`,
    ]),
  ];
  const isChosen = shown !== "" && there.includes(shown);
  return (
    <>
      {report.verdict !== null && <Verdict report={report} />}
      <div class="toolbar report-tools">
        <Segments label="Outcome" value={isChosen ? shown : ""} options={options} onChange={setShown} />
        {children}
      </div>
      {there
        .filter((standing) => !isChosen || standing === shown)
        .map((standing) => (
          <section class="panel report-group" key={standing} aria-label={STANDINGS[standing].title}>
            <header>
              <h2>{STANDINGS[standing].title}</h2>
            </header>
            <ul>
              {byStanding.get(standing)?.map((check) => (
                <CheckRow key={check.id} check={check} />
              ))}
            </ul>
          </section>
        ))}
    </>
  );
}

function Verdict({ report }: { report: ReportOf }) {
  const { verdict, url, seed, duration_ms: durationMs, summary, incomplete } = report;
  const notRun = summary?.not_run ?? 0;
  const [tone, icon, words] = VERDICTS[verdict ?? ""] ?? ["plain", "flag", verdict ?? "A report"];
  return (
    <div class={`report-verdict ${tone}`}>
      <Icon name={icon} size={22} />
      <div>
        <b>{words}</b>
        <p class="foreign">
          {url}
          {typeof incomplete === "string" && `: ${incomplete}`}
        </p>
      </div>
      <p class="muted">
        {typeof durationMs === "number" && `${numberOf(Math.round(durationMs / 100) / 10)} s`}{" "}
        {seed !== undefined && (
          <>
            · seed <code class="foreign">{shortOf(seed, 24)}</code>
          </>
        )}{" "}
        {notRun > 0 && ` · ${notRun} not run`}
      </p>
    </div>
  );
}
