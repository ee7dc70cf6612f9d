import { useEffect, useState } from "preact/hooks";
import { asError, control } from "../core/api.ts";
import { type Filters, PERIODS } from "../core/filters.ts";
import { endpointChoices, eventTypes, useLive } from "../core/live.ts";
import { useLater } from "../core/load.ts";
import type { DeliveryCount, Job } from "../core/types.ts";
import { countOf } from "../core/words.ts";
import { Button } from "./button.tsx";
import { Dialog, FormDialog } from "./dialog.tsx";
import { CheckBox, SelectField, TextField } from "./field.tsx";
import { Problem } from "./page.tsx";

const COUNT_AFTER_MS = 150;
const LOOK_AFTER_MS = 250;
const SPANS: [since: string, words: string][] = [
  ["", "any time"],
  ...PERIODS,
  ["moment", "a moment of your own"],
];

/** Sends again what was lost: as the list is filtered, since when, to whom; counted before anything goes. */
export function Recover({ filters, onClose }: { filters: Filters; onClose: () => void }) {
  useLive();
  const [fields, setFields] = useState(() => fieldsOf(filters));
  const { type, endpoint, q, span, since, until, isTriedNow } = fields;
  const set = (name: keyof typeof fields) => (value: string) => setFields({ ...fields, [name]: value });
  const [error, setError] = useState<Error>();
  const sending = useSending(setError);
  const body = {
    type: type || undefined,
    endpoint_id: endpoint || undefined,
    q: q.trim() || undefined,
    verdict: filters.verdict || undefined,
    state: isTriedNow ? "failed" : "lost",
    since: (span === "moment" ? momentOf(since) : span) || undefined,
    until: momentOf(until) || undefined,
  };
  const { count: counted, error: problem = error } = useCounted(body);
  const title = "Recover what was lost";

  if (sending.sent !== undefined) {
    const foot = (
      <>
        {sending.isSending && <Button onClick={sending.cancel} words="Send no more" />}
        <Button kind="accent" onClick={onClose} words="Done" />
      </>
    );
    return (
      <Dialog title={title} onClose={onClose} foot={foot}>
        {error && <Problem error={error} />}
        <Outcome job={sending.sent} />
      </Dialog>
    );
  }
  return (
    <FormDialog
      title={title}
      action={counted && counted.total > 0 ? `Send ${counted.total} again` : "Send again"}
      icon="resend"
      disabled={counted === undefined || counted.total === 0}
      onSubmit={() => sending.send(body)}
      onClose={onClose}
      wide
    >
      {problem && <Problem error={problem} />}
      <div class="field-grid">
        <SelectField label="Created in" value={span} onChange={set("span")} options={SPANS} />
        {span === "moment" && (
          <TextField label="Since" type="datetime-local" value={since} onInput={set("since")} />
        )}
        <TextField label="Until (empty: now)" type="datetime-local" value={until} onInput={set("until")} />
        <SelectField
          label="Endpoint"
          value={endpoint}
          onChange={set("endpoint")}
          options={[["", "all endpoints"], ...endpointChoices()]}
        />
        <SelectField
          label="Type"
          value={type}
          onChange={set("type")}
          options={[["", "all types"], ...eventTypes().map((name) => [name, name] as const)]}
        />
        <TextField label="Has in it" value={q} onInput={set("q")} placeholder="anything" />
      </div>
      <CheckBox checked={isTriedNow} onChange={() => setFields({ ...fields, isTriedNow: !isTriedNow })}>
        Also what failed and waits for its next attempt: that is made now
      </CheckBox>
      <p role="status">
        <b>{counted === undefined ? "Counting…" : countWords(counted)}</b>
      </p>
    </FormDialog>
  );
}

/** What the dialog begins with: as the list is filtered. */
function fieldsOf({ type, endpoint, q, since, until, state }: Filters) {
  const isSpan = SPANS.some(([known]) => known === since);
  return {
    type,
    endpoint,
    q,
    isTriedNow: state === "failed",
    span: isSpan ? since : "moment",
    since: isSpan ? "" : localOf(since),
    until: localOf(until),
  };
}

/** What became of what was sent. */
function Outcome({ job: { state, total, sent, acknowledged, failed } }: { job: Job }) {
  const soFar = state === "done" ? "" : ` of ${total ?? "what fits"} so far`;
  return (
    <div class="stack" aria-live="polite">
      <progress max={Math.max(1, total ?? sent)} value={acknowledged} aria-label="Acknowledged" />
      <p>
        <b>{countOf(sent, "delivery", "deliveries")}</b> sent{soFar}: {acknowledged} acknowledged
        {failed > 0 ? `, ${failed} failed again` : ""}.
      </p>
      {failed > 0 && <p class="muted">What failed again is tried up to six times, as ever.</p>}
    </div>
  );
}

/** `2 order.created and 1 voicemail.created to 1 endpoint`. */
function countWords({ counts, total }: DeliveryCount): string {
  if (total === 0) return "Nothing is lost that fits: what gave up was sent again, or its endpoint is gone.";
  const byType = new Map<string, number>();
  for (const { event_type: type, count } of counts) byType.set(type, (byType.get(type) ?? 0) + count);
  const what = [...byType].map(([type, count]) => `${count} ${type}`).join(", ");
  const places = new Set(counts.map(({ endpoint_id: id }) => id)).size;
  return `${what} to ${countOf(places, "endpoint")}.`;
}

/** How many fit, or why that cannot be told, asked again shortly after something was changed. */
function useCounted(body: object): { count?: DeliveryCount; error?: Error } {
  const key = JSON.stringify(body);
  const counted = useLater(key, COUNT_AFTER_MS, () =>
    control.post("/deliveries/resend", { ...body, dry_run: true }).then(
      (answer) => ({ key, ...(answer.object === "count" && { count: answer }) }),
      (error: unknown) => ({ key, error: asError(error) }),
    ),
  );
  return counted?.key === key ? counted : {};
}

/** Sends all of it, as a job of the simulator, and looks how far it is until each has been answered. */
function useSending(onError: (error: Error) => void) {
  const [sent, setSent] = useState<Job>();
  const isSending = sent !== undefined && sent.ended_at === null;
  const isOver = sent?.ended_at != null && sent.acknowledged + sent.failed >= sent.sent;
  const fail = (error: unknown) => onError(asError(error));
  useEffect(() => {
    if (sent === undefined || isOver) return undefined;
    const timer = setTimeout(() => void control.get(`/jobs/${sent.id}`).then(setSent, fail), LOOK_AFTER_MS);
    return () => clearTimeout(timer);
  });
  const send = (body: object) =>
    control
      .post("/deliveries/resend", body)
      .then((answer) => answer.object === "job" && setSent(answer), fail);
  const cancel = () => control.post(`/jobs/${sent?.id ?? ""}/cancel`).then(setSent, fail);
  return { sent, isSending, send, cancel };
}

/** A moment as an input field has it: local time without a zone, to the second. */
function localOf(moment: string): string {
  if (moment === "") return "";
  const date = new Date(moment);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** The other way round. */
function momentOf(text: string): string {
  return text === "" ? "" : new Date(text).toISOString();
}
