// A button on each block of code copies it, and of a session only the commands: "$ " begins one.
for (const block of document.querySelectorAll("div.highlight > pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy this code");
  button.style.cssText = "position: absolute; top: 0.3rem; right: 0.3rem; font-size: 0.75rem";
  button.addEventListener("click", async () => {
    const lines = block.innerText.trimEnd().split("\n");
    const commands = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
    await navigator.clipboard.writeText((commands.length ? commands : lines).join("\n"));
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  block.parentElement.style.position = "relative";
  block.before(button);
}
