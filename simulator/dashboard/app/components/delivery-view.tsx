import { useState } from "preact/hooks";
import { useActions, useKeys } from "../core/actions.ts";
import { control } from "../core/api.ts";
import { useLive } from "../core/live.ts";
import { useGot } from "../core/load.ts";
import { hrefTo, listPath, navigate } from "../core/route.ts";
import { attemptCurl } from "../core/snippets.ts";
import { attempt, toast } from "../core/toasts.ts";
import type { DeliveryDetail } from "../core/types.ts";
import { fullTimeOf, lineOf, shortId, withControlsShown } from "../core/words.ts";
import { AttemptView } from "./attempt-view.tsx";
import { Button, copyText } from "./button.tsx";
import { Chip, StateChip, TypeMark, VerdictLine } from "./chips.tsx";
import { EditAndSend } from "./edit-and-send.tsx";
import { CopyFact, Loading, PageTitle, Problem } from "./page.tsx";
import { Timeline } from "./timeline.tsx";

/** One delivery: the verdict, its six slots, and each attempt down to the bytes. */
export function DeliveryView({ id, query, isAlone }: { id: string; query: string; isAlone: boolean }) {
  const { feed } = useLive();
  const path = `/deliveries/${encodeURIComponent(id)}` as const;
  const { value: delivery, error, reload } = useGot(path, { again: feed.get(id) });
  const chosen = Number(new URLSearchParams(location.search).get("attempt")) || undefined;
  const [isEditing, setEditing] = useState(false);

  const attempts = delivery?.attempts ?? [];
  const number = Math.min(chosen ?? attempts.length, attempts.length);
  const shown = attempts[number - 1];
  const canAttempt = delivery !== undefined && delivery.next_attempt_at !== null;
  /** The shown attempt is in the address; the last one by default. */
  function setChosen(next: number | undefined) {
    const tail = next === undefined ? query : `${query === "" ? "?" : `${query}&`}attempt=${next}`;
    navigate(`/deliveries/${encodeURIComponent(id)}${tail}`, { replace: true });
  }

  async function attemptNow() {
    if (!canAttempt) return toast("bad", "No attempt is waiting.");
    setChosen(undefined);
    await attempt(() => control.post(`${path}/attempt`));
    await reload();
  }
  async function resend() {
    if (delivery === undefined) return;
    const resent = await attempt(() => control.post(`${path}/resend`));
    if (resent === undefined) return;
    toast("ok", `Sent again as ${shortId(resent.id)}, with six attempts of its own.`);
    navigate(`/deliveries/${resent.id}${query}`);
  }
  const endEditing = () => setEditing(false);
  function sentEdited(sentId: string) {
    endEditing();
    toast("ok", "Sent: watch it here.");
    navigate(`/deliveries/${sentId}${query}`);
  }
  async function copyCurl() {
    const text = shown && (await attempt(() => attemptCurl(id, number)));
    if (text && (await copyText(text))) toast("ok", "Copied as curl, signed now: good for 5 minutes.");
  }
  const edit = () => shown && setEditing(true);
  const actions = [
    { key: "a", icon: "next", words: "Attempt now", title: "Make the next attempt now", run: attemptNow },
    { key: "r", icon: "resend", words: "Resend", title: "Resend this delivery as a new one", run: resend },
    { key: "e", icon: "edit", words: "Edit and send", title: "Edit and send this event again", run: edit },
    { key: "c", icon: "copy", words: "Copy as curl", title: "Copy this attempt as curl", run: copyCurl },
  ] as const;
  useActions(actions.map(({ key, icon, title: words, run }) => ({ key, icon, words, run })));
  useKeys({
    u: () => navigate(listPath()),
    Escape: () => navigate(listPath()),
    ArrowLeft: () => setChosen(Math.max(1, number - 1)),
    ArrowRight: () => setChosen(Math.min(attempts.length, number + 1)),
  });

  const as = isAlone ? "h1" : "h2";
  if (delivery === undefined || error?.status === 404)
    return (
      <div class="delivery">
        {error && <PageTitle as={as} className="title" title="Delivery" takesFocus={isAlone} />}
        {error ? <Problem error={error} isPage /> : <Loading />}
      </div>
    );

  return (
    <article class="delivery stack">
      <header>
        <p class="detail-bar flex wraps">
          <Button
            icon={isAlone ? "back" : "cross"}
            kind="quiet small"
            href={hrefTo(listPath())}
            title="Back to the list (u)"
            words={isAlone ? "Live" : "Close"}
          />{" "}
          <span class="spacer" />
          {actions.map(({ key, icon, words, title, run }) => (
            <Button
              key={key}
              kind="small"
              disabled={key === "a" ? !canAttempt : key !== "r" && shown === undefined}
              title={`${title} (${key})`}
              onClick={run}
              {...{ icon, words }}
            />
          ))}
        </p>
        <div class="detail-title flex hangs">
          <TypeMark type={delivery.event_type} />
          <PageTitle as={as} className="title spacer foreign" title={lineOf(delivery)} takesFocus={isAlone} />
          <StateChip state={delivery.state} />
        </div>
        <Facts delivery={delivery} />
      </header>
      <VerdictLine delivery={delivery} />
      <Timeline delivery={delivery} chosen={number} onChoose={setChosen} />
      {shown ? (
        <AttemptView key={number} attempt={shown} />
      ) : (
        <p class="notice">
          No attempt yet: the first one is due {fullTimeOf(delivery.next_attempt_at ?? delivery.created_at)}{" "}
          of schedule time.
        </p>
      )}
      {isEditing && shown && (
        <EditAndSend {...{ delivery, attempt: shown }} onSent={sentEdited} onClose={endEditing} />
      )}
    </article>
  );
}

