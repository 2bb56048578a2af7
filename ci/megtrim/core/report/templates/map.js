"use strict";
// A treemap of the tables next to it: they are its data, and all there is without scripts.
for (const map of document.querySelectorAll(".map")) {
  const HEAD = 22, LINE = 15, LEAST_INSIDE = 34, LEAST_AREA = 110, CHARACTER = 7.4, MARGIN = 6;
  const [svg, tip] = [map.querySelector("svg"), map.querySelector(".tip")];
  const nothing = map.querySelector(".nothing");
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

  // One colour for a component in each report: the table has it.
  const [colours, titles] = [new Map(), new Map()];
  const leaves = { kept: [], left: [], change: [] };
  for (const part of named("artifact", map.dataset.map)) {
    const { component, title, colour } = part.dataset;
    colours.set(component.split("/")[0], colour);
    titles.set(component, title);
    const [kept, plain] = [Number(part.dataset.kept), Number(part.dataset.plain)];
    const rest = { kept, left: plain - kept };
    const add = (kind, label, bytes, text) => {
      if (bytes <= 0) return;
      leaves[kind].push({ component, label, bytes, text: text ?? size(bytes) });
      rest[kind] -= bytes;
    };
    const inside = named("of", component).filter((each) => part.closest("article").contains(each));
    for (const [label, now, before] of rows(inside).map(texts)) {
      add("kept", label, whole(now), before && `${size(whole(now))} ships, ${size(whole(before))} in plain`);
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
    if (bytes) leaves.change.push({ component, label, bytes, text, tone: grown > 0 ? "grew" : "shrank" });
  }

  const branch = (name, above) => ({ name: titles.get(name) ?? name, part: name, above, bytes: 0, inside: [] });
  const grow = (wanted) => {
    const root = branch("all", null);
    for (const leaf of wanted) {
      let at = root;
      at.bytes += leaf.bytes;
      for (const part of leaf.component ? leaf.component.split("/") : []) {
        const known = at.inside.find((each) => each.part === part && each.label === undefined);
        if (!known) at.inside.push(branch(part, at));
        at = known ?? at.inside.at(-1);
        at.bytes += leaf.bytes;
      }
      const name = leaf.label || "all smaller symbols";
      at.inside.push({ ...leaf, name, above: at, inside: [] });
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
    return merge({ ...only, name, full, part: node.part, above: node.above });
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
  // Whole names only, in as many lines as there is room for; what does not fit is in the tip.
  const fit = (name, width, height) => {
    const most = Math.floor((width - 2 * MARGIN) / CHARACTER);
    const lines = [];
    for (const piece of name.split(/(?<=\/|::|_| |-)/)) {
      if (piece.length > most) return [];
      const last = lines.at(-1);
      if (last !== undefined && (last + piece).trimEnd().length <= most) lines[lines.length - 1] = last + piece;
      else lines.push(piece);
    }
    return lines.length * LINE + 6 <= height ? lines : [];
  };
  // The short name, with as much of its scope as tells it from its neighbours.
  const tellApart = (nodes) => {
    const scopes = (name, count) => name.split("::").slice(-count).join("::");
    const names = nodes.map((node) => shorten(node.name));
    return names.map((name) => {
      const found = [1, 2, 3].map((count) => scopes(name, count));
      const alone = found.find((each, at) => names.filter((n) => scopes(n, at + 1) === each).length === 1);
      return alone ?? name;
    });
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
    return `${parts.join("")}: ${node.text ?? size(node.bytes)}; ${share}% of what is shown`;
  };
  const cell = (node, name, tile, colour, around) => {
    const head = node.inside.length > 0;
    const { width, height } = tile;
    const said = describe(node);
    const pressed = head ? { tabindex: 0, role: "button", "aria-label": said } : {};
    const made = element("svg", { ...tile, ...pressed, "data-said": said });
    for (const look of [node.tone ?? `c${colour}`, "rim"]) {
      made.append(element("rect", { class: look, width: "100%", height: "100%" }));
    }
    const detail = node.tone ? node.text.split(",")[0] : size(node.bytes);
    const lines = fit(name, width, head ? HEAD : height);
    for (const [at, line] of lines.entries()) {
      made.append(element("text", { x: MARGIN, y: 15 + at * LINE }, line.trimEnd()));
    }
    if (lines.length && !head && fit(detail, width, height - lines.length * LINE).length) {
      made.append(element("text", { class: "small", x: MARGIN, y: 16 + lines.length * LINE }, detail));
    }
    drawn.set(made, { node, around, said });
    svg.append(made);
    return made;
  };

  const colourOf = (node) => (node.above?.above ? colourOf(node.above) : colours.get(node.part) ?? 11);
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
    const names = tellApart(shown);
    for (const [index, each] of shown.entries()) {
      const [tile, top] = [tiles[index], colour ?? colours.get(each.part?.split("/")[0]) ?? 11];
      const inside = { ...tile, y: tile.y + HEAD, height: tile.height - HEAD };
      const fits = depth > 0 && Math.min(inside.width, inside.height) >= LEAST_INSIDE;
      const made = cell(each, names[index], tile, top, around);
      if (fits && each.inside.length) draw(each, inside, depth - 1, top, made);
    }
  };
  const show = (node) => {
    at = node;
    const [width, height] = [map.clientWidth || 900, 470];
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    tip.hidden = true;
    svg.toggleAttribute("hidden", !node.bytes);
    nothing.hidden = Boolean(node.bytes);
    const colour = node.above ? colourOf(node) : null;
    if (node.bytes) draw(node, { x: 0, y: 0, width, height }, 2, colour, null);
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
  const say = (made, x, y) => {
    tip.textContent = drawn.get(made).said;
    tip.hidden = false;
    const most = map.clientWidth - tip.offsetWidth;
    tip.style.left = `${Math.max(0, Math.min(x + 14, most))}px`;
    tip.style.top = `${y + 18}px`;
  };
  svg.addEventListener("pointermove", (event) => {
    const frame = map.getBoundingClientRect();
    if (target(event)) say(target(event), event.clientX - frame.left, event.clientY - frame.top);
  });
  svg.addEventListener("focusin", (event) => {
    if (!target(event)) return;
    const [frame, box] = [map.getBoundingClientRect(), target(event).getBoundingClientRect()];
    say(target(event), box.left - frame.left, box.top - frame.top);
  });
  for (const kind of ["pointerleave", "focusout"]) {
    svg.addEventListener(kind, () => {
      tip.hidden = true;
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
