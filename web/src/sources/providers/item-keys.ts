/** Finds the items of a response: not every server sends their index, and not every server keeps their id. */

/** Keys are numbers in order of arrival. */
export class ItemKeys {
  #byId = new Map<string, number>();
  #byIndex = new Map<number, number>();
  #finished = new Set<number>();
  #matched = new Set<number>();
  #ids: string[] = [];

  /** A new key for an item that starts now, or its key if it has started. */
  start(id: string, position: number | null): number {
    const key = this.#byId.get(id);
    return key === undefined || this.#finished.has(key) ? this.#add(id, position) : key;
  }

  /**
   * The key of an item: by its id, its index, or else the latest. Some servers name the id of an item only in its deltas: an
   * unknown id is that of the latest item, if that is not finished and has none.
   */
  find(id: string, position: number | null): number {
    const last = this.#ids.length - 1;
    let key = this.#byId.get(id);
    if (key === undefined && position !== null) {
      key = this.#byIndex.get(position);
      if (id && key !== undefined && this.#finished.has(key)) key = undefined; // another item with the same index
    } else if (key === undefined && last >= 0 && (!id || (!this.#ids[last] && !this.#finished.has(last)))) key = last;
    if (key === undefined) return this.#add(id, position);
    if (id) {
      this.#byId.set(id, key);
      this.#ids[key] ||= id;
    }
    return key;
  }

  finish(key: number): void {
    this.#finished.add(key);
  }

  /** The key of an item of the final response, by its position and id; each key matches once. */
  match(id: string, position: number): number {
    const atPosition = this.#byIndex.get(position);
    const byId = this.#byId.get(id);
    const sameId = atPosition !== undefined && this.#ids[atPosition] === id;
    const candidates = sameId ? [atPosition, byId] : [byId, atPosition];
    const key = candidates.find((one) => one !== undefined && !this.#matched.has(one)) ?? this.#add(id, position);
    this.#matched.add(key);
    return key;
  }

  #add(id: string, position: number | null): number {
    const key = this.#ids.push(id) - 1;
    this.#byIndex.set(position ?? key, key);
    if (id) this.#byId.set(id, key);
    return key;
  }
}
