"use strict";
(() => {
  const tip = document.getElementById("tip");

  function say(text, x, y) {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, x + 14), innerWidth - box.width - 8);
    const top = y - box.height - 12 > 8 ? y - box.height - 12 : y + 18;
    tip.style.left = left + "px";
    tip.style.top = top + "px";
  }
  const hush = () => { tip.hidden = true; };

  function sayAt(element) {
    const box = element.getBoundingClientRect();
    say(element.dataset.tip, (box.left + box.right) / 2 - 14, box.top);
  }
  document.addEventListener("pointerover", (event) => {
    const element = event.target.closest("[data-tip]");
    if (element) sayAt(element);
  });
  document.addEventListener("pointerout", (event) => {
    if (event.target.closest("[data-tip]")) hush();
  });
  document.addEventListener("focusin", (event) => {
    const element = event.target.closest("[data-tip]");
    if (element && element.matches(":focus-visible")) sayAt(element);
  });
  document.addEventListener("focusout", hush);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hush(); });

  for (const button of document.querySelectorAll(".copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector("pre").textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(button.parentElement.querySelector("pre"));
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }

  // --- tables that can be sorted: without this script they stay in their own order ---
  const SIZES = { K: 1e3, M: 1e6, B: 1e9, G: 1e9, T: 1e12 };
  function valueOf(cell) {
    const text = (cell.dataset.sort || cell.querySelector("strong, a")?.textContent || cell.textContent).trim();
    const plain = text.replace(/\u2212/g, "-").replace(/,/g, "");
    const found = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?/.exec(plain);
    if (!found) return text === "\u2013" || text === "" ? null : text.toLowerCase();
    const unit = SIZES[plain[found[0].length]] || 1;
    return Number(found[0]) * unit;
  }
  function compare(a, b) {
    if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
    return typeof a === "number" ? -1 : 1;
  }
  function sortBy(head, direction) {
    const body = head.closest("table").tBodies[0];
    const rows = [...body.rows].map((row) => [valueOf(row.cells[head.cellIndex]), row]);
    const sign = direction === "ascending" ? 1 : -1;
    rows.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b)));
    body.append(...rows.map(([, row]) => row)); // what is not known stays last either way
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction);
    if (head.closest(".runs-table")) history.replaceState(null, "", `#sort-${head.cellIndex}-${direction}`);
  }
  for (const head of document.querySelectorAll("table.sortable thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const cells = [...head.closest("table").tBodies[0].rows].map((row) => valueOf(row.cells[head.cellIndex]));
      const first = cells.some((v) => typeof v === "number") ? "descending" : "ascending";
      const second = first === "descending" ? "ascending" : "descending";
      sortBy(head, head.getAttribute("aria-sort") === first ? second : first);
    });
  }

  // A page over runs loads itself again while something runs; the order of its table stays, in the address.
  const refreshed = document.querySelector("[data-refresh]");
  if (refreshed) setTimeout(() => location.reload(), 1000 * Number(refreshed.dataset.refresh));
  const kept = /^#sort-(\d+)-(ascending|descending)$/.exec(location.hash);
  const columns = document.querySelectorAll(".runs-table thead th");
  if (kept && columns[kept[1]]) sortBy(columns[kept[1]], kept[2]);

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const part of folded) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of folded) part.open = false; });

  // --- the front ---
  const plot = document.getElementById("front");
  if (!plot) return;
  const data = JSON.parse(document.getElementById("data").textContent);
  const shown = document.getElementById("shown");
  const ring = plot.querySelector(".ring");
  const marks = [...plot.querySelectorAll(".dot")];
  marks.sort((a, b) => data.points[a.dataset.i][0] - data.points[b.dataset.i][0]);

  function make(kind, text, parent) {
    const element = document.createElement(kind);
    element.textContent = text;
    parent.append(element);
    return element;
  }
  function describe(i) {
    const [, , , name, values] = data.points[i];
    return [name, ...data.columns.map((column, c) => column + " " + values[c])].join("\n");
  }
  function show(i) {
    const [x, y, , name, values, drawing] = data.points[i];
    shown.replaceChildren();
    make("h3", name, shown);
    const list = make("dl", "", shown);
    data.columns.forEach((column, c) => {
      const pair = make("div", "", list);
      make("dt", column, pair);
      make("dd", values[c], pair);
    });
    if (drawing) {
      const picture = make("div", "", shown);
      picture.className = "drawing";
      picture.innerHTML = drawing.map((code) => data.pieces[code]).join("");
    }
    shown.dataset.i = i;
    ring.setAttribute("transform", `translate(${x} ${y})`);
    ring.classList.add("on");
  }
  function nearest(event) {
    const matrix = plot.getScreenCTM();
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    const reach = Math.max(16, 20 / matrix.a);
    let best = -1;
    let least = reach * reach;
    data.points.forEach(([x, y, style], i) => {
      const far = ((x - at.x) ** 2 + (y - at.y) ** 2) * (style === "trial" ? 1 : 0.4);
      if (far < least) { least = far; best = i; }
    });
    return best;
  }
  plot.addEventListener("pointermove", (event) => {
    const i = nearest(event);
    if (i < 0) hush();
    else say(describe(i), event.clientX, event.clientY);
  });
  plot.addEventListener("pointerleave", hush);
  plot.addEventListener("click", (event) => {
    const i = nearest(event);
    if (i >= 0) show(i);
  });

  // One stop for the tab key; arrows walk along the marks.
  function reach(mark) {
    for (const other of marks) other.tabIndex = -1;
    mark.tabIndex = 0;
  }
  plot.addEventListener("keydown", (event) => {
    const at = marks.indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (at < 0) return;
    if (step) {
      const next = marks[Math.min(marks.length - 1, Math.max(0, at + step))];
      reach(next);
      next.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      show(Number(marks[at].dataset.i));
    } else return;
    event.preventDefault();
  });
  plot.addEventListener("focusin", (event) => {
    const mark = event.target.closest(".dot");
    if (!mark || !mark.matches(":focus-visible")) return;
    const box = mark.getBoundingClientRect();
    say(describe(mark.dataset.i), box.left, box.top);
    ring.setAttribute("transform", mark.getAttribute("transform"));
    ring.classList.add("on");
  });
  if (marks.length) reach(marks.find((mark) => Number(mark.dataset.i) === data.first) || marks[0]);
  show(data.first);
})();
