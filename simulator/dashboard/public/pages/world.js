import { useState } from "preact/hooks";
import { Loading } from "../components/empty.js";
import { PageHead } from "../components/page.js";
import { AgentList } from "../components/world-agents.js";
import { CallList } from "../components/world-calls.js";
import { OrganizationList } from "../components/world-organizations.js";
import { VoicemailList } from "../components/world-voicemails.js";
import { html } from "../core/html.js";
import { useLive } from "../core/live.js";
import { hrefTo } from "../core/route.js";

const SECTIONS = [
  ["calls", "Calls", CallList],
  ["voicemails", "Voicemails", VoicemailList],
  ["agents", "Agents", AgentList],
  ["organizations", "Organizations", OrganizationList],
];

/** What the REST API tells of each organization, readable. */
export function WorldPage({ section = "calls", query }) {
  const { organizations } = useLive();
  const [orgId, setOrgId] = useState(query.get("org"));
  const organization = organizations?.find((known) => known.id === orgId) ?? organizations?.[0];
  const [, , List] = SECTIONS.find(([name]) => name === section);
  return html`<${PageHead}
      title="World"
      lead="The made-up businesses behind the REST API: what a webhook carries is here too."
    >
      ${
        organizations &&
        section !== "organizations" &&
        html`<label class="inline-field"
          ><span>Organization</span>
          <select value=${organization.id} onChange=${(event) => setOrgId(event.currentTarget.value)}>
            ${organizations.map(({ id, name }) => html`<option key=${id} value=${id} selected=${id === organization.id}>${name}</option>`)}
          </select></label
        >`
      }
    <//>
    <nav class="tabs" aria-label="Kinds of things">
      ${SECTIONS.map(
        ([name, words]) =>
          html`<a
            key=${name}
            href=${hrefTo(`/world/${name}${orgId ? `?org=${encodeURIComponent(orgId)}` : ""}`)}
            aria-current=${name === section ? "page" : undefined}
            >${words}</a
          >`,
      )}
    </nav>
    ${organization === undefined ? html`<${Loading} />` : html`<${List} key=${`${section} ${organization.id}`} organization=${organization} organizations=${organizations} query=${query} />`}`;
}
