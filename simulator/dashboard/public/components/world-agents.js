import { fullTimeOf } from "../core/format.js";
import { html } from "../core/html.js";
import { useApiPages } from "../core/pages.js";
import { Chip } from "./chips.js";
import { ObjectDetails, PagedList } from "./world-parts.js";

/** The agents of an organization. */
export function AgentList({ organization }) {
  const pages = useApiPages("/api/v1/agents", {}, organization.api_key);
  return html`<${PagedList} pages=${pages} nothing="No agent works here.">
    <div class="cards two">
      ${pages.items.map(
        (agent) =>
          html`<article class="card" key=${agent.id}>
            <header>
              <h2 class="foreign">${agent.name}</h2>
              <${Chip}>${agent.status}<//>
            </header>
            <dl class="facts">
              <div>
                <dt>Phone</dt>
                <dd class="foreign">${agent.phone_number}</dd>
              </div>
              <div>
                <dt>Voice</dt>
                <dd class="foreign">${agent.voice_id}</dd>
              </div>
              <div>
                <dt>Persona</dt>
                <dd class="foreign">${agent.persona_id}</dd>
              </div>
              <div>
                <dt>Greeting</dt>
                <dd class="foreign">${agent.greeting_style}</dd>
              </div>
              <div>
                <dt>Since</dt>
                <dd>${fullTimeOf(agent.created_at)}</dd>
              </div>
            </dl>
            <${ObjectDetails} object=${agent} />
          </article>`,
      )}
    </div>
  <//>`;
}
