import type { Organization } from "../core/types.ts";
import { fullTimeOf } from "../core/format.ts";
import { hrefTo } from "../core/route.ts";
import { Chip } from "./chips.tsx";
import { Copyable } from "./copy-button.tsx";

/** Every organization with its API key: these keys are for this machine only and no secret. */
export function OrganizationList({ organizations }: { organizations: Organization[] }) {
  return (
    <div class="cards two">
      {organizations.map((organization) => (
        <article class="card" key={organization.id}>
          <header>
            <h2 class="foreign">{organization.name}</h2>
            <Chip>{organization.industry.replaceAll("_", " ")}</Chip>
          </header>
          <dl class="facts">
            <div class="wide">
              <dt>API key</dt>
              <dd>
                <Copyable text={organization.api_key} label="Copy the API key" />
              </dd>
            </div>
            <div class="wide">
              <dt>Id</dt>
              <dd>
                <Copyable text={organization.id} label="Copy the organization id" />
              </dd>
            </div>
            <div>
              <dt>Scopes</dt>
              <dd>{organization.api_scopes.join(", ")}</dd>
            </div>
            <div>
              <dt>Subscription</dt>
              <dd>
                {organization.subscription_tier}, {organization.subscription_status}
              </dd>
            </div>
            <div>
              <dt>Since</dt>
              <dd>{fullTimeOf(organization.created_at)}</dd>
            </div>
          </dl>
          <footer>
            <a class="button" href={hrefTo(`/console?org=${organization.id}`)}>
              Try the API with this key
            </a>
          </footer>
        </article>
      ))}
    </div>
  );
}
