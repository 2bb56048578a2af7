// What the theme leaves open for keyboards and screen readers: blocks and tables that scroll sideways
// can be focused, the groups of pages are headings with a level, and each side bar has its own name.
const scrolling = "div.highlight > pre, .table-wrapper";
const allowFocus = () => {
  for (const block of document.querySelectorAll(scrolling)) {
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
    else block.removeAttribute("tabindex");
  }
};
for (const caption of document.querySelectorAll("p.caption[role=heading]")) {
  caption.setAttribute("aria-level", "2");
}
document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "Pages");
document.querySelector("aside.toc-drawer")?.setAttribute("aria-label", "On this page");
addEventListener("resize", allowFocus);
addEventListener("load", allowFocus);
allowFocus();
