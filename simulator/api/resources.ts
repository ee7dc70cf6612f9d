import type { Organization } from "../../shared/events.ts";
import type { Readings } from "../domain/readings.ts";
import type { World, WorldPage } from "../domain/world/world.ts";
import { type Answer, ok, refusal } from "./answer.ts";
import { createPageCache } from "./page-cache.ts";
import { type PageQuery, type Parsed, parseCallsQuery, parseVoicemailsQuery } from "./queries.ts";

/** A request with a valid key. */
export type ApiRequest = { organization: Organization; query: URLSearchParams; id: string };

/** The endpoints by path (SPEC §4), and the two that exist only under the reading `single_item_paths=present`. */
export function createResources(options: { world: World; readings: () => Readings }) {
  const { world, readings } = options;
  const pages = createPageCache({ version: () => [...world.version(), readings()] });

  function page<Query extends PageQuery>(
    kind: "call" | "voicemail",
    parsed: Parsed<Query>,
    read: (query: Query) => WorldPage,
  ): Answer {
    if (!parsed.ok) return refusal("invalid_request", parsed.message);
    const result = read(parsed.value);
    if (result.ok) return ok({ object: "list", data: result.data, has_more: result.hasMore });
    return refusal(
      result.reason,
      `No ${kind} of your organization has the id ${JSON.stringify(parsed.value.startingAfter)}: ` +
        "set starting_after to the id of the last item of the previous page.",
    );
  }

  const single = (kind: "Call" | "Voicemail", find: World["findCall"]) => (request: ApiRequest) => {
    const found = find(request.id);
    // Another organization's item looks the same as one that does not exist.
    return found?.orgId === request.organization.id
      ? ok(found.object)
      : refusal("not_found", `${kind} ${request.id} was not found.`);
  };

  return {
    documented: {
      "/me": ({ organization }: ApiRequest) => ok(organization),
      "/agents": ({ organization }: ApiRequest) =>
        ok({
          object: "list",
          data: world.agents(organization.id),
          has_more: readings().agents_has_more === "present" ? false : undefined,
        }),
      "/calls": ({ organization, query }: ApiRequest) =>
        pages.answer(`calls ${organization.id} ${query.toString()}`, () =>
          page("call", parseCallsQuery({ query, readings: readings() }), (parsed) =>
            world.calls(organization.id, parsed),
          ),
        ),
      "/voicemails": ({ organization, query }: ApiRequest) =>
        pages.answer(`voicemails ${organization.id} ${query.toString()}`, () =>
          page("voicemail", parseVoicemailsQuery({ query, readings: readings() }), (parsed) =>
            world.voicemails(organization.id, parsed),
          ),
        ),
    },
    single: {
      "/calls/:id": single("Call", world.findCall),
      "/voicemails/:id": single("Voicemail", world.findVoicemail),
    },
  };
}
