"use strict";
// Order of the results of the page search: answers and tutorials first, records of decisions last.
var Scorer = {
  score: ([docname, title, anchor, description, score]) => {
    if (docname === "howto/questions") return score + 5;
    if (/^(howto|tutorials)\//.test(docname)) return score + 3;
    if (/^(decisions|architecture|papers|gait_thesis)/.test(docname)) return score - 12;
    return score;
  },
  // The values of Sphinx itself.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// Sphinx shows only pages that have all words of a query. Pages with some of them follow, weighted by the rarity
// of the words; pages for users come before records of decisions and the reference in both groups.
(() => {
  if (typeof Search === "undefined") return; // this file is loaded after searchtools.js, before the query
  const record = /^(decisions|architecture|papers|gait_thesis|derivations|built\/reference)/;
  const withAll = Search._performSearch;
  Search._performSearch = (query, words, excluded, ...others) => {
    const complete = withAll(query, words, excluded, ...others); // the best one is the last
    const pages = new Map();
    let all = 0;
    for (const word of words) {
      const found = new Map();
      for (const result of Search.performTermsSearch(new Set([word]), excluded)) found.set(result[0], result);
      const rarity = Math.log(1 + Search._index.docnames.length / Math.max(found.size, 1));
      all += rarity;
      for (const [name, result] of found) {
        const page = pages.get(name) ?? { result, weight: 0 };
        page.weight += rarity * (Scorer.score(result) >= Scorer.title ? 1.3 : 1);
        pages.set(name, page);
      }
    }
    complete.forEach((result) => pages.delete(result[0]));
    const partial = [...pages.values()].sort((a, b) => a.weight - b.weight);
    const close = ({ result, weight }) => weight >= 0.4 * all && !record.test(result[0]);
    const results = (kept) => partial.filter(kept).map(({ result }) => result);
    return [
      ...results((page) => !close(page)),
      ...complete.filter((result) => record.test(result[0])),
      ...results(close),
      ...complete.filter((result) => !record.test(result[0])),
    ];
  };
})();
