import { useState } from "preact/hooks";
import { LANGUAGES, programFor } from "../core/snippets.ts";
import type { AttemptDetail } from "../core/types.ts";
import { Button } from "./button.tsx";
import { Code, Segments } from "./code-view.tsx";
import { Copyable, CopyButton } from "./copy-button.tsx";
import { Panel } from "./page.tsx";

const REMEMBERED = "snippet-language";

/** What can be done with an attempt: asked for as curl, changed and sent again. */
export type AttemptTools = { curl: () => Promise<string | undefined>; onEdit: () => void };

/** What helps to find out why an attempt failed: the same request once more, changed at will, and code that verifies it. */
export function DebugKit({ attempt, curl, onEdit }: AttemptTools & { attempt: AttemptDetail }) {
  return (
    <Panel className="debug-kit" title="Find out why">
      <div class="actions flex wraps">
        <Button icon="edit" title="Change it, and send it to this endpoint alone (e)" onClick={onEdit}>
          Edit and send again
        </Button>
        <CopyButton text={curl} label="Copy as curl, signed now" title="Good for 5 minutes (c)" />
      </div>
      <Snippet attempt={attempt} />
    </Panel>
  );
}

/** A program in the language of one's choice that verifies this very request. */
function Snippet({ attempt }: { attempt: AttemptDetail }) {
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState(() => localStorage.getItem(REMEMBERED) ?? LANGUAGES[0].name);
  const language = LANGUAGES.find((known) => known.name === name) ?? LANGUAGES[0];
  const program = isOpen ? programFor(language, attempt) : "";
  function choose(next: string) {
    localStorage.setItem(REMEMBERED, next);
    setName(next);
  }
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Verify its signature in your language</summary>
      <div class="snippet-bar flex wraps between">
        <Segments
          label="Language"
          value={language.name}
          options={LANGUAGES.map((known) => [known.name, known.name])}
          onChange={choose}
        />
        <CopyButton small text={program} label="Copy program" />
      </div>
      <p class="muted">
        Asks about this very request, as of when it was sent, and prints whether a correct receiver trusts it:
      </p>
      <p>
        <Copyable text={`SIGNING_SECRET='whsec_…' ${language.run}`} label="Copy how it is run" />
      </p>
      <Code text={program} label={`Verification in ${language.name}`} />
    </details>
  );
}
