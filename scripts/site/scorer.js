// How search orders pages: by all words of the query, rare ones and those of headings first. Sphinx
// itself counts the best word alone. Decisions, references and READMEs answer fewer questions.
const files = (list) => [list ?? []].flat();

var Scorer = {
  score: ([page, , , , score]) => {
    const { docnames, terms, titleterms } = Search._index;
    const file = docnames.indexOf(page);
    const query = new URLSearchParams(window.location.search).get("q") ?? "";
    for (const word of Search._parseQuery(query)[1]) {
      const all = new Set([...files(terms[word]), ...files(titleterms[word])]);
      const heading = files(titleterms[word]).includes(file) ? 3 : 1;
      score += all.has(file) ? 10 * heading * Math.log(docnames.length / all.size) : 0;
    }
    return /^docs\/(?!decisions|reference)/.test(page) ? score : score / 3;
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
