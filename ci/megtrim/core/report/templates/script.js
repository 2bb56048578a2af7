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
