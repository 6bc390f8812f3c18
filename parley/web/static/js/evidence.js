// Files that go with a question: chosen or dropped, whole folders too; each with who gets it.

import { button, el, option, put } from "./dom.js";
import { named } from "./words.js";

const MOST = 2_000; // files, as the gateway takes them

/** The place for evidence. `changed`: called when there are other files. */
export class Evidence {
  constructor(changed) {
    this.changed = changed;
    this.files = []; // { file, name, holder, select }
    this.offer = null;
    this.size = 0;
    this.list = el("ul", { class: "plain" });
    this.dealt = el("p", { class: "hint" });
    this.node = el("fieldset", {}, el("legend", { text: "Evidence" }), this.drop(), this.dealt, this.list);
  }

  drop() {
    this.input = this.chooser("Files of evidence", {});
    const folder = this.chooser("Folder of evidence", { webkitdirectory: true });
    const drop = el(
      "div",
      { class: "drop" },
      button("Choose files…", () => this.input.click()),
      button("Choose a folder…", () => folder.click()),
      el("span", { class: "hint", text: "or drop files and folders here: the documents that answers rest on." }),
      this.input,
      folder,
    );
    drop.addEventListener("dragover", (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", async (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      this.add(await dropped(event.dataTransfer));
    });
    return drop;
  }

  /** An input that nobody sees: a button opens it. A folder stands for what is in it. */
  chooser(label, more) {
    const below = (file) => file.webkitRelativePath.split("/").slice(1).join("/");
    const change = () => {
      this.add([...input.files].map((file) => [file, below(file) || file.name]));
      input.value = "";
    };
    const options = { type: "file", multiple: true, name: "evidence", id: label.split(" ")[0], class: "unseen" };
    const input = el("input", { ...options, tabindex: -1, "aria-label": label, on: { change }, ...more });
    return input;
  }

  /** Add files with their names. The same file once more takes its own place; another of its name gets a number. */
  async add(files) {
    for (const [file, name] of files.slice(0, MOST)) {
      const alike = this.files.filter((one) => one.wanted === name && one.file.size === file.size);
      const equal = await Promise.all(alike.map((one) => sameBytes(one.file, file)));
      const same = alike[equal.indexOf(true)];
      if (same) same.file = file;
      else this.files.push({ file, wanted: name, name: this.free(name), holder: "" });
    }
    this.show();
    this.changed();
  }

  free(name) {
    const taken = new Set(this.files.map((one) => one.name));
    const dot = name.lastIndexOf(".");
    const [stem, ending] = dot > name.lastIndexOf("/") + 1 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
    let free = name;
    for (let n = 2; taken.has(free); n++) free = `${stem} (${n})${ending}`;
    return free;
  }

  /** Another protocol, or another number of seats: who may hold a document. `size`: seats of the role that has several. */
  seats(offer, size) {
    this.offer = offer;
    this.size = size;
    this.show();
  }

  /** Who may get a document alone: roles, and seats of a role that has several. */
  holders() {
    const readers = this.offer?.readers || [];
    const many = this.offer?.panel_size ? readers.filter((role) => role === this.offer.roles[0]) : [];
    const found = readers.map((role) => [role, many.includes(role) ? `every ${role}` : role]);
    for (const role of many)
      for (let n = 1; n <= Math.min(this.size, 64); n++) found.push([`${role}_${n}`, named(`${role}_${n}`)]);
    return found.length > 1 ? found : [];
  }

  show() {
    this.dealt.textContent = this.offer?.dealt || "";
    const holders = this.holders();
    put(
      this.list,
      this.files.map((one) => this.row(one, holders)),
    );
  }

  row(one, holders) {
    if (!holders.some(([value]) => value === one.holder)) one.holder = "";
    const own = one.name.includes("/"); // a folder of its own says who holds it
    const select =
      holders.length > 0 &&
      !own &&
      el(
        "select",
        { "aria-label": `Who gets ${one.name}`, on: { change: () => this.give(one, select.value) } },
        option("", "shared out", one.holder),
        holders.map(([value, text]) => option(value, text, one.holder)),
      );
    return el(
      "li",
      { class: "row" },
      el("span", { dir: "auto", text: one.name }),
      el("span", { class: "hint", text: `${Math.max(1, Math.round(one.file.size / 1000)).toLocaleString("en")} kB` }),
      select,
      button("Remove", () => this.remove(one), { "aria-label": `Remove ${one.name}` }),
    );
  }

  give(one, holder) {
    one.holder = holder;
    this.changed();
  }

  remove(one) {
    this.files = this.files.filter((other) => other !== one);
    this.show();
    this.changed();
  }

  get bytes() {
    return this.files.reduce((sum, { file }) => sum + file.size, 0);
  }

  /** The files with their names as they are sent: a folder called like a seat or a role says who gets them. */
  sent() {
    return this.files.map(({ file, name, holder }) => [file, holder ? `${holder}/${name}` : name]);
  }
}

/** Whether two files hold the same bytes. */
async function sameBytes(one, other) {
  const [a, b] = await Promise.all([one, other].map(async (file) => new Uint8Array(await file.arrayBuffer())));
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** What was dropped: files, and what is in folders, by their names below the folder. */
async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return [...transfer.files].map((file) => [file, file.name]);
  const found = [];
  const alone = entries.length === 1; // one folder stands for what is in it; of several the names may say who holds what
  for (const entry of entries) await walk(entry, alone ? "" : `${entry.name}/`, found);
  return found;
}

/** Files below an entry. `path`: what stands before the names of those that lie in it. */
async function walk(entry, path, found, above = "") {
  if (found.length >= MOST || entry.name.startsWith(".")) return;
  if (entry.isFile) {
    const file = await new Promise((done, failed) => entry.file(done, failed));
    found.push([file, `${above}${file.name}`]);
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) return;
    for (const one of some) await walk(one, `${path}${one.name}/`, found, path);
  }
}
