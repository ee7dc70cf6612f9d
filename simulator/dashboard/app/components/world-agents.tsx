import type { Organization } from "../core/types.ts";
import { fullTimeOf } from "../core/format.ts";
import { useApiPages } from "../core/pages.ts";
import { Chip } from "./chips.tsx";
import { ObjectDetails, PagedList } from "./world-parts.tsx";

/** The agents of an organization. */
export function AgentList({ organization }: { organization: Organization }) {
  const pages = useApiPages("/api/v1/agents", {}, organization.api_key);
  return (
    <PagedList pages={pages} nothing="No agent works here.">
      <div class="cards two">
        {pages.items.map((agent) => (
          <article class="card" key={agent.id}>
            <header>
              <h2 class="foreign">{agent.name}</h2>
              <Chip>{agent.status}</Chip>
            </header>
            <dl class="facts">
              <div>
                <dt>Phone</dt>
                <dd class="foreign">{agent.phone_number}</dd>
              </div>
              <div>
                <dt>Voice</dt>
                <dd class="foreign">{agent.voice_id}</dd>
              </div>
              <div>
                <dt>Persona</dt>
                <dd class="foreign">{agent.persona_id}</dd>
              </div>
              <div>
                <dt>Greeting</dt>
                <dd class="foreign">{agent.greeting_style}</dd>
              </div>
              <div>
                <dt>Since</dt>
                <dd>{fullTimeOf(agent.created_at)}</dd>
              </div>
            </dl>
            <ObjectDetails object={agent} />
          </article>
        ))}
      </div>
    </PagedList>
  );
}
