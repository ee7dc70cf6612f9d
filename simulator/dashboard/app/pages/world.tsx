import { useEffect } from "preact/hooks";
import { organizationChoices, useLive } from "../core/live.ts";
import { useApiPages } from "../core/load.ts";
import { hrefTo, navigate } from "../core/route.ts";
import type { Agent, Call, Organization, Voicemail } from "../core/types.ts";
import { countOf, fullTimeOf, secondsOf } from "../core/words.ts";
import { Button, Icon, Segments } from "../components/button.tsx";
import { BodyView } from "../components/code-view.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Select } from "../components/field.tsx";
import { Empty, Loading, PageHead, Problem } from "../components/page.tsx";

const SECTIONS = [
  ["calls", "Calls"],
  ["voicemails", "Voicemails"],
  ["agents", "Agents"],
] as const;
type Section = (typeof SECTIONS)[number][0];
type Item = Call | Voicemail | Agent;

/** The data of the REST API of each organization. */
export function WorldPage({ section, query }: { section?: string | undefined; query: URLSearchParams }) {
  const { organizations } = useLive();
  const asked = query.get("org");
  const organization = organizations?.find(({ id }) => id === asked) ?? organizations?.[0];
  if (organization === undefined) return <Loading />;
  const shown = SECTIONS.find(([name]) => name === section)?.[0] ?? "calls";
  const { id: orgId } = organization;
  const openedId = query.get("open");
  const go = (name: string, org: string) => navigate(`/world/${name}?org=${encodeURIComponent(org)}`);
  return (
    <>
      <PageHead
        title="World"
        lead={`The simulated businesses behind the REST API. The API key of this one is ${organization.api_key}.`}
      >
        <label class="inline-field flex muted">
          <span>Organization</span>{" "}
          <Select value={orgId} options={organizationChoices()} onChange={(next) => go(shown, next)} />
        </label>
      </PageHead>
      <Segments label="Kinds" value={shown} options={SECTIONS} onChange={(name) => go(name, orgId)} />
      <WorldList key={shown + orgId} section={shown} {...{ organization, openedId }} />
    </>
  );
}

const MOST_SEARCHED = 2_000;

type ListProps = { section: Section; organization: Organization; openedId: string | null };

/** The items of one kind that an organization has, newest first; the address names the one that is open. */
function WorldList({ section, organization, openedId }: ListProps) {
  const { id: org, api_key: key } = organization;
  const { items, hasMore, isLoaded, error, loadMore } = useApiPages(`/api/v1/${section}`, key);
  const opened = items.find(({ id }) => id === openedId);
  const open = (id?: string) => {
    const tail = new URLSearchParams({ org, ...(id !== undefined && { open: id }) });
    navigate(`/world/${section}?${tail.toString()}`, { replace: id === undefined });
  };
  // The API cannot return a single item, so a linked one is searched page by page.
  useEffect(() => {
    const isMissing = openedId !== null && opened === undefined;
    if (isMissing && hasMore && items.length < MOST_SEARCHED) void loadMore();
  }, [openedId, opened, items.length]);

  if (error) return <Problem error={error} />;
  if (!isLoaded) return <Loading />;
  if (items.length === 0)
    return (
      <Empty icon="world" title="Empty">
        <p>
          <a href={hrefTo("/trigger")}>Trigger an event</a>: the world changes with it.
        </p>
      </Empty>
    );
  return (
    <>
      <ul class="rows box">
        {items.map((item) => (
          <WorldRow key={item.id} item={item} onOpen={() => open(item.id)} />
        ))}
      </ul>
      <p class="feed-end muted">
        {hasMore ? (
          <Button onClick={loadMore} words="Load the next 50" />
        ) : (
          `${countOf(items.length, "item")} in all.`
        )}
      </p>
      {opened && <OpenedItem item={opened} organization={organization} onClose={() => open()} />}
    </>
  );
}

/** Its name, its text, and its details. */
function wordsOf(item: Item): [name: string, text: string, side: string] {
  if (item.object === "call")
    return [item.phone, item.transcript, `${item.outcome} · ${secondsOf(item.duration_sec)}`];
  if (item.object === "voicemail")
    return [item.customer_name, item.message_text, item.reviewed ? "reviewed" : "unread"];
  return [item.name, `Persona ${item.persona_id}, ${item.phone_number}`, item.status];
}

function WorldRow({ item, onOpen }: { item: Item; onOpen: () => void }) {
  const [name, text, side] = wordsOf(item);
  return (
    <li>
      <button class="row edge" onClick={onOpen}>
        <b class="foreign">{name}</b>{" "}
        <span class="muted one-line foreign">{text.replaceAll("\n", " · ")}</span>{" "}
        <span class="row-side muted foreign">{side}</span>{" "}
        <time class="muted nowrap">{fullTimeOf(item.created_at)}</time>
      </button>
    </li>
  );
}

type OpenedProps = { item: Item; organization: Organization; onClose: () => void };

function OpenedItem({ item, organization, onClose }: OpenedProps) {
  const [name] = wordsOf(item);
  const kind = item.object === "call" ? "Call from " : item.object === "voicemail" ? "Voicemail of " : "";
  return (
    <Dialog title={kind + name} onClose={onClose}>
      {item.object === "call" && <Recording url={item.recording_url} />}
      {item.object === "call" && <p class="transcript foreign">{item.transcript}</p>}
      {item.object === "voicemail" && (
        <p>
          <a href={hrefTo(`/world/calls?org=${organization.id}&open=${encodeURIComponent(item.call_id)}`)}>
            Its call
          </a>
        </p>
      )}
      <BodyView text={JSON.stringify(item)} label="From the REST API" />
    </Dialog>
  );
}

const OWN_HOSTS = ["localhost", "127.0.0.1", "[::1]"];

/**
 * A recording: played if this simulator serves it, linked if it is a web address, and text otherwise, since any other
 * scheme could run as a script.
 */
function Recording({ url: text }: { url: unknown }) {
  const url = typeof text === "string" ? URL.parse(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    return <p class="muted foreign">Not a web address: {String(text)}</p>;
  const isHere = [location.hostname, ...OWN_HOSTS].includes(url.hostname) && url.port === location.port;
  if (isHere && /^\/recordings\/[\w-]+\.mp3$/.test(url.pathname))
    return <audio controls preload="none" src={url.pathname} aria-label="Recording of the call" />;
  return (
    <a href={url.href} target="_blank" rel="noreferrer noopener" class="foreign">
      <Icon name="out" size={15} /> {url.href}
    </a>
  );
}
