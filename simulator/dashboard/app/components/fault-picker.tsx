import { useGot } from "../core/load.ts";
import { CheckBox, Select } from "./field.tsx";
import { Marked } from "./page.tsx";

const PLACES = [
  ["fan-out", "When it is sent"],
  ["body", "In the body"],
  ["signature", "In the signature"],
  ["wire", "On the wire"],
];
const COUNTS: [count: string, words: string][] = [
  ["", "every attempt"],
  ["1", "the 1st attempt"],
  ...["2", "3", "4", "5"].map((count): [string, string] => [count, `the first ${count}`]),
];

type FaultPickerProps = { title?: string; chosen: readonly string[]; onChange: (faults: string[]) => void };

/** What the simulator should do wrong on purpose, folded away at first; `chosen` are texts such as `drop-answer:2`. */
export function FaultPicker({ title = "Faults", chosen, onChange }: FaultPickerProps) {
  const faults = useGot("/faults").value?.data ?? [];
  const counts = new Map(
    chosen.map((text) => text.split(":")).map(([name = "", count = ""]): [string, string] => [name, count]),
  );

  function set(name: string, count: string | undefined) {
    const next = new Map(counts);
    if (count === undefined) next.delete(name);
    else next.set(name, count);
    onChange([...next].map(([fault, attempts]) => (attempts === "" ? fault : `${fault}:${attempts}`)));
  }

  return (
    <details open={chosen.length > 0}>
      <summary>
        {title}
        {chosen.length > 0 ? ` (${chosen.length})` : ""}
      </summary>
      <div class="stack">
        {PLACES.map(([place, words]) => (
          <fieldset key={place}>
            <legend>{words}</legend>
            {faults
              .filter((fault) => fault.at === place)
              .map(({ name, title: meaning }) => (
                <div class="fault flex" key={name}>
                  <CheckBox
                    checked={counts.has(name)}
                    onChange={() => set(name, counts.has(name) ? undefined : "")}
                  >
                    <span>
                      <code>{name}</code>
                      <span class="muted small">
                        <Marked text={meaning} />
                      </span>
                    </span>
                  </CheckBox>
                  {counts.has(name) && (
                    <Select
                      aria-label={`Attempts with ${name}`}
                      value={counts.get(name) ?? ""}
                      options={COUNTS}
                      onChange={(count) => set(name, count)}
                    />
                  )}
                </div>
              ))}
          </fieldset>
        ))}
      </div>
    </details>
  );
}
