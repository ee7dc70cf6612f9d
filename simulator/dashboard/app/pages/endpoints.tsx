import { useState } from "preact/hooks";
import { useKeys } from "../core/actions.ts";
import { useLive } from "../core/live.ts";
import { hrefTo, navigate } from "../core/route.ts";
import type { Endpoint } from "../core/types.ts";
import { numberOf, placeOf } from "../core/words.ts";
import { Button } from "../components/button.tsx";
import { EndpointCard } from "../components/endpoint-card.tsx";
import { EndpointForm } from "../components/endpoint-form.tsx";
import { SearchField } from "../components/field.tsx";
import { Crumb, Empty, Loading, PageHead } from "../components/page.tsx";
import { showSecret } from "../components/secret-once.tsx";

/** The endpoints: register, look, test, change, remove (SPEC §6 Registration). */
export function EndpointsPage({ id, query }: { id?: string | undefined; query: URLSearchParams }) {
  const { endpoints } = useLive();
  const isNew = query.has("new");
  const edited = isNew ? undefined : endpoints?.get(query.get("edit") ?? "");
  const close = () => navigate("/endpoints", { replace: true });
  useKeys({ c: () => navigate("/endpoints?new") });

  const opened = endpoints?.get(id ?? "");
  return (
    <>
      <PageHead title="Endpoints" lead="Where events are delivered, each with a secret and a selection.">
        <Button icon="plus" kind="accent" href={hrefTo("/endpoints?new")} words="Register an endpoint" />
      </PageHead>
      {endpoints === undefined && <Loading />}
      {endpoints?.size === 0 && (
        <Empty icon="endpoints" title="No endpoint is registered">
          <p>
            Start your receiver, then register the URL at which it takes POST requests. You get its signing
            secret once.
          </p>
          <p>
            <Button kind="accent" href={hrefTo("/endpoints?new")} words="Register an endpoint" />
          </p>
        </Empty>
      )}
      {id !== undefined && <Crumb path="/endpoints">All endpoints</Crumb>}
      {id !== undefined && endpoints !== undefined && opened === undefined && (
        <Empty icon="endpoints" title="This endpoint does not exist">
          <p>
            It was deleted, or the simulator was reset. Its past deliveries stay in{" "}
            <a href={hrefTo("/")}>Live</a>.
          </p>
        </Empty>
      )}
      {opened && <EndpointCard endpoint={opened} isRotated={query.has("rotate")} />}
      {id === undefined && endpoints && <EndpointList endpoints={[...endpoints.values()]} />}
      {isNew && (
        <EndpointForm
          firstUrl={query.get("url") ?? undefined}
          onClose={close}
          onDone={(endpoint) => {
            close();
            showSecret(endpoint);
          }}
        />
      )}
      {edited && <EndpointForm key={edited.id} endpoint={edited} onClose={close} onDone={close} />}
    </>
  );
}

/** Cards on one page: each asks for what its endpoint has answered. */
const PAGE_SIZE = 10;

/** The endpoints, failing ones first, page by page; with a search if there are many. */
function EndpointList({ endpoints }: { endpoints: Endpoint[] }) {
  const [{ text, page }, setShown] = useState({ text: "", page: 0 });
  const words = text.toLowerCase().split(/\s+/);
  const found = endpoints
    .filter(({ id, name, url, org_id: orgId, event_types: types, flagged, paused }) => {
      const states = [flagged && "failing", paused && "paused"];
      const own = [id, name, placeOf({ url }), orgId, ...types, ...states].join(" ").toLowerCase();
      return words.every((word) => own.includes(word));
    })
    .toSorted((a, b) => Number(b.flagged) - Number(a.flagged));
  const from = Math.min(page, Math.floor(Math.max(0, found.length - 1) / PAGE_SIZE)) * PAGE_SIZE;
  const to = Math.min(from + PAGE_SIZE, found.length);
  const turn = (by: number) => setShown({ text, page: from / PAGE_SIZE + by });
  return (
    <div class="cards stack">
      {endpoints.length > PAGE_SIZE && (
        <div class="flex wraps between">
          <SearchField
            label="Search endpoints"
            placeholder="Name, address, type, failing…"
            value={text}
            onInput={(next) => setShown({ text: next, page: 0 })}
          />
          <nav class="flex" aria-label="Pages of endpoints">
            <span class="muted" role="status">
              {found.length === 0 ? "None of" : `${from + 1} to ${to} of`}{" "}
              {numberOf(found.length || endpoints.length)}
            </span>
            <Button kind="small" disabled={from === 0} onClick={() => turn(-1)} words="Previous" />
            <Button kind="small" disabled={to === found.length} onClick={() => turn(1)} words="Next" />
          </nav>
        </div>
      )}
      {found.slice(from, to).map((endpoint) => (
        <EndpointCard key={endpoint.id} endpoint={endpoint} />
      ))}
    </div>
  );
}
