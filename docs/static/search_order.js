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

// Words of a question that say nothing about its subject.
const FILLER =
  "add best can change choose compute create do find get give how i is make many method mean my need possible set " +
  "should show tell try use using want way what when where which why with work";
// Words of one meaning in the field: a page with any of them answers a query for another.
const SYNONYMS = [
  "dof freedom joints", "knots intervals nodes mesh grid discretization segments", "realtime online replan mpc",
  "oscillates chatter ripple ringing wiggles", "gripper hand tool effector tcp flange", "payload load",
  "collision obstacle clearance", "velocity speed", "torque moment", "actuator motor", "trajectory motion path",
  "gait walk walking", "subject person human", "electromyography emg", "mocap markers capture",
  "cost objective criterion", "constraint limit bound", "final terminal end", "initial start", "error fails failed",
  "export save write csv", "plot figure draw picture", "animate video film movie view", "spring elastic flexible compliance stiffness",
  "friction damping damper viscous", "install installation pip", "humanoid legged quadruped feet",
  "gradient derivative jacobian hessian", "adjoint costate multiplier", "integrate simulate forward",
  "fast quick seconds minutes", "estimate identify identification fit", "uncertainty confidence covariance",
  "solver ipopt optimizer", "cyclic periodic", "crane pendulum", "rocket spacecraft orbit", "vehicle car",
  "exercise homework course", "cluster slurm parallel", "reaction grf", "switching bang",
];

// Sphinx shows only pages that have all words of a query. Pages with some of them follow, weighted by the rarity
// of the words, twice in a heading; pages for users come before records of decisions and the reference in both groups.
(() => {
  if (typeof Search === "undefined") return; // this file is loaded after searchtools.js, before the query
  const record = /^(decisions|architecture|papers|gait_thesis|built\/reference)/;
  const stem = (words) => words.split(" ").map((word) => new Stemmer().stemWord(word));
  const filler = new Set(stem(FILLER));
  const groups = SYNONYMS.map(stem);
  const withAll = Search._performSearch;
  Search._performSearch = (query, given, excluded, ...others) => {
    const telling = new Set([...given].filter((word) => word.length > 1 && !filler.has(word)));
    const words = telling.size ? telling : given;
    const complete = withAll(query, words, excluded, ...others); // the best one is the last
    const pages = new Map();
    let all = 0;
    for (const word of words) {
      const found = new Map();
      const like = groups.filter((group) => group.includes(word)).flat();
      for (const each of new Set([word, ...like]))
        for (const result of Search.performTermsSearch(new Set([each]), excluded)) {
          const weight = (Scorer.score(result) >= Scorer.title ? 2 : 1) * (each === word ? 1 : 0.7);
          if (weight > (found.get(result[0])?.weight ?? 0)) found.set(result[0], { result, weight });
        }
      if (!found.size) continue; // a word that no page has
      const rarity = Math.log(1 + Search._index.docnames.length / found.size);
      all += rarity;
      for (const [name, { result, weight }] of found) {
        const page = pages.get(name) ?? { result, weight: 0 };
        page.weight += rarity * weight;
        pages.set(name, page);
      }
    }
    complete.forEach((result) => pages.delete(result[0]));
    const partial = [...pages.values()].sort(
      (a, b) => a.weight - b.weight || Scorer.score(a.result) - Scorer.score(b.result),
    );
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
