import { control } from "../core/api.ts";
import { useKeys } from "../core/keys.ts";
import { useLive } from "../core/live.ts";
import { useLoaded } from "../core/load.ts";
import { hrefTo, listPath, navigate } from "../core/route.ts";
import { attempt, toast } from "../core/toasts.ts";
import { countOf, fullTimeOf, lineOf, shortId } from "../core/words.ts";
import { Button, Copyable } from "../components/button.tsx";
import { TypeMark } from "../components/chips.tsx";
import { BodyView } from "../components/code-view.tsx";
import { DeliveryRow } from "../components/feed-row.tsx";
import { Icon } from "../components/icon.tsx";
import { Empty, Fact, Loading, PageHead, Panel, Problem } from "../components/page.tsx";

const ORIGINS: Record<string, string> = {
  world: "the business itself",
  trigger: "a trigger",
  replay: "a replay",
  test: "the test action of an endpoint",
};

/** One event: its envelope and all its deliveries. */
export function EventPage({ id }: { id: string }) {
  const { feed } = useLive();
  const {
    value: event,
    error,
    reload,
  } = useLoaded(id, () => control.get(`/events/${encodeURIComponent(id)}`));
  useKeys({ u: () => navigate(listPath()) });

  if (event === undefined)
    return (
      <>
        <PageHead title="Event" />
        {error === undefined ? (
          <Loading />
        ) : (
          <Problem error={error}>
            <p>
              <a href={hrefTo(listPath())}>Back to Live</a>
            </p>
          </Problem>
        )}
      </>
    );

  async function replay(newIds: boolean) {
    if (event === undefined) return;
    const body = { envelopes: [event.envelope], new_ids: newIds };
    const replayed = await attempt(() => control.post("/replay", body));
    if (replayed === undefined) return;
    toast(
      "ok",
      `Sent to ${countOf(replayed.deliveries.length, "endpoint")}${newIds ? " under a new id" : " under the same id"}.`,
    );
    if (newIds) navigate(`/events/${replayed.events[0]?.id ?? ""}`);
    else await reload();
  }
  const deliveries = event.deliveries.map((delivery) => feed.get(delivery.id) ?? delivery);
  return (
    <>
      <p class="crumbs">
        <a class="inline muted" href={hrefTo(listPath())}>
          <Icon name="back" size={14} />
          Live
        </a>
      </p>
      <PageHead
        shortTitle={`Event ${event.type}`}
        title={
          <span class="flex">
            <TypeMark type={event.type} />
            <span class="foreign">{lineOf({ summary: event.summary, event_type: event.type })}</span>
          </span>
        }
        lead={
          <>
            <code class="foreign">{event.type}</code>{" "}
            {`set off by ${ORIGINS[event.origin] ?? event.origin}, ${fullTimeOf(event.created_at)} of schedule time.`}
          </>
        }
      >
        <Button
          icon="resend"
          onClick={() => replay(false)}
          title="A receiver that is right handles it only once"
        >
          Send again, same id
        </Button>
        <Button icon="plus" onClick={() => replay(true)}>
          Send again, new id
        </Button>
      </PageHead>
      <dl class="facts event-facts flex wraps">
        <Fact name="Event">
          <Copyable text={event.id} shown={shortId(event.id)} label="Copy the event id" />
        </Fact>
        <Fact name="Organization">
          <code>{event.org_id}</code>
        </Fact>
      </dl>
      <Panel title={countOf(deliveries.length, "delivery", "deliveries")}>
        {deliveries.length === 0 ? (
          <Empty icon="endpoints" title="It went to nobody">
            <p>
              No endpoint had selected it. <a href={hrefTo("/endpoints")}>Look at the endpoints</a>, then send
              it again.
            </p>
          </Empty>
        ) : (
          <div class="feed in-panel">
            <ol class="plain-rows">
              {deliveries.map((delivery) => (
                <li key={delivery.id}>
                  <DeliveryRow delivery={delivery} />
                </li>
              ))}
            </ol>
          </div>
        )}
      </Panel>
      <Panel title="Envelope">
        <BodyView text={JSON.stringify(event.envelope)} label="Envelope" />
      </Panel>
    </>
  );
}
