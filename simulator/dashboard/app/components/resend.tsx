import { useEffect, useState } from "preact/hooks";
import { asError, control } from "../core/api.ts";
import { filterQuery, type Filters, NO_FILTERS, selectionOf } from "../core/filters.ts";
import { keepJob, loadJobs, useLive } from "../core/live.ts";
import { useLoaded } from "../core/load.ts";
import { picked } from "../core/picked.ts";
import { hrefTo } from "../core/route.ts";
import { attempt } from "../core/toasts.ts";
import type { Job } from "../core/types.ts";
import { countOf, momentOf, numberOf, placeOf } from "../core/words.ts";
import { Button } from "./button.tsx";
import { Chip, TypeName } from "./chips.tsx";
import { Dialog } from "./dialog.tsx";
import { Loaded, Problem, Table } from "./page.tsx";

/** Resends the selection, or all deliveries that match the filters: counts first, then runs as a job; lists earlier jobs. */
export function Resend({ filters, onClose }: { filters: Filters; onClose: () => void }) {
  const { jobs } = useLive();
  const [{ ids, isAll }] = useState(picked.get());
  const [startedId, setStarted] = useState<string>();
  const [error, setError] = useState<Error>();
  const isSome = !isAll && ids.length > 0;
  const body = isSome ? { ids } : wholeSelection(filters);
  const count = () => control.post("/deliveries/resend", { ...body, dry_run: true });
  const counted = useLoaded(JSON.stringify(body), count);
  const started = jobs.find(({ id }) => id === startedId);
  const total = counted.value?.total ?? 0;
  useEffect(() => void loadJobs(), []);

  async function send() {
    try {
      const job = await control.post("/deliveries/resend", body);
      if (job.object !== "job") return;
      keepJob(job);
      setStarted(job.id);
      setError(undefined);
    } catch (problem) {
      setError(asError(problem));
    }
  }
  const foot = started ? (
    <Button kind="accent" onClick={onClose} words="Done" />
  ) : (
    <>
      <Button autofocus onClick={onClose} words="Cancel" />
      <Button
        icon="resend"
        kind="accent"
        disabled={total === 0}
        onClick={send}
        words={total === 0 ? "Send again" : `Send ${numberOf(total)} again`}
      />
    </>
  );
  return (
    <Dialog title="Send again" onClose={onClose} foot={foot}>
      {error && <Problem error={error} />}
      {started ? (
        <JobView job={started} />
      ) : (
        <>
          <p class="muted">
            {isSome
              ? `${numberOf(ids.length)} chosen deliveries`
              : "All deliveries that match the list's filters"}
            , without those that were sent again since or whose endpoint was deleted.
          </p>
          <Loaded from={counted}>
            {({ counts }) =>
              counts.length === 0 ? (
                <p role="status">
                  <b>Nothing to send:</b> all were sent again already, or their endpoints were deleted.
                </p>
              ) : (
                <CountTable counts={counts} />
              )
            }
          </Loaded>
        </>
      )}
      <PastJobs jobs={jobs.filter(({ id }) => id !== startedId)} />
    </Dialog>
  );
}

/** The simulator refuses a job without a selection: everything has to be said. */
function wholeSelection(filters: Filters): Record<string, string> {
  const selection = selectionOf(filters);
  return Object.keys(selection).length === 0 ? { since: "1970-01-01T00:00:00Z" } : selection;
}

function CountTable({ counts }: Pick<Job, "counts">) {
  const { endpoints } = useLive();
  return (
    <Table
      label="Deliveries to send again"
      head={["Event type", "Endpoint", "Deliveries"]}
      rows={counts
        .toSorted((a, b) => b.count - a.count)
        .map(({ event_type: type, endpoint_id: id, count }) => [
          <TypeName type={type} />,
          placeOf(endpoints?.get(id)),
          <b>{numberOf(count)}</b>,
        ])}
    />
  );
}

const STATE_WORDS: Record<Job["state"], string> = {
  counting: "Counting…",
  sending: "Sending",
  done: "Sent",
  canceled: "Canceled",
  failed: "Failed",
};

/** How far a job is, with what ends it. */
export function JobProgress({ job }: { job: Job }) {
  const { id, total, sent } = job;
  return (
    <span class="job flex">
      <progress max={Math.max(1, total ?? 1)} value={sent} aria-label="Sent again" />
      <span class="nowrap">
        {numberOf(sent)} of {total === null ? "…" : numberOf(total)} sent
      </span>
      <Button
        kind="small"
        onClick={() => attempt(async () => keepJob(await control.post(`/jobs/${id}/cancel`)))}
        words="Cancel"
      />
    </span>
  );
}

/** A job in progress: how much was sent, and the outcomes so far. */
function JobView({ job }: { job: Job }) {
  const { state, total, sent, acknowledged, failed, problem, ended_at: endedAt } = job;
  const waiting = sent - acknowledged - failed;
  return (
    <div class="stack" aria-live="polite">
      {endedAt === null ? (
        <JobProgress job={job} />
      ) : (
        <progress max={Math.max(1, sent)} value={acknowledged} aria-label="Acknowledged" />
      )}
      <p>
        <b>
          {STATE_WORDS[state]}
          {state === "counting" ? "" : `: ${numberOf(sent)} of ${numberOf(total ?? 0)}`}
        </b>
        {sent > 0 && `, ${numberOf(acknowledged)} acknowledged`}
        {failed > 0 && `, ${numberOf(failed)} failed again`}
        {waiting > 0 && `, ${numberOf(waiting)} on the way`}.
      </p>
      {problem && <p class="foreign">{problem}</p>}
      {failed > 0 && <p class="muted">Those that failed again are tried up to six times.</p>}
    </div>
  );
}

/** Earlier jobs, with their selections. */
function PastJobs({ jobs }: { jobs: Job[] }) {
  const { clock } = useLive();
  if (jobs.length === 0) return null;
  const rows = jobs.map(({ state, selection, sent, acknowledged, failed, created_at: at }) => [
    <span class="nowrap">{momentOf(at, clock?.now)}</span>,
    <SelectionLink selection={selection} />,
    <>
      {numberOf(sent)} sent, {numberOf(acknowledged)} acknowledged
      {failed > 0 && `, ${numberOf(failed)} failed`}{" "}
      {state !== "done" && <Chip tone={state === "failed" ? "bad" : "wait"}>{STATE_WORDS[state]}</Chip>}
    </>,
  ]);
  return (
    <details>
      <summary>{countOf(jobs.length, "job")} before</summary>
      <Table label="Jobs before" head={["Started", "Selection", "Result"]} rows={rows} />
    </details>
  );
}

/** A job's selection, as a link to its list if an address can express it. */
function SelectionLink({ selection }: Pick<Job, "selection">) {
  const { ids, endpoint_id: endpoint = "", ...asked } = selection;
  if (Array.isArray(ids)) return <>{countOf(ids.length, "chosen delivery", "chosen deliveries")}</>;
  const known = Object.entries({ ...asked, endpoint }).flatMap(([name, value]) =>
    Object.hasOwn(NO_FILTERS, name) && typeof value === "string" && value !== ""
      ? [[name, value] as const]
      : [],
  );
  return (
    <a class="foreign" href={hrefTo(`/${filterQuery({ ...NO_FILTERS, ...Object.fromEntries(known) })}`)}>
      {known.map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`).join(", ")}
    </a>
  );
}
