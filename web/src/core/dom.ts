// SPDX-License-Identifier: Apache-2.0
// Makes elements. Children are elements or text; text is never read as HTML, so what a user has
// stored under a key can be shown as it is.

type Child = Node | string | null | false;
type Properties = {
  class?: string;
  on?: Record<string, (event: never) => void>;
  data?: Record<string, string>;
  [attribute: string]: unknown;
};

export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag, properties: Properties = {}, ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value as Record<string, EventListener>)) {
        element.addEventListener(event, listener);
      }
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.filter((child): child is Node | string => !!child));
  return element;
}

/** The element with this id, which index.html has. */
export function byId<Element extends HTMLElement = HTMLElement>(id: string): Element {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element #${id}`);
  return element as Element;
}

/** Sets the text only if it differs: unchanged text costs no layout and is not read out again. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function setHidden(element: HTMLElement, hidden: boolean): void {
  if (element.hidden !== hidden) element.hidden = hidden;
}

export function button(label: string, onClick: () => void, properties: Properties = {}) {
  return h("button", { type: "button", ...properties, on: { click: onClick } }, label);
}

/** Whether keys that are typed go into this element as text. */
export function takesText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !/^(button|checkbox|radio)$/.test(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

/** A table with a caption for screen readers, and rows that can be replaced. */
export function table(caption: string, headings: string[], properties: Properties = {}) {
  const body = h("tbody");
  const head = h("tr", {}, ...headings.map((heading) => h("th", { scope: "col" }, heading)));
  const element = h("table", properties, h("caption", { class: "visually-hidden" }, caption),
                    h("thead", {}, head), body);
  return { element, body };
}

/** Rows of text; the first cell of each is its heading. Rewrites only the cells that differ. */
export function fillRows(body: HTMLTableSectionElement, rows: string[][]): void {
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((cells, index) => {
    const row = body.rows[index] ?? body.appendChild(h("tr"));
    cells.forEach((text, column) => {
      const cell = row.cells[column] ??
          row.appendChild(column === 0 ? h("th", { scope: "row" }) : h("td"));
      setText(cell, text);
    });
    while (row.cells.length > cells.length) row.deleteCell(-1);
  });
}
