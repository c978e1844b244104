/**
 * A recorded turn as a gateway would send it: one entry after the other, each when its stamp says.
 *
 * In an app the entries come from the network, and `block.consume(response.body)` is all there is to it. The
 * words and the stamps of this recording are made up. `?speed=4` in the address plays it four times as fast.
 *
 * @param {string} recording Canonical entries, one line of JSON each.
 * @returns {AsyncGenerator<import("thinking-block").Entry, void>}
 */
export async function* replay(recording) {
  const speed = Number(new URLSearchParams(location.search).get("speed")) || 1;
  let now = 0;
  for (const line of recording.trim().split("\n")) {
    /** @type {{ seq: number, at_ms: number, event: import("thinking-block").Event }} */
    const entry = JSON.parse(line);
    await new Promise((resolve) => setTimeout(resolve, (entry.at_ms - now) / speed));
    now = entry.at_ms;
    yield entry;
  }
}
