"use strict";
// A treemap of the tables next to it: they are its data, and all there is without scripts.
for (const map of document.querySelectorAll(".map")) {
  const HEAD = 20, LEAST_INSIDE = 34, LEAST_AREA = 110, CHARACTER = 7.4, MARGIN = 6;
  const [svg, note] = [map.querySelector("svg"), map.querySelector(".note")];
  const [view, find] = [map.querySelector("select"), map.querySelector("input")];
  const [crumbs, found] = [map.querySelector(".crumbs"), map.querySelector("output")];
  const named = (kind, name) =>
    [...document.querySelectorAll(`[data-${kind}]`)].filter((each) => each.dataset[kind] === name);
  const rows = (tables) => tables.flatMap((table) => [...table.querySelectorAll("tbody tr")]);
  const texts = (row) => [...row.cells].map((cell) => cell.textContent);
  const whole = (text) => Number(text.replace(/[^0-9-]/g, ""));
  const size = (bytes) => {
    if (bytes < 1024) return `${bytes} B`;
    const [unit, name] = bytes < 2 ** 20 ? [1024, "KiB"] : [2 ** 20, "MiB"];
    return `${(bytes / unit).toFixed(1)} ${name}`;
  };

  const leaves = { kept: [], left: [], change: [] };
  for (const part of named("artifact", map.dataset.map)) {
    const component = part.dataset.component;
    const [kept, plain] = [Number(part.dataset.kept), Number(part.dataset.plain)];
    const rest = { kept, left: plain - kept };
    const add = (kind, label, bytes, text) => {
      if (bytes <= 0) return;
      leaves[kind].push({ component, label, bytes, text: text ?? size(bytes) });
      rest[kind] -= bytes;
    };
    const inside = named("of", component).filter((each) => part.closest("article").contains(each));
    for (const [label, now, before] of rows(inside).map(texts)) {
      add("kept", label, whole(now), before && `${size(whole(now))} of ${size(whole(before))}`);
      if (before) add("left", label, whole(before) - whole(now));
    }
    add("kept", "", rest.kept);
    add("left", "", rest.left);
  }
  for (const row of rows(named("changes", map.dataset.map))) {
    const [component, label, before, now] = texts(row);
    const grown = whole(now) - whole(before);
    const bytes = Math.abs(grown);
    const text = `${grown > 0 ? "+" : "−"}${size(bytes)}, from ${before} to ${now} bytes`;
    if (bytes) leaves.change.push({ component, label, bytes, text, tone: grown > 0 ? 3 : 1 });
  }

  const branch = (name, above) => ({ name, above, bytes: 0, inside: [] });
  const grow = (wanted) => {
    const root = branch("all", null);
    for (const leaf of wanted) {
      let at = root;
      at.bytes += leaf.bytes;
      for (const part of leaf.component ? leaf.component.split("/") : []) {
        const known = at.inside.find((each) => each.name === part && each.label === undefined);
        if (!known) at.inside.push(branch(part, at));
        at = known ?? at.inside.at(-1);
        at.bytes += leaf.bytes;
      }
      at.inside.push({ ...leaf, name: leaf.label || "smaller ones", above: at, inside: [] });
    }
    return root;
  };
  const trail = (node) => (node ? [...trail(node.above), node] : []);
  // One that holds one thing alone is that thing, under both names.
  const merge = (node) => {
    if (node.inside.length !== 1) return node;
    const [only] = node.inside;
    const name = only.label === undefined ? `${node.name}/${only.name}` : node.name;
    const full = only.label ? `${node.name}: ${only.full || only.name}` : "";
    return merge({ ...only, name, full, above: node.above });
  };

  // Squarified (Bruls, Huizing, van Wijk): rows along the shorter side, as square as they get.
  const layout = (nodes, frame) => {
    const total = nodes.reduce((sum, node) => sum + node.bytes, 0);
    const areas = nodes.map((node) => (node.bytes * frame.width * frame.height) / total);
    const tiles = [];
    let { x, y, width, height } = frame;
    while (tiles.length < areas.length) {
      const side = Math.min(width, height);
      const worst = (row) => {
        const sum = row.reduce((a, b) => a + b, 0);
        return Math.max((side ** 2 * row[0]) / sum ** 2, sum ** 2 / (side ** 2 * row.at(-1)));
      };
      let count = 1;
      const rest = areas.slice(tiles.length);
      const better = () => worst(rest.slice(0, count + 1)) <= worst(rest.slice(0, count));
      while (count < rest.length && better()) count += 1;
      const row = rest.slice(0, count);
      const depth = row.reduce((a, b) => a + b, 0) / side;
      let at = 0;
      for (const area of row) {
        const long = area / depth;
        tiles.push(
          width >= height
            ? { x, y: y + at, width: depth, height: long }
            : { x: x + at, y, width: long, height: depth },
        );
        at += long;
      }
      if (width >= height) [x, width] = [x + depth, width - depth];
      else [y, height] = [y + depth, height - depth];
    }
    return tiles;
  };

  const shorten = (name) => {
    let text = name.replace(/\((?:…|[^()]*)\)(?: const)?$/, "");
    for (let before = ""; before !== text; ) [before, text] = [text, text.replace(/<[^<>]*>/g, "")];
    return text;
  };
  const fit = (name, width) => {
    const most = Math.floor((width - 2 * MARGIN) / CHARACTER);
    const cuts = [...name.matchAll(/\/|::/g)].map((cut) => cut.index + cut[0].length);
    const ends = [0, ...cuts].map((cut) => name.slice(cut));
    const end = ends.find((each) => each.length <= most);
    return end ?? (most < 4 ? "" : `${ends.at(-1).slice(0, most - 1)}…`);
  };

  const drawn = new WeakMap();
  const element = (name, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  };
  const describe = (node) => {
    const above = trail(node.above).slice(1).map((each) => each.name).join("/");
    const share = ((100 * node.bytes) / root.bytes).toFixed(1);
    const parts = [above && `${above}${node.inside.length ? "/" : ": "}`, node.full || node.name];
    return `${parts.join("")}: ${node.text ?? size(node.bytes)} (${share}%)`;
  };
  const cell = (node, tile, colour, around) => {
    const head = node.inside.length > 0;
    const { width, height } = tile;
    const made = element("svg", head ? { ...tile, tabindex: 0, role: "button" } : tile);
    made.append(element("title", {}, describe(node)));
    for (const look of [`c${node.tone ?? colour}`, "rim"]) {
      made.append(element("rect", { class: look, width: "100%", height: "100%" }));
    }
    const label = height < HEAD ? "" : fit(shorten(node.name), width);
    const detail = node.tone ? node.text.split(",")[0] : size(node.bytes);
    if (label) made.append(element("text", { x: MARGIN, y: 15 }, label));
    if (label && !head && height > 36 && fit(detail, width) === detail) {
      made.append(element("text", { class: "small", x: MARGIN, y: 31 }, detail));
    }
    drawn.set(made, { node, around });
    svg.append(made);
    return made;
  };

  let [root, at] = [null, null];
  const draw = (node, frame, depth, colour, around) => {
    const sorted = node.inside.map(merge).sort((a, b) => b.bytes - a.bytes);
    const least = (LEAST_AREA * node.bytes) / (frame.width * frame.height);
    const small = sorted.filter((each) => each.bytes < least);
    const shown = sorted.slice(0, sorted.length - small.length);
    if (small.length) {
      const bytes = small.reduce((sum, each) => sum + each.bytes, 0);
      shown.push({ ...branch(`${small.length} small ones`, node), bytes, inside: small });
      shown.sort((a, b) => b.bytes - a.bytes);
    }
    const tiles = layout(shown, frame);
    for (const [index, each] of shown.entries()) {
      const [tile, top] = [tiles[index], colour ?? index % 8];
      const inside = { ...tile, y: tile.y + HEAD, height: tile.height - HEAD };
      const fits = depth > 0 && Math.min(inside.width, inside.height) >= LEAST_INSIDE;
      const made = cell(each, tile, top, around);
      if (fits && each.inside.length) draw(each, inside, depth - 1, top, made);
    }
  };
  const show = (node) => {
    at = node;
    const [width, height] = [map.clientWidth || 900, 470];
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    if (node.bytes) draw(node, { x: 0, y: 0, width, height }, 2, null, null);
    crumbs.replaceChildren(
      ...trail(node).map((each) => {
        const button = document.createElement("button");
        button.textContent = each.name;
        button.disabled = each === node;
        button.addEventListener("click", () => show(each));
        return button;
      }),
    );
  };
  const choose = () => {
    const words = find.value.trim().toLowerCase();
    const has = ({ component, label }) => `${component}: ${label}`.toLowerCase().includes(words);
    const wanted = leaves[view.value].filter(has);
    root = grow(wanted);
    show(root);
    const count = wanted.filter((leaf) => leaf.label).length;
    found.textContent = words ? `${count} found, ${size(root.bytes)}` : "";
  };
  const target = (event) => event.target.closest(".byte-map svg");
  const enter = (event) => {
    let into = null;
    for (let each = target(event); each; each = drawn.get(each).around) {
      if (drawn.get(each).node.inside.length > 1) into = drawn.get(each).node;
    }
    if (into) show(into);
  };
  for (const kind of ["pointerover", "focusin"]) {
    svg.addEventListener(kind, (event) => {
      if (target(event)) note.textContent = describe(drawn.get(target(event)).node);
    });
  }
  svg.addEventListener("click", enter);
  map.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.closest("svg")) enter(event);
    if (event.key === "Escape" && at.above) show(at.above);
  });
  for (const option of [...view.options]) if (!leaves[option.value].length) option.remove();
  view.addEventListener("change", choose);
  find.addEventListener("input", choose);
  window.addEventListener("resize", () => show(at));
  map.hidden = !leaves.kept.length;
  choose();
}
