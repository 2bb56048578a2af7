// Search finds pages with any word of a query; Sphinx wants all of them, and counts only the best.
// Three things count: how often the page has the words, how often its best section has them, and how
// well they match a heading of the page or a phrase of keywords.toml. A word that few pages have counts
// more. Decisions, READMEs, pages for developers and lists (reference, messages) answer fewer questions.
const listing =
  /^(?!docs)|^docs\/(architecture|decisions|development|reference(?!\/from-the-engines-documents)|index)/;
const often = 1.2, byLength = 0.75, inTitle = 3, inHeading = 1.5; // of a word
const together = 2, ofHeading = 0.7, closeness = 0.5; // of a phrase
const ofPart = 0.5, ofAsking = 0.4; // of a part of a word, and of words in which people ask
const asking = new Set("use work need get make want long mani run happen possibl way".split(" "));
var Scorer = {
  score: ([page, , , , score]) => score / (listing.test(page) ? 3 : 1),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 0, partialTitle: 0, term: 5, partialTerm: 2, // a title that equals the query is a phrase
};
const stemOf = (word) => new Stemmer().stemWord(word.toLowerCase());
const stemsOf = (text) =>
  new Set(splitQuery(text).filter((word) => !stopwords.has(word.toLowerCase())).map(stemOf));
const add = (counts, word, count) => counts.set(word, (counts.get(word) ?? 0) + count);
const sizeOf = (counts) => [...counts.values()].reduce((sum, count) => sum + count, 0);

const readSection = ({ anchor, heading, counts }, index) => ({
  anchor: index ? `#${anchor}` : "",
  heading: stemsOf(heading),
  counts: new Map(Object.entries(counts)),
});
const readPage = ([page, found]) => {
  const sections = found.map(readSection);
  const counts = new Map();
  for (const section of sections) {
    for (const [word, count] of section.counts) add(counts, word, count);
  }
  const phrases = sections.map(({ anchor, heading }) => ({ words: heading, weight: ofHeading, anchor }));
  const length = sizeOf(counts);
  const keywords = (Search.keywords[page] ?? []).map(stemsOf);
  phrases.push(...keywords.map((words) => ({ words, weight: 1, anchor: "" })));
  for (const word of new Set(keywords.flatMap((words) => [...words]))) add(counts, word, 1);
  return { page, sections, counts, phrases, length };
};
let read;
const readPages = () => {
  const pages = Object.entries(Search.sections).map(readPage);
  const holders = new Map();
  for (const { counts } of pages) {
    for (const word of counts.keys()) add(holders, word, 1);
  }
  const rarityOf = (word) =>
    Math.log(pages.length / (holders.get(word) ?? 1)) * (asking.has(word) ? ofAsking : 1);
  const sections = pages.flatMap((page) => page.sections);
  const total = pages.reduce((sum, { length }) => sum + length, 0);
  return { pages, holders, rarityOf, ofPage: total / pages.length, ofSection: total / sections.length };
};

// A word that no page has stands for the words that it is a part of.
const readWord = (word) => {
  const { holders, rarityOf } = read;
  if (holders.has(word)) return { forms: [[word, 1]], rarity: rarityOf(word) };
  const forms = [...holders.keys()].filter((other) => word.length > 2 && other.includes(word));
  const rarest = Math.min(...forms.map(rarityOf), rarityOf(word));
  return { forms: forms.map((form) => [form, ofPart]), rarity: rarest };
};
const scoreText = (asked, counts, heading, boost, length) => asked.reduce((score, { forms, rarity }) => {
  const count = forms.reduce((sum, [word, weight]) => sum + weight * (counts.get(word) ?? 0), 0);
  const inIt = Math.max(0, ...forms.filter(([word]) => heading.has(word)).map(([, weight]) => weight));
  const frequency = count / (count + often * (1 - byLength + byLength * length));
  return score + (1 + (boost - 1) * inIt) * frequency * rarity;
}, 0);
const scorePhrase = (asked, { words, weight }) => {
  const found = asked.reduce((sum, { forms, rarity }) =>
    sum + rarity * Math.max(0, ...forms.filter(([word]) => words.has(word)).map(([, part]) => part)), 0);
  if (found === 0) return 0;
  const all = asked.reduce((sum, { rarity }) => sum + rarity, 0);
  const size = [...words].reduce((sum, word) => sum + read.rarityOf(word), 0);
  return weight * found * (found / all) * Math.min(1, found / size) ** closeness;
};
const findBest = (items, scoreOf) => items.reduce((best, item) => {
  const score = scoreOf(item);
  return score > best.score ? { score, anchor: item.anchor } : best;
}, { score: 0, anchor: "" });
const scorePage = (asked, { sections, counts, phrases, length }) => {
  const title = sections[0]?.heading ?? new Set();
  const whole = scoreText(asked, counts, title, inTitle, length / read.ofPage);
  const section = findBest(sections, (each) =>
    scoreText(asked, each.counts, each.heading, inHeading, sizeOf(each.counts) / read.ofSection));
  const phrase = findBest(phrases, (each) => scorePhrase(asked, each));
  return { score: whole + section.score + together * phrase.score, anchor: section.anchor };
};
const weigh = (page, words) => {
  const chinese = words.some((word) => /\p{Script=Han}/u.test(word));
  if (page.endsWith(".zh-CN") && !chinese) return 0.5;
  return page.startsWith("docs/explanation") ? 0.8 : 1;
};
Search.performTermsSearch = (words, excluded) => {
  read ??= readPages();
  const { titles, docnames, filenames } = Search._index;
  const asked = [...words].map(readWord);
  const results = [];
  for (const page of read.pages) {
    if ([...excluded].some((word) => page.counts.has(word))) continue;
    const { score, anchor } = scorePage(asked, page);
    if (score === 0) continue;
    const file = docnames.indexOf(page.page);
    const weighed = score * weigh(page.page, [...words]);
    results.push([page.page, titles[file], anchor, null, weighed, filenames[file], SearchResultKind.text]);
  }
  return results;
};
