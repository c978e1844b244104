/** Runs before anything is painted: the language and the colours of the last visit, so that nothing flashes. */

try {
  const workspace = localStorage.getItem("thinkaloud-workspace");
  const kept = (key: string): Record<string, string> => JSON.parse(localStorage.getItem(key) ?? "{}");
  const { language } = kept(workspace ? `thinkaloud:${workspace}` : "thinkaloud");
  const { theme } = kept("thinkaloud");
  if (language) document.documentElement.lang = language;
  if (theme) document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the page looks as the system does.
}
