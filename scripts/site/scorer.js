// Search finds pages with any word of a query, rare words and headings first; Sphinx wants all, and
// counts the best alone. Decisions, READMEs and lists (reference, messages) answer fewer questions.
const answering = /^docs\/(?!architecture|decisions|reference|how-to\/find-a-message)/;
var Scorer = {
  score: ([page, , , , score]) => score / (answering.test(page) ? 1 : 3),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
const findAll = Search.performTermsSearch;
Search.performTermsSearch = (words, excluded) => {
  const pages = new Map();
  for (const word of words) {
    const found = findAll(new Set([word]), excluded);
    for (const page of found) {
      page[4] *= Math.log(Search._index.docnames.length / found.length);
      page[4] += pages.get(page[0])?.[4] ?? 0;
      pages.set(page[0], page);
    }
  }
  return [...pages.values()];
};
