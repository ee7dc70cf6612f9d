import { fullTimeOf } from "../core/format.ts";
import { useApiPages } from "../core/pages.ts";
import type { Organization } from "../core/types.ts";
import { Chip } from "./chips.tsx";
import { Fact } from "./page.tsx";
import { ObjectDetails, PagedList } from "./world-parts.tsx";

/** The agents of an organization. */
export function AgentList({ organization }: { organization: Organization }) {
  const pages = useApiPages("/api/v1/agents", {}, organization.api_key);
  return (
    <PagedList pages={pages} nothing="No agent works here.">
      <div class="cards two stack">
        {pages.items.map((agent) => (
          <article class="card box stack" key={agent.id}>
            <header class="flex wraps between">
              <h2 class="foreign">{agent.name}</h2>
              <Chip>{agent.status}</Chip>
            </header>
            <dl class="facts flex wraps">
              <Fact name="Phone">{agent.phone_number}</Fact>
              <Fact name="Voice">{agent.voice_id}</Fact>
              <Fact name="Persona">{agent.persona_id}</Fact>
              <Fact name="Greeting">{agent.greeting_style}</Fact>
              <Fact name="Since">{fullTimeOf(agent.created_at)}</Fact>
            </dl>
            <ObjectDetails object={agent} />
          </article>
        ))}
      </div>
    </PagedList>
  );
}
