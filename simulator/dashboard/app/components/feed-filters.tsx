import type { Ref } from "preact";
import { useId, useState } from "preact/hooks";
import { filterQuery, type Filters as FilterValues, offersFor, PERIODS } from "../core/filters.ts";
import { endpointChoices, eventTypes, useLive } from "../core/live.ts";
import { hrefTo, navigate } from "../core/route.ts";
import { saveView, useViews } from "../core/views.ts";
import { Button, IconButton } from "./button.tsx";
import { Dialog, FormDialog } from "./dialog.tsx";
import { SearchField, Select, TextField } from "./field.tsx";

export type FilterProps = { filters: FilterValues; onChange: (filters: FilterValues) => void };
type BarProps = FilterProps & {
  searchRef: Ref<HTMLInputElement>;
  isPaused: boolean;
  onPause: () => void;
};

/** What is searched for, of which type, at which endpoint, when; and the views that were kept of that. */
export function Filters({ filters, onChange, searchRef, isPaused, onPause }: BarProps) {
  useLive();
  const offersId = useId();
  const [isOpen, setOpen] = useState(false);
  return (
    <div class={`filters ${isOpen ? "unfolded" : ""}`} role="search">
      <SearchField
        label="Search deliveries"
        placeholder="Search ids, payloads, order.total:>50…"
        inputRef={searchRef}
        list={offersId}
        value={filters.q}
        onInput={(q) => onChange({ ...filters, q })}
      >
        <kbd>/</kbd>
        <datalist id={offersId}>
          {offersFor(filters.q, eventTypes()).map((offer) => (
            <option key={offer} value={offer} />
          ))}
        </datalist>
      </SearchField>
      <IconButton
        icon="filter"
        size={16}
        kind="filters-toggle"
        label="More filters"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      />
      <FilterSelect
        label="Type"
        value={filters.type}
        options={eventTypes().map((type) => [type, type])}
        onChange={(type) => onChange({ ...filters, type })}
      />
      <FilterSelect
        label="Endpoint"
        value={filters.endpoint}
        options={endpointChoices()}
        onChange={(endpoint) => onChange({ ...filters, endpoint })}
      />
      <TimeSelect filters={filters} onChange={onChange} />
      <ViewSelect query={filterQuery(filters)} />
      <IconButton
        icon={isPaused ? "play" : "pause"}
        label={isPaused ? "Go on" : "Pause"}
        title={isPaused ? "Go on (p)" : "Pause (p)"}
        aria-pressed={isPaused}
        onClick={onPause}
      />
    </div>
  );
}

type FilterSelectProps = {
  label: string;
  value: string;
  options: readonly (readonly [value: string, words: string])[];
  onChange: (value: string) => void;
};

function FilterSelect({ label, value, options, onChange }: FilterSelectProps) {
  return (
    <Select
      aria-label={label}
      class={value === "" ? "" : "active"}
      value={value}
      options={[["", `${label}: all`], ...options]}
      onChange={onChange}
    />
  );
}

/** When deliveries were created or gave up; a time of the chart is chosen in the chart. */
function TimeSelect({ filters, onChange }: FilterProps) {
  const { since, until, gave_up_since: gaveUpSince } = filters;
  const options = PERIODS.map(([filter, ago, words]) => [`${filter} ${ago}`, words] as const);
  const value = gaveUpSince !== "" ? `gave_up_since ${gaveUpSince}` : since !== "" ? `since ${since}` : "";
  const isKnown = value === "" || (until === "" && options.some(([known]) => known === value));
  return (
    <FilterSelect
      label="Time"
      value={value}
      options={isKnown ? options : [...options, [value, "a time of your own"]]}
      onChange={(next) => {
        const [filter = "since", ago = ""] = next.split(" ");
        onChange({ ...filters, since: "", until: "", gave_up_since: "", [filter]: ago });
      }}
    />
  );
}

const SAVE = " save";
const FORGET = " forget";

/** Filters that were kept under a name: one goes there, keeps these, or forgets one. */
function ViewSelect({ query }: { query: string }) {
  const views = useViews();
  const [asked, ask] = useState<typeof SAVE | typeof FORGET>();
  const [name, setName] = useState("");
  const current = views.find(([, known]) => known === query)?.[0] ?? "";
  const options: [string, string][] = [
    ["", "Views"],
    ...views.map(([known]): [string, string] => [known, known]),
  ];
  if (current === "" && query !== "") options.push([SAVE, "Save this view…"]);
  if (views.length > 0) options.push([FORGET, "Forget a view…"]);
  const close = () => ask(undefined);
  function choose(choice: string) {
    if (choice === SAVE || choice === FORGET) return ask(choice);
    navigate(`/${views.find(([known]) => known === choice)?.[1] ?? ""}`);
  }
  async function save() {
    saveView(name, query);
    close();
  }
  return (
    <>
      <Select
        aria-label="Views"
        class={current === "" ? "" : "active"}
        value={current}
        options={options}
        onChange={choose}
      />
      {asked === SAVE && (
        <FormDialog
          title="Save this view"
          action="Save"
          disabled={name.trim() === ""}
          onSubmit={save}
          onClose={close}
        >
          <TextField
            label="Name"
            value={name}
            onInput={setName}
            required
            autofocus
            hint="Kept in this browser; its address can be shared."
          />
        </FormDialog>
      )}
      {asked === FORGET && (
        <Dialog title="Views" onClose={close}>
          <ul class="stack near">
            {views.map(([known, own]) => (
              <li key={known} class="flex between">
                <a class="foreign" href={hrefTo(`/${own}`)}>
                  {known}
                </a>
                <Button
                  kind="small"
                  onClick={() => saveView(known)}
                  aria-label={`Forget ${known}`}
                  words="Forget"
                />
              </li>
            ))}
          </ul>
        </Dialog>
      )}
    </>
  );
}
