import { useKeys } from "../core/actions.ts";
import { useLive } from "../core/live.ts";
import { hrefTo, navigate } from "../core/route.ts";
import { Button } from "../components/button.tsx";
import { EndpointCard } from "../components/endpoint-card.tsx";
import { EndpointForm } from "../components/endpoint-form.tsx";
import { Crumb, Empty, Loading, PageHead } from "../components/page.tsx";
import { tellSecret } from "../components/secret-once.tsx";

/** The endpoints: register, look, test, change, remove (SPEC §6 Registration). */
export function EndpointsPage({ id, query }: { id?: string | undefined; query: URLSearchParams }) {
  const { endpoints } = useLive();
  const isNew = query.has("new");
  const edited = isNew ? undefined : endpoints?.get(query.get("edit") ?? "");
  const close = () => navigate("/endpoints", { replace: true });
  useKeys({ c: () => navigate("/endpoints?new") });

  const all = [...(endpoints?.values() ?? [])];
  const shown = id === undefined ? all : all.filter((endpoint) => endpoint.id === id);
  return (
    <>
      <PageHead
        title="Endpoints"
        lead="Where events are delivered to. Each has its own secret and selection."
      >
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
      {id !== undefined && endpoints !== undefined && shown.length === 0 && (
        <Empty icon="endpoints" title="This endpoint is gone">
          <p>
            It was deleted, or the simulator was reset. Its past deliveries stay in{" "}
            <a href={hrefTo("/")}>Live</a>.
          </p>
        </Empty>
      )}
      <div class="cards stack">
        {shown.map((endpoint) => (
          <EndpointCard key={endpoint.id} endpoint={endpoint} isRotated={query.has("rotate")} />
        ))}
      </div>
      {isNew && (
        <EndpointForm
          firstUrl={query.get("url") ?? undefined}
          onClose={close}
          onDone={(endpoint) => {
            close();
            tellSecret(endpoint);
          }}
        />
      )}
      {edited && <EndpointForm key={edited.id} endpoint={edited} onClose={close} onDone={close} />}
    </>
  );
}
