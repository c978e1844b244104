/** The keys of a keyboard event as they are stored: Alt+KeyE. */
export function keysOf({ code, altKey, ctrlKey, metaKey, shiftKey }: KeyboardEvent): string {
  return [ctrlKey && "Ctrl", altKey && "Alt", shiftKey && "Shift", metaKey && "Meta", code].filter(Boolean).join("+");
}
