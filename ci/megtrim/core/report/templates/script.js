"use strict";
{
  const tools = document.getElementById("tools");
  if (tools) {
    const list = document.getElementById("tags");
    const find = document.getElementById("find");
    const order = document.getElementById("order");
    const found = document.getElementById("found");
    const tags = [...list.children].map((element) => ({
      element,
      name: element.dataset.name,
      kept: Number(element.dataset.kept),
      held: Number(element.dataset.held),
      rows: [...element.querySelectorAll("tbody tr")].map((row) => ({
        row,
        text: row.textContent.toLowerCase(),
      })),
    }));
    const byName = (a, b) => (a.name < b.name ? -1 : 1);
    const sort = () => {
      const key = order.value;
      tags.sort((a, b) => (key === "name" ? 0 : b[key] - a[key]) || byName(a, b));
      list.append(...tags.map((tag) => tag.element));
    };
    const filter = () => {
      const wanted = find.value.trim().toLowerCase();
      let count = 0;
      for (const tag of tags) {
        const whole = tag.name.toLowerCase().includes(wanted);
        let inside = 0;
        for (const { row, text } of tag.rows) {
          const shown = whole || text.includes(wanted);
          row.hidden = !shown;
          inside += shown ? 1 : 0;
        }
        tag.element.hidden = wanted !== "" && inside === 0 && !whole;
        tag.element.open = wanted !== "" && inside > 0;
        count += inside;
      }
      found.textContent = wanted === "" ? "" : `${count} found`;
    };
    order.addEventListener("change", sort);
    find.addEventListener("input", filter);
    tools.hidden = false;
  }
}
{
  const tools = document.getElementById("scenario-tools");
  if (tools) {
    const rows = [...document.querySelectorAll(".scenario")];
    const texts = new Map(rows.map((row) => [row, row.querySelector("summary").textContent.toLowerCase()]));
    const [find, show, found] = ["input", "select", "output"].map((name) => tools.querySelector(name));
    const filter = () => {
      const wanted = find.value.trim().toLowerCase();
      let count = 0;
      for (const row of rows) {
        const state = show.value === "" || row.dataset.status === show.value;
        row.hidden = !(state && texts.get(row).includes(wanted));
        count += row.hidden ? 0 : 1;
      }
      found.textContent = wanted || show.value ? `${count} of ${rows.length}` : "";
      document.querySelector(".rows .nothing").hidden = count > 0;
      for (const group of document.querySelectorAll(".row-group")) {
        group.hidden = Boolean(wanted || show.value);
      }
    };
    find.addEventListener("input", filter);
    show.addEventListener("change", filter);
    tools.hidden = false;
  }
  // A link to a scenario opens it.
  const open = () => {
    const named = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (named && named.matches("details")) named.open = true;
  };
  window.addEventListener("hashchange", open);
  open();
  for (const holder of document.querySelectorAll(".copied")) {
    const button = document.createElement("button");
    const text = holder.querySelector("code").textContent;
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy: ${text}`);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        getSelection().selectAllChildren(holder.querySelector("code"));
        document.execCommand("copy");
      }
      button.textContent = "Copied";
      setTimeout(() => {
        button.textContent = "Copy";
      }, 1500);
    });
    holder.append(button);
  }
}
