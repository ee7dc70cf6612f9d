import { useKeys } from "../core/actions.ts";
import { control } from "../core/api.ts";
import { useLive } from "../core/live.ts";
import { useGot } from "../core/load.ts";
import { hrefTo, listPath, navigate } from "../core/route.ts";
import { attempt, toast } from "../core/toasts.ts";
import type { EventDetail } from "../core/types.ts";
import { countOf, fullTimeOf, lineOf, shortId } from "../core/words.ts";
import { Button, Copyable } from "../components/button.tsx";
import { TypeMark } from "../components/chips.tsx";
import { BodyView } from "../components/code-view.tsx";
import { DeliveryRow } from "../components/feed-row.tsx";
import { Crumb, Empty, Fact, Loaded, PageHead, Panel } from "../components/page.tsx";

const ORIGINS: Record<string, string> = {
  world: "the simulated business",
  trigger: "a trigger",
  replay: "a replay",
  test: "the test action of an endpoint",
};

/** One event: its envelope and all its deliveries. */
export function EventPage({ id }: { id: string }) {
  const loaded = useGot(`/events/${encodeURIComponent(id)}`);
  useKeys({ u: () => navigate(listPath()) });
  return (
    <Loaded from={loaded} title="Event">
      {(event) => <EventView event={event} reload={loaded.reload} />}
    </Loaded>
  );
}

function EventView({ event, reload }: { event: EventDetail; reload: () => Promise<void> }) {
  const { feed } = useLive();
  const { id, type, summary, org_id: orgId, origin, envelope, created_at: createdAt } = event;
  async function replay(newIds: boolean) {
    const sent = await attempt(() => control.post("/replay", { envelopes: [envelope], new_ids: newIds }));
    if (sent === undefined) return;
    const words = newIds ? "a new id" : "the same id";
    toast("ok", `Sent to ${countOf(sent.deliveries.length, "endpoint")} under ${words}.`);
    if (newIds) navigate(`/events/${sent.events[0]?.id ?? ""}`);
    else await reload();
  }
  const deliveries = event.deliveries.map((delivery) => feed.get(delivery.id) ?? delivery);
  const title = (
    <span class="flex">
      <TypeMark type={type} />
      <span class="foreign">{lineOf({ summary, event_type: type })}</span>
    </span>
  );
  const lead = (
    <>
      <code class="foreign">{type}</code>{" "}
      {`from ${ORIGINS[origin] ?? origin}, ${fullTimeOf(createdAt)} of schedule time.`}
    </>
  );
  return (
    <>
      <Crumb path={listPath()}>Live</Crumb>
      <PageHead shortTitle={`Event ${type}`} title={title} lead={lead}>
        <Button icon="resend" onClick={() => replay(false)} words="Send again, same id" />
        <Button icon="plus" onClick={() => replay(true)} words="Send again, new id" />
      </PageHead>
      <dl class="facts flex wraps hangs">
        <Fact name="Event">
          <Copyable text={id} shown={shortId(id)} label="Copy the event id" />
        </Fact>
        <Fact name="Organization">
          <code>{orgId}</code>
        </Fact>
      </dl>
      <Panel title={countOf(deliveries.length, "delivery", "deliveries")}>
        {deliveries.length === 0 ? (
          <Empty icon="endpoints" title="Not sent">
            <p>
              No endpoint had selected it. <a href={hrefTo("/endpoints")}>Check the endpoints</a>, then send
              it again.
            </p>
          </Empty>
        ) : (
          <ol class="feed in-panel">
            {deliveries.map((delivery) => (
              <li key={delivery.id}>
                <DeliveryRow delivery={delivery} />
              </li>
            ))}
          </ol>
        )}
      </Panel>
      <Panel title="Envelope">
        <BodyView text={JSON.stringify(envelope)} label="Envelope" />
      </Panel>
    </>
  );
}
