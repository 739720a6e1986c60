// Keys: / finds, g and a letter goes to a page, j and k walk through rows, Enter opens one, ? helps.
// Everything works without this file, too.
"use strict";
(() => {
  let waitsForPlace = false;
  const rows = () => [...document.querySelectorAll("table[data-rows] tbody tr")];
  const typing = (node) => node.closest?.("input, select, textarea, [contenteditable]");

  function walk(step) {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((row) => row.hasAttribute("data-at"));
    const next = Math.min(all.length - 1, Math.max(0, at + step));
    if (at >= 0) all[at].removeAttribute("data-at");
    all[next].setAttribute("data-at", "");
    all[next].scrollIntoView({ block: "nearest" });
    all[next].querySelector("a")?.focus({ preventScroll: true });
  }

  function help() {
    document.getElementById("keys").showModal();
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (document.getElementById("keys").open) return;
    if (waitsForPlace) {
      waitsForPlace = false;
      const place = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
      if (place) place.click();
      return;
    }
    switch (event.key) {
      case "/":
        event.preventDefault();
        document.querySelector("[data-search]").focus();
        break;
      case "g":
        waitsForPlace = true;
        break;
      case "j":
        walk(1);
        break;
      case "k":
        walk(-1);
        break;
      case "?":
        help();
        break;
    }
  });

  const button = document.querySelector("[data-help]");
  button.hidden = false;
  button.addEventListener("click", help);
})();

// A tail keeps its newest 200 rows, and says why its stream has ended.
(() => {
  const tail = document.querySelector("[data-tail]");
  if (!tail) return;
  new MutationObserver(() => {
    while (tail.rows.length > 200) tail.deleteRow(-1);
  }).observe(tail, { childList: true });
  tail.addEventListener("problem", (event) => {
    const row = tail.insertRow(0);
    row.className = "left-out";
    const cell = row.insertCell();
    cell.colSpan = tail.closest("table").tHead.rows[0].cells.length;
    cell.textContent = new DOMParser().parseFromString(event.detail.data, "text/html").body.textContent;
  });
})();

// Dragging over a histogram chooses the records between two of its bars.
(() => {
  for (const chart of document.querySelectorAll(".histogram svg")) {
    let first = null;
    const bars = [...chart.querySelectorAll("a[data-from]")];
    const barAt = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest?.("a[data-from]");
    const between = (one, other) => {
      const places = [bars.indexOf(one), bars.indexOf(other)].sort((a, b) => a - b);
      return bars.slice(places[0], places[1] + 1);
    };
    chart.addEventListener("pointerdown", (event) => {
      first = barAt(event);
      if (first) event.preventDefault();
    });
    chart.addEventListener("pointermove", (event) => {
      const last = first && barAt(event);
      if (!last) return;
      for (const bar of bars) bar.querySelector(".behind").classList.remove("chosen");
      for (const bar of between(first, last)) bar.querySelector(".behind").classList.add("chosen");
    });
    addEventListener("pointerup", (event) => {
      const last = first && barAt(event);
      const chosen = last && last !== first ? between(first, last) : [];
      first = null;
      if (!chosen.length) return;
      const url = new URL(location.href);
      url.searchParams.set("from", "@" + chosen[0].dataset.from);
      url.searchParams.set("until", "@" + chosen.at(-1).dataset.until);
      url.searchParams.delete("at");
      location.assign(url);
    });
  }
})();
