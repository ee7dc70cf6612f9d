import { type ComponentChildren, Fragment } from "preact";
import { useState } from "preact/hooks";
import type { Check, Verification } from "../core/types.ts";
import { numberOf, shortOf } from "../core/words.ts";
import { type Choice, Icon, type IconName, Segments } from "./button.tsx";
import { CheckRow, type Standing, STANDING_NAMES, standingOf, STANDINGS } from "./check-row.tsx";
import { Panel } from "./page.tsx";

const VERDICTS: Record<string, [tone: string, icon: IconName, words: string]> = {
  passed: ["ok", "check", "The receiver passed"],
  failed: ["bad", "cross", "The receiver failed"],
  could_not_run: ["wait", "flag", "Nothing could be verified"],
  incomplete: ["wait", "flag", "The run did not finish"],
};

/** A report of `verify`, also one that is still being made: the verdict, then the checks, what failed first. */
export function Report({ report, children }: { report: Verification; children: ComponentChildren }) {
  const { checks } = report;
  const [shown, setShown] = useState<Standing | "">("");

  const byStanding = Map.groupBy(checks, standingOf);
  const counted = (standing: Standing) => byStanding.get(standing)?.length ?? 0;
  const there = STANDING_NAMES.filter((standing) => counted(standing) > 0);
  const options: Choice<Standing | "">[] = [
    ["", `All ${checks.length}`],
    ...there.map((one) => [one, `${counted(one)} ${STANDINGS[one].word}`] as const),
  ];
  const isChosen = shown !== "" && there.includes(shown);
  return (
    <>
      {report.verdict !== null && <Verdict report={report} />}
      <div class="flex wraps between">
        <Segments label="Outcome" value={isChosen ? shown : ""} options={options} onChange={setShown} />
        {children}
      </div>
      {there
        .filter((standing) => !isChosen || standing === shown)
        .map((standing) => (
          <Panel key={standing} kind="report-group" title={STANDINGS[standing].title}>
            <ul>
              {groupsOf(byStanding.get(standing) ?? [], standing).map(([cause, own]) => (
                <Fragment key={cause || own[0]?.id}>
                  {cause !== "" && (
                    <li class="check-cause">
                      <b>{own.length === 1 ? "1 check:" : `${own.length} checks, one fix:`}</b>{" "}
                      <span class="foreign">{cause}</span>
                    </li>
                  )}
                  {own.map((check) => (
                    <CheckRow key={check.id} check={check} />
                  ))}
                </Fragment>
              ))}
            </ul>
          </Panel>
        ))}
    </>
  );
}

/** Groups failures by what to do about them, the largest group first. */
function groupsOf(checks: Check[], standing: Standing): [cause: string, checks: Check[]][] {
  if (standing !== "failed" && standing !== "advice") return [["", checks]];
  const byHint = Map.groupBy(checks, ({ hint }) => hint ?? "");
  return [...byHint].toSorted(([, a], [, b]) => b.length - a.length);
}

function Verdict({ report }: { report: Verification }) {
  const { verdict, url, seed, duration_ms: durationMs, incomplete } = report;
  const [tone, icon, words] = VERDICTS[verdict ?? ""] ?? ["plain", "flag", verdict ?? "A report"];
  return (
    <div class={`report-verdict box flex wraps ${tone}`}>
      <Icon name={icon} size={22} />
      <div class="spacer">
        <b>{words}</b>
        <p class="foreign">
          {url}
          {typeof incomplete === "string" && `: ${incomplete}`}
        </p>
      </div>
      <p>
        {typeof durationMs === "number" && `${numberOf(Math.round(durationMs / 100) / 10)} s`} · seed{" "}
        <code class="foreign">{shortOf(seed, 24)}</code>
      </p>
    </div>
  );
}
