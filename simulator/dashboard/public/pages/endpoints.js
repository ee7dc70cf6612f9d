import { EndpointCard } from "../components/endpoint-card.js";
import { EndpointForm } from "../components/endpoint-form.js";
import { Empty, Loading } from "../components/empty.js";
import { Icon } from "../components/icon.js";
import { PageHead } from "../components/page.js";
import { html } from "../core/html.js";
import { useKeys } from "../core/keys.js";
import { useLive } from "../core/live.js";
import { hrefTo, navigate } from "../core/route.js";
import { tellSecret } from "../core/told-secret.js";

/** The endpoints: register, look, test, change, remove (SPEC §6 Registration). */
export function EndpointsPage({ id, query }) {
  const { endpoints } = useLive();
  const isNew = query.has("new");
  const edited = isNew ? undefined : endpoints?.get(query.get("edit"));
  const close = () => navigate("/endpoints", { replace: true });
  useKeys({ c: () => navigate("/endpoints?new") });

  const all = [...(endpoints?.values() ?? [])];
  const shown = id === undefined ? all : all.filter((endpoint) => endpoint.id === id);
  return html`<${PageHead}
      title="Endpoints"
      lead="Where events are delivered to. Each has its own secret and selection."
    >
      <a class="button accent" href=${hrefTo("/endpoints?new")}
        ><${Icon} name="plus" size=${15} />Register an endpoint</a
      >
    <//>
    ${endpoints === undefined && html`<${Loading} />`}
    ${endpoints !== undefined && all.length === 0 && html`<${NoEndpoints} />`}
    ${
      id !== undefined &&
      html`<p class="crumbs">
        <a href=${hrefTo("/endpoints")}><${Icon} name="back" size=${14} />All endpoints</a>
      </p>`
    }
    ${
      id !== undefined &&
      endpoints !== undefined &&
      shown.length === 0 &&
      html`<${Empty} icon="endpoints" title="This endpoint is gone"
        ><p>
          It was deleted, or the simulator was reset. Its past deliveries stay in
          <a href=${hrefTo("/")}>Live</a>.
        </p><//
      >`
    }
    <div class="cards">
      ${shown.map((endpoint) => html`<${EndpointCard} key=${endpoint.id} endpoint=${endpoint} />`)}
    </div>
    ${
      isNew &&
      html`<${EndpointForm}
        firstUrl=${query.get("url") ?? undefined}
        onClose=${close}
        onDone=${(endpoint) => {
          close();
          tellSecret(endpoint);
        }}
      />`
    }
    ${edited && html`<${EndpointForm} key=${edited.id} endpoint=${edited} onClose=${close} onDone=${close} />`}`;
}

function NoEndpoints() {
  return html`<${Empty} icon="endpoints" title="No endpoint is registered">
    <p>
      Start your receiver, then register the URL at which it takes POST requests. You get its signing secret
      once.
    </p>
    <p><a class="button accent" href=${hrefTo("/endpoints?new")}>Register an endpoint</a></p>
  <//>`;
}
