import type { FunctionComponent } from "preact";
import { useState } from "preact/hooks";
import { organizationChoices, useLive } from "../core/live.ts";
import { hrefTo } from "../core/route.ts";
import type { Organization } from "../core/types.ts";
import { Select } from "../components/field.tsx";
import { Loading, PageHead } from "../components/page.tsx";
import { CallList } from "../components/world-calls.tsx";
import { AgentList, OrganizationList, VoicemailList } from "../components/world-cards.tsx";

type ListProps = { organization: Organization; organizations: Organization[]; query: URLSearchParams };

const SECTIONS: [name: string, words: string, List: FunctionComponent<ListProps>][] = [
  ["calls", "Calls", CallList],
  ["voicemails", "Voicemails", VoicemailList],
  ["agents", "Agents", AgentList],
  ["organizations", "Organizations", OrganizationList],
];

type WorldPageProps = { section?: string | undefined; query: URLSearchParams };

/** What the REST API tells of each organization, readable. */
export function WorldPage({ section = "calls", query }: WorldPageProps) {
  const { organizations } = useLive();
  const [orgId, setOrgId] = useState(query.get("org"));
  const organization = organizations?.find((known) => known.id === orgId) ?? organizations?.[0];
  const List = SECTIONS.find(([name]) => name === section)?.[2] ?? CallList;
  return (
    <>
      <PageHead
        title="World"
        lead="The made-up businesses behind the REST API: what a webhook carries is here too."
      >
        {organizations && organization && section !== "organizations" && (
          <label class="inline-field flex muted">
            <span>Organization</span>{" "}
            <Select value={organization.id} options={organizationChoices()} onChange={setOrgId} />
          </label>
        )}
      </PageHead>
      <nav class="tabs" aria-label="Kinds of things">
        {SECTIONS.map(([name, words]) => (
          <a
            key={name}
            href={hrefTo(`/world/${name}${orgId ? `?org=${encodeURIComponent(orgId)}` : ""}`)}
            aria-current={name === section ? "page" : undefined}
          >
            {words}
          </a>
        ))}
      </nav>
      {organization === undefined || organizations === undefined ? (
        <Loading />
      ) : (
        <List
          key={`${section} ${organization.id}`}
          organization={organization}
          organizations={organizations}
          query={query}
        />
      )}
    </>
  );
}
