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
