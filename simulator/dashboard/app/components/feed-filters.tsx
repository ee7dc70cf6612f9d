import type { Ref } from "preact";
import { useId, useState } from "preact/hooks";
import { filterQuery, type Filters as FilterValues, offersFor, PERIODS } from "../core/filters.ts";
import { endpointChoices, eventTypes, useLive } from "../core/live.ts";
import { navigate } from "../core/route.ts";
import { saveView, useViews } from "../core/views.ts";
import { IconButton } from "./button.tsx";
import { FormDialog } from "./dialog.tsx";
import { SearchField, Select, TextField } from "./field.tsx";

export type FilterProps = { filters: FilterValues; onChange: (filters: FilterValues) => void };
type BarProps = FilterProps & {
  searchRef: Ref<HTMLInputElement>;
  isPaused: boolean;
  onPause: () => void;
};

/** The search, type, endpoint and period of the list; and the saved views. */
export function Filters({ filters, onChange, searchRef, isPaused, onPause }: BarProps) {
  useLive();
  const offersId = useId();
  const [isOpen, setOpen] = useState(false);
  const { endpoint } = filters;
  const places = endpointChoices();
  const types = eventTypes().map((type) => [type, type] as const);
  const set = (name: keyof FilterValues) => (value: string) => onChange({ ...filters, [name]: value });
  return (
    <div class={`filters ${isOpen ? "unfolded" : ""}`} role="search">
      <SearchField
        label="Search deliveries"
        placeholder="Search, or order.total:>50"
        inputRef={searchRef}
        list={offersId}
        value={filters.q}
        onInput={set("q")}
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
      <FilterSelect label="Type" value={filters.type} options={types} onChange={set("type")} />
      <FilterSelect label="Endpoint" value={endpoint} options={places} onChange={set("endpoint")} />
      <TimeSelect filters={filters} onChange={onChange} />
      <ViewSelect query={filterQuery(filters)} />
      <IconButton
        icon={isPaused ? "play" : "pause"}
        label={isPaused ? "Resume" : "Pause"}
        title={isPaused ? "Resume (p)" : "Pause (p)"}
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
        const [filter, ago = ""] = next.split(" ");
        onChange({ ...filters, since: "", until: "", gave_up_since: "", [filter || "since"]: ago });
      }}
    />
  );
}

const SAVE = " save";
const FORGET = " forget";

/** Filters that were kept under a name: goes there, keeps these filters, or forgets the view that is shown. */
function ViewSelect({ query }: { query: string }) {
  const views = useViews();
  const [isSaving, setSaving] = useState(false);
  const [name, setName] = useState("");
  const current = views.find(([, known]) => known === query)?.[0] ?? "";
  const options = [["", "Views"], ...views.map(([known]) => [known, known] as const)] as const;
  const more =
    current === "" ? ([SAVE, "Save this view…"] as const) : ([FORGET, "Forget this view"] as const);
  function choose(choice: string) {
    if (choice === SAVE) setSaving(true);
    else if (choice === FORGET) saveView(current);
    else navigate(`/${views.find(([known]) => known === choice)?.[1] ?? ""}`);
  }
  async function save() {
    saveView(name, query);
    setSaving(false);
  }
  return (
    <>
      <Select
        aria-label="Views"
        class={current === "" ? "" : "active"}
        value={current}
        options={query === "" ? options : [...options, more]}
        onChange={choose}
      />
      {isSaving && (
        <FormDialog
          title="Save this view"
          action="Save"
          disabled={name.trim() === ""}
          onSubmit={save}
          onClose={() => setSaving(false)}
        >
          <TextField
            label="Name"
            value={name}
            onInput={setName}
            required
            hint="Kept in this browser; its address can be shared."
          />
        </FormDialog>
      )}
    </>
  );
}
