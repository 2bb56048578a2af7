// Search finds pages with any word of a query; Sphinx wants all of them, and counts only the best.
// A word that few pages have counts more, and so does one that a page has often for its length, or in
// its title. A page with all words of a longer query comes before those with some. Decisions, READMEs and lists (reference, messages) answer fewer questions.
const answering = /^docs\/(?!architecture|decisions|reference|how-to\/find-a-message)/;
const whole = 1.5;
const often = 1.5, byLength = 0.75, inTitle = 3, inHeading = 1.3;
var Scorer = {
  score: ([page, , , , score]) => score / (answering.test(page) ? 1 : 3),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
const findAll = Search.performTermsSearch;
const stemOf = (word) => new Stemmer().stemWord(word.toLowerCase());
Search.performTermsSearch = (words, excluded) => {
  const { docnames, titles } = Search._index;
  const pages = new Map();
  const hits = new Map();
  for (const word of words) {
    const found = findAll(new Set([word]), excluded);
    const rarity = Math.log(docnames.length / found.length);
    for (const page of found) {
      const { length, counts } = Search.words[page[0]] ?? { length: 1, counts: {} };
      const count = counts[word] ?? 1;
      const title = titles[docnames.indexOf(page[0])] ?? "";
      const place = splitQuery(title).some((each) => stemOf(each) === word) ? inTitle
        : page[4] >= Scorer.partialTitle ? inHeading : 1;
      const frequency = count / (count + often * (1 - byLength + byLength * length));
      page[4] = place * frequency * rarity + (pages.get(page[0])?.[4] ?? 0);
      pages.set(page[0], page);
      hits.set(page[0], (hits.get(page[0]) ?? 0) + 1);
    }
  }
  for (const page of pages.values()) {
    if (words.size > 2 && hits.get(page[0]) === words.size) page[4] *= whole;
  }
  return [...pages.values()];
};
