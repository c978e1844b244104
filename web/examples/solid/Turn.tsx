import "thinking-block/solid";
import { createSignal, type JSX } from "solid-js";
import type { UIMessage } from "thinking-block";

/** A message of the AI SDK. Solid sets it as a property; an attribute has `attr:` before its name, an event `on:`. */
export function Turn(props: { message: UIMessage }): JSX.Element {
  const [said, setSaid] = createSignal("");
  return (
    <>
      <thinking-block
        message={props.message}
        attr:preset="toggle"
        on:thinking-toggle={({ detail }) => setSaid(detail.open ? "open" : "closed")}
      />
      <p role="status">{said()}</p>
    </>
  );
}
