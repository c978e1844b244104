/** What can be done with a conversation as a whole: in a menu beside its name, in the list or above it. */

import { request, requestJson, type Session } from "./api.js";
import { forgetQueue } from "./composer.js";
import { addDialogWords } from "./dialog-words.js";
import { arrows } from "./dialogs.js";
import { button, composing, h, type IconName } from "./dom.js";
import type { PageContext } from "./page-context.js";
import { tellOtherTabs } from "./storage.js";
import { notify, showError } from "./toasts.js";
import { t } from "./words.js";

addDialogWords();

/** How long a deleted conversation can be taken back. */
const UNDO_MS = 8_000;

/** Opens the menu of a conversation; the one above the open conversation has more in it. */
export function openSessionMenu(page: PageContext, session: Session, anchor: HTMLElement, open: boolean): void {
  const menu = h("div", {
    popover: "auto",
    id: "actions",
    class: "popover",
    role: "group",
    "aria-label": t("actions"),
  });
  const item = (name: string, look: IconName, work: () => unknown, more = ""): HTMLElement =>
    button(
      name,
      look,
      () => {
        menu.hidePopover();
        Promise.resolve(work()).catch(showError);
      },
      { class: `menu-item ${more}` },
    );
  const lazily = {
    export: () => import("./export-import.js").then(({ exportSession }) => exportSession(session)),
    share: () => import("./share.js").then(({ openShare }) => openShare(session)),
  };
  const narrow = [
    item(t("find"), "search", () => page.find(), "narrow"),
    item(t("expand"), "expand", () => page.chat.expandAll(), "narrow"),
    item(t("collapse"), "collapse", () => page.chat.exchanges.collapseAll(), "narrow"),
    item(t("toggle"), "eye", () => page.toggleThinking(), "narrow"),
  ];
  menu.append(
    ...(open ? narrow : []),
    item(t("rename"), "pencil", () => rename(page, session, open ? page.titleNode : nameOf(anchor))),
    item(t(session.pinned ? "unpin" : "pin"), "pin", () => pin(page, session)),
    item(t("share"), "share", lazily.share),
    item(t("export"), "download", lazily.export),
    ...(open ? [item(t("print"), "printer", () => print())] : []),
    item(t("delete"), "trash", () => remove(page, session), "bad"),
  );
  menu.addEventListener("toggle", (event) => (event as ToggleEvent).newState === "closed" && menu.remove());
  arrows(menu, anchor);
  document.querySelector("#actions")?.remove();
  (anchor.closest("main, aside") ?? document.body).append(menu);
  menu.showPopover();
  placeBeside(menu, anchor);
  menu.querySelector<HTMLElement>("button:not(.narrow)")?.focus();
}

/** Stands below the button, or above it where there is no room, and within the window. */
function placeBeside(menu: HTMLElement, anchor: HTMLElement): void {
  const { left, right, top, bottom } = anchor.getBoundingClientRect();
  const { offsetWidth, offsetHeight } = menu;
  const below = bottom + offsetHeight + 8 <= innerHeight;
  const start = right - offsetWidth >= 8 ? right - offsetWidth : left;
  menu.style.left = `${Math.max(8, Math.min(start, innerWidth - offsetWidth - 8))}px`;
  menu.style.top = `${below ? bottom + 4 : Math.max(8, top - offsetHeight - 4)}px`;
}

function nameOf(anchor: HTMLElement): HTMLElement {
  return anchor.closest("li")?.querySelector("a") ?? anchor;
}

/** Gives a conversation another title, in the place where the title stands. */
export async function rename(page: PageContext, session: Session, node: HTMLElement): Promise<void> {
  const title = await editTitle(node, page.sessions.name(session));
  if (title === null || title === session.title) return page.refresh();
  await change(page, session, { title });
}

function pin(page: PageContext, session: Session): Promise<void> {
  return change(page, session, { pinned: !session.pinned });
}

async function change(page: PageContext, { id }: Session, body: Partial<Session>): Promise<void> {
  page.keep(await requestJson<Session>(`/api/sessions/${id}`, { method: "PATCH", body }));
  page.sessionChanged(id);
}

/** Deletes a conversation after a while in which that can be undone; leaving the page ends that while. */
async function remove(page: PageContext, session: Session): Promise<void> {
  const { id } = session;
  const name = page.sessions.name(session);
  if (page.chat.session?.id === id) await page.chat.exchanges.running?.stop(); // what runs would be refused to go
  const hide = (hidden: boolean): void => {
    page.sessions.hide(id, hidden);
    tellOtherTabs({ session: id, hidden });
  };
  hide(true);
  const wasOpen = !page.chat.id || page.chat.id === id;
  if (wasOpen) page.go({});
  const left = (): void => {
    forgetQueue(id);
    void request(`/api/sessions/${id}`, { method: "DELETE", keepalive: true });
    tellOtherTabs({ session: id });
  };
  const settle = (deleted: boolean): void => {
    clearTimeout(timer);
    removeEventListener("pagehide", left);
    dismiss();
    if (deleted) return void finish().catch(showError);
    hide(false);
    if (wasOpen) page.go({ session: id });
  };
  const finish = async (): Promise<void> => {
    try {
      await request(`/api/sessions/${id}`, { method: "DELETE" });
    } catch (error) {
      hide(false);
      throw error;
    }
    forgetQueue(id);
    page.sessionChanged(id);
  };
  addEventListener("pagehide", left);
  const timer = setTimeout(() => settle(true), UNDO_MS);
  const dismiss = notify(t("deleted", { name }), { name: t("undo"), act: () => settle(false) }, UNDO_MS);
}

/** Puts a field in the place of the title; null where the person changed their mind. */
export function editTitle(title: HTMLElement, value: string): Promise<string | null> {
  return new Promise((resolve) => {
    const field = h("input", {
      class: "input title-field",
      maxlength: 200,
      "aria-label": t("title"),
      autocomplete: "off",
      spellcheck: "false",
    });
    const finish = (result: string | null): void => {
      field.onblur = null;
      field.replaceWith(title);
      resolve(result);
    };
    field.value = value;
    field.onblur = () => finish(field.value.trim() || null);
    field.onkeydown = (event) => {
      if (composing(event) || (event.key !== "Enter" && event.key !== "Escape")) return;
      event.preventDefault();
      event.stopPropagation();
      finish((event.key === "Enter" && field.value.trim()) || null);
    };
    title.replaceWith(field);
    field.focus();
    field.select();
  });
}
