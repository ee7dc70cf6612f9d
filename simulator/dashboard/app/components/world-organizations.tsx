import { fullTimeOf } from "../core/format.ts";
import { hrefTo } from "../core/route.ts";
import type { Organization } from "../core/types.ts";
import { Button } from "./button.tsx";
import { Chip } from "./chips.tsx";
import { Copyable } from "./copy-button.tsx";
import { Fact } from "./page.tsx";

/** Every organization with its API key: these keys are for this machine only and no secret. */
export function OrganizationList({ organizations }: { organizations: Organization[] }) {
  return (
    <div class="cards two stack">
      {organizations.map((organization) => (
        <article class="card box stack" key={organization.id}>
          <header class="flex wraps between">
            <h2 class="foreign">{organization.name}</h2>
            <Chip>{organization.industry.replaceAll("_", " ")}</Chip>
          </header>
          <dl class="facts flex wraps">
            <Fact name="API key" wide>
              <Copyable text={organization.api_key} label="Copy the API key" />
            </Fact>
            <Fact name="Id" wide>
              <Copyable text={organization.id} label="Copy the organization id" />
            </Fact>
            <Fact name="Scopes">{organization.api_scopes.join(", ")}</Fact>
            <Fact name="Subscription">
              {organization.subscription_tier}, {organization.subscription_status}
            </Fact>
            <Fact name="Since">{fullTimeOf(organization.created_at)}</Fact>
          </dl>
          <footer class="flex wraps">
            <Button href={hrefTo(`/console?org=${organization.id}`)}>Try the API with this key</Button>
          </footer>
        </article>
      ))}
    </div>
  );
}