/** Its subject, in one line; ids on demand. */
function Facts({ delivery }: { delivery: DeliveryDetail }) {
  const { id, event_id: eventId, endpoint_id: endpointId, url, created_at: createdAt } = delivery;
  const { about } = useLive();
  const callId = callOf(delivery);
  const other = (words: string, otherId: string | null) =>
    otherId !== null && (
      <>
        , {words}{" "}
        <a href={hrefTo(`/deliveries/${otherId}`)}>
          <code>{shortId(otherId)}</code>
        </a>
      </>
    );
  return (
    <div class="delivery-facts muted">
      <p class="foreign">
        <code>{withControlsShown(delivery.event_type)}</code> to{" "}
        {url === null ? <>{endpointId} (deleted)</> : <a href={hrefTo(`/endpoints/${endpointId}`)}>{url}</a>},
        created{" "}
        <time datetime={createdAt} title={createdAt}>
          {fullTimeOf(createdAt)}
        </time>
        {other("resent for", delivery.resend_of)}
        {other("recovered by", delivery.recovered_by)}{" "}
        {callId !== undefined && (
          <a href={hrefTo(`/world/calls?org=${delivery.org_id}&open=${encodeURIComponent(callId)}`)}>
            Its call
          </a>
        )}{" "}
        {delivery.handling !== null && about?.operator_page && (
          <a href={about.operator_page.replace("{id}", eventId)} target="_blank" rel="noreferrer">
            Show it in the receiver
          </a>
        )}{" "}
        {delivery.faults.map((fault) => (
          <Chip tone="purpose" children={fault} />
        ))}
      </p>
      <details>
        <summary>Ids and the whole event</summary>
        <dl class="facts flex wraps hangs">
          <CopyFact name="Event" text={eventId} what="event id">
            <Button kind="small" href={hrefTo(`/events/${eventId}`)} words="Open the event" />
          </CopyFact>
          <CopyFact name="Delivery" text={id} what="delivery id" />
          <CopyFact name="Endpoint" text={endpointId} what="endpoint id" />
        </dl>
      </details>
    </div>
  );
}

/** The call that an event is about, or came from. */
function callOf({ attempts: [first] }: DeliveryDetail): string | undefined {
  return /"(?:call_)?id":\s*"(call_\w+)"/.exec(first?.request.body ?? "")?.[1];
}
