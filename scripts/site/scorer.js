// Search finds pages with any word of a query; Sphinx wants all of them, and counts only the best.
// A word that few pages have counts more, and so does one that a page has often for its length, or in
// its title. A heading that has most of the words counts, too, and is where the result leads. Decisions,
// READMEs, pages for developers and lists (reference, messages) answer fewer questions.
const answering = /^docs\/(?!architecture|decisions|development|reference|how-to\/find-a-message)/;
const often = 1.5, byLength = 0.75, inTitle = 3, inHeading = 1.3, together = 0.8;
var Scorer = {
  score: ([page, , , , score]) => score / (answering.test(page) ? 1 : 3),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
const findAll = Search.performTermsSearch;
const stemOf = (word) => new Stemmer().stemWord(word.toLowerCase());
const findHeadings = (rarities) => {
  const best = new Map();
  for (const [heading, places] of Object.entries(Search._index.alltitles)) {
    const stems = new Set(splitQuery(heading).map(stemOf));
    const found = [...rarities].filter(([word]) => stems.has(word));
    if (found.length < 2) continue;
    const sum = found.reduce((total, [, rarity]) => total + rarity, 0);
    for (const [page, anchor] of places) {
      if (sum > (best.get(page)?.sum ?? 0)) best.set(page, { sum, anchor });
    }
  }
  return best;
};
Search.performTermsSearch = (words, excluded) => {
  const { docnames, titles } = Search._index;
  const pages = new Map();
  const rarities = new Map();
  for (const word of words) {
    const found = findAll(new Set([word]), excluded);
    const rarity = Math.log(docnames.length / found.length);
    rarities.set(word, rarity);
    for (const page of found) {
      const { length, counts } = Search.words[page[0]] ?? { length: 1, counts: {} };
      const count = counts[word] ?? 1;
      const title = titles[docnames.indexOf(page[0])] ?? "";
      const place = splitQuery(title).some((each) => stemOf(each) === word) ? inTitle
        : page[4] >= Scorer.partialTitle ? inHeading : 1;
      const frequency = count / (count + often * (1 - byLength + byLength * length));
      page[4] = place * frequency * rarity + (pages.get(page[0])?.[4] ?? 0);
      pages.set(page[0], page);
    }
  }
  const all = [...rarities.values()].reduce((total, rarity) => total + rarity, 0);
  for (const [index, { sum, anchor }] of findHeadings(rarities)) {
    const page = pages.get(docnames[index]);
    if (!page) continue;
    page[4] += together * sum * (sum / all);
    if (anchor) page[2] = `#${anchor}`;
  }
  return [...pages.values()];
};
